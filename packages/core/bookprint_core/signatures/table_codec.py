"""Books and their signatures as rows of a table, for the corpus and for `bookprint sign --out`.

Integers within `minhash`, `sample` and `pages` are little-endian, as in the JSON of signatures
(`bookprint_core.signatures.json_codec`), which contains these parts in base64.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bookprint_core.book_rules import checked_labels
from bookprint_core.errors import InvalidInput
from bookprint_core.metadata import TABLE_FIELDS, metadata_from
from bookprint_core.model import Metadata, PageLabels, Sketch, Submission
from bookprint_core.recipe import DIGESTS
from bookprint_core.signatures import json_codec

MARK = b"bookprint-signatures"
"""Property that marks the table; its value is the version of these columns."""

VERSION = b"1"

METADATA = tuple(each.name for each in TABLE_FIELDS)
"""Names of the columns with metadata."""

_COUNTS = ("word_count", "character_count", "page_count", "single_words")
_PARTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "fingerprint": (("fingerprint_recipe", "recipe"), ("fingerprint", "hex")),
    "minhash": (("minhash_recipe", "recipe"), ("minhash", "values"), ("shingle_count", "shingle_count")),
    "sample": (
        ("sample_recipe", "recipe"),
        ("sample_level", "level"),
        ("sample", "hashes"),
        ("sample_places", "places"),
    ),
    "pages": (("pages_recipe", "recipe"), ("pages_unit", "unit"), ("pages", "values")),
    "digests": tuple((name.replace("-", "_"), name) for name in DIGESTS),
}
"""Columns of each part of the signatures, with their names in JSON."""

COLUMNS = frozenset((
    *METADATA, "page_labels", *_COUNTS, *(column for columns in _PARTS.values() for column, _ in columns)
))  # fmt: skip
"""Columns from which a book is read."""


def cells_of(metadata: Metadata, sketch: Sketch, labels: PageLabels) -> dict[str, Any]:
    """Return the cells of a book by column; cells of absent parts are left out."""
    cells: dict[str, Any] = asdict(metadata) | {"page_labels": list(labels) or None}
    document = json_codec.encode_binary(sketch)
    cells |= {name: document.get(name) for name in _COUNTS}
    for part, columns in _PARTS.items():
        if (values := document.get(part)) is not None:
            cells |= {column: values[name] for column, name in columns if name in values}
    return cells


def metadata_of(cells: Mapping[str, Any]) -> Metadata:
    """Read the metadata in a row."""
    return metadata_from({name: cells.get(name) for name in METADATA})


def sketch_of(cells: Mapping[str, Any]) -> Sketch:
    """Read the signatures in a row; raise UnknownRecipe for their recipe, InvalidInput for other errors."""
    document: dict[str, Any] = {name: cells.get(name) for name in _COUNTS}
    for part, columns in _PARTS.items():
        if any(cells.get(column) is not None for column, _ in columns):
            document[part] = {name: cells.get(column) for column, name in columns}
    return json_codec.decode(document)


def recognises(properties: Mapping[bytes, bytes]) -> bool:
    """Return whether a table with these properties contains signatures; raise InvalidInput if too new."""
    version = properties.get(MARK)
    if version is not None and version != VERSION:
        raise InvalidInput(
            "The signatures were written by a later version of Bookprint. Install that version to read them."
        )
    return version is not None


def submission(cells: Mapping[str, Any]) -> Submission:
    """Read the book in a row; raise InvalidInput."""
    sketch, labels = sketch_of(cells), cells.get("page_labels")
    checked = checked_labels(labels, sketch.page_count) if labels else ()
    return Submission(metadata_of(cells), sketch=sketch, page_labels=checked)
