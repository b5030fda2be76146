"""Books with their signatures as rows: one layout for the corpus and for what `bookprint sign --out` writes.

Integers within `minhash`, `sample` and `pages` are little-endian, as in the JSON of signatures
(`app.core.signatures.json_codec`), which has the same parts in base64.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from app.core.model import Metadata, PageLabels, Sketch
from app.core.recipe import DIGESTS
from app.core.signatures import json_codec

METADATA = ("external_id", "title", "authors", "language", "year", "volume", "identifiers")

_COUNTS = ("word_count", "character_count", "page_count")
_PARTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "fingerprint": (("fingerprint_recipe", "recipe"), ("fingerprint", "hex")),
    "minhash": (("minhash_recipe", "recipe"), ("minhash", "values"), ("shingle_count", "shingle_count")),
    "sample": (("sample_recipe", "recipe"), ("sample_level", "level"), ("sample", "hashes")),
    "pages": (("pages_recipe", "recipe"), ("pages_unit", "unit"), ("pages", "values")),
    "digests": tuple((name.replace("-", "_"), name) for name in DIGESTS),
}
"""The columns of each part of the signatures, with their names in JSON."""


def cells_of(metadata: Metadata, sketch: Sketch, labels: PageLabels) -> dict[str, Any]:
    """The cells of a book by column; those of parts that it has not are left out."""
    cells: dict[str, Any] = asdict(metadata) | {"page_labels": list(labels) or None}
    document = json_codec.encode_binary(sketch)
    cells |= {name: document[name] for name in _COUNTS}
    for part, columns in _PARTS.items():
        if (values := document.get(part)) is not None:
            cells |= {column: values[name] for column, name in columns if name in values}
    return cells


def metadata_of(cells: Mapping[str, Any]) -> Metadata:
    """What is said of the book in a row."""
    described: dict[str, Any] = {name: cells.get(name) for name in METADATA}
    described |= {name: tuple(cells.get(name) or ()) for name in ("authors", "identifiers")}
    return Metadata(**described)


def sketch_of(cells: Mapping[str, Any]) -> Sketch:
    """The signatures in a row; raises InvalidInput, or UnknownRecipe, where no recipe makes them."""
    document: dict[str, Any] = {name: cells.get(name) for name in _COUNTS}
    for part, columns in _PARTS.items():
        if any(cells.get(column) is not None for column, _ in columns):
            document[part] = {name: cells.get(column) for column, name in columns}
    return json_codec.decode(document)
