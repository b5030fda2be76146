"""Signatures of books as a Parquet table: what `bookprint sign --out` writes, without any of the text.

A book a row. Integers within `minhash`, `sample` and `pages` are little-endian, as in the JSON of signatures
(`app.core.signatures.json_codec`), which has the same parts in base64.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.core.errors import InvalidInput
from app.core.model import Metadata, PageLabels, Sketch, Submission
from app.core.recipe import DIGESTS
from app.core.signatures import json_codec
from app.core.text.page_labels import checked_labels
from app.readers.tables.parquet import Table, require_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

MARK = b"bookprint-signatures"
"""The property of the table that tells it from others; its value is the version of these columns."""

VERSION = b"1"

_ROWS_TOGETHER = 256
"""Rows of a row group: at most some tens of megabytes of page signatures."""

_METADATA = ("title", "authors", "language", "year", "volume", "external_id", "identifiers")
_COUNTS = ("word_count", "character_count", "page_count")
_LABELS = "page_labels"
_PARTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "fingerprint": (("fingerprint_recipe", "recipe"), ("fingerprint", "hex")),
    "minhash": (("minhash_recipe", "recipe"), ("minhash", "values"), ("shingle_count", "shingle_count")),
    "sample": (("sample_recipe", "recipe"), ("sample_level", "level"), ("sample", "hashes")),
    "pages": (("pages_recipe", "recipe"), ("pages_unit", "unit"), ("pages", "values")),
    "digests": tuple((name.replace("-", "_"), name) for name in DIGESTS),
}
"""The columns of each part of the signatures, with their names in JSON."""

_HEXADECIMAL = frozenset({"hex", *DIGESTS})
"""Names in JSON of bytes that are written as hexadecimal digits; others are in base64."""

COLUMNS = (
    "place",
    *_METADATA,
    *_COUNTS,
    _LABELS,
    *(column for part in _PARTS.values() for column, _ in part),
)
"""All columns, in order."""


class SignatureWriter:
    """Writes a table of signatures, a row group at a time."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        self._schema = _schema()
        self._writer = require_pyarrow().ParquetWriter(path, self._schema, compression="zstd")
        self._batch = pa.RecordBatch
        self._rows: list[dict[str, Any]] = []

    def add(
        self, place: str, metadata: Metadata, sketch: Sketch, labels: PageLabels = (), *, pages: bool
    ) -> None:
        """Write one book, with page signatures or without."""
        self._rows.append(row(place, metadata, sketch, labels, pages=pages))
        if len(self._rows) == _ROWS_TOGETHER:
            self._flush()

    def close(self) -> None:
        """Write what is left, and end the file."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_batch(self._batch.from_pylist(self._rows, schema=self._schema))
            self._rows = []


@contextmanager
def written(path: Path) -> Iterator[SignatureWriter]:
    """A table of signatures that stands at the path once it is whole."""
    require_pyarrow()
    partial = path.with_name(f".{path.name}.partial")
    try:
        writer = SignatureWriter(partial)
        try:
            yield writer
        finally:
            writer.close()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def recognises(table: Table) -> bool:
    """Whether a table holds signatures; raises InvalidInput where they are of a later version."""
    version = table.properties.get(MARK)
    if version is not None and version != VERSION:
        raise InvalidInput(
            "The signatures were written by a later version of Bookprint. Install that version to read them."
        )
    return version is not None


def row(
    place: str, metadata: Metadata, sketch: Sketch, labels: PageLabels = (), *, pages: bool
) -> dict[str, Any]:
    """The cells of one book."""
    document = json_codec.encode(sketch, pages=pages)
    described = asdict(metadata)
    cells: dict[str, Any] = {"place": place, _LABELS: list(labels) or None}
    cells |= {name: described[name] for name in _METADATA} | {name: document[name] for name in _COUNTS}
    for part, columns in _PARTS.items():
        values = document.get(part) or {}
        cells |= {column: _packed(name, values.get(name)) for column, name in columns}
    return cells


def submission(cells: Mapping[str, Any]) -> Submission:
    """The book in a row; raises InvalidInput."""
    document: dict[str, Any] = {name: cells.get(name) for name in _COUNTS}
    for part, columns in _PARTS.items():
        if cells.get(columns[0][0]) is not None:
            document[part] = {name: _unpacked(name, cells.get(column)) for column, name in columns}
    described: dict[str, Any] = {name: cells.get(name) for name in _METADATA}
    described |= {name: tuple(described[name] or ()) for name in ("authors", "identifiers")}
    sketch, labels = json_codec.decode(document), cells.get(_LABELS)
    checked = checked_labels(labels, sketch.page_count, _LABELS) if labels else ()
    return Submission(Metadata(**described), sketch=sketch, page_labels=checked)


def _packed(name: str, value: Any) -> Any:
    """A value of the JSON as the table has it."""
    if value is None or name not in _HEXADECIMAL | {"values", "hashes"}:
        return value
    return bytes.fromhex(value) if name in _HEXADECIMAL else b64decode(value)


def _unpacked(name: str, value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    return value.hex() if name in _HEXADECIMAL else b64encode(value).decode()


def _schema() -> "pa.Schema":
    import pyarrow as pa

    recipe = pa.dictionary(pa.int32(), pa.string())
    types: dict[str, Any] = dict.fromkeys(COLUMNS, pa.string())
    types.update(dict.fromkeys(("authors", "identifiers", _LABELS), pa.list_(pa.string())))
    types.update(dict.fromkeys(("year", *_COUNTS, "shingle_count", "sample_level"), pa.int64()))
    digests = (column for column, _ in _PARTS["digests"])
    types.update(dict.fromkeys((*_PARTS, *digests), pa.binary()))
    types.update(dict.fromkeys((*(f"{part}_recipe" for part in _PARTS), "pages_unit"), recipe))
    return pa.schema([pa.field(name, types[name]) for name in COLUMNS], metadata={MARK: VERSION})
