"""The tables of a corpus, column by column. `bookprint corpus run` writes them, `bookprint load` reads them.

Each table is a folder of Parquet files. The numbers of books ascend in the order of the input. As with the
service's ids, the older of two books is the book with the smaller number.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from bookprint_core.metadata import TABLE_FIELDS
from bookprint_core.recipe import DIGESTS

if TYPE_CHECKING:
    import pyarrow as pa

PROGRESS = "progress.json"
"""Name of the file that records the progress, beside the tables."""

VERSION = 3
"""Version of these tables, which the progress file contains."""

SIMILARITY_STEPS = 255
"""Number of steps to which similarities of pages are rounded."""


@dataclass(frozen=True, slots=True)
class Column:
    """The name, type and meaning of a column."""

    name: str
    type: str  # name of an Arrow type, or "list<…>" or "struct<…>" of names
    meaning: str


def _columns(*columns: tuple[str, str, str]) -> tuple[Column, ...]:
    return tuple(Column(*column) for column in columns)


_BOOK = ("book", "int64", "Number of the book, ascending in the order of the input.")
_PAIR = (
    ("left", "int64", "Number of the older book."),
    ("right", "int64", "Number of the younger book."),
)
_ARROW_TYPES = {str: "string", int: "int64", tuple: "list<string>"}
_METADATA = (
    *((each.name, _ARROW_TYPES[each.kind], each.description) for each in TABLE_FIELDS),
    ("page_labels", "list<string>", "Printed label of each page; null without one."),
)
_COUNTS = (
    ("word_count", "int64", ""),
    ("character_count", "int64", "Length of the normalised text."),
    ("page_count", "int64", "Null if page breaks are unknown."),
    ("single_words", "int64", "Number of words that occur once; null if not counted."),
)
_CONTENT_KEY = ("content_key", "binary", "SHA-256 of the content: equal contents have equal keys.")
_SIGNATURES = (
    ("fingerprint_recipe", "string", "Null if the text is too short or too even."),
    ("fingerprint", "binary", "16 bytes, most significant bit first."),
    ("minhash_recipe", "string", "Null if the text is shorter than one shingle."),
    ("minhash", "binary", "128 unsigned integers of 32 bits, little-endian."),
    ("shingle_count", "int64", "Number of distinct shingles."),
    ("sample_recipe", "string", ""),
    ("sample_level", "int64", "The sample contains all hashes below the limit of this level."),
    ("sample", "binary", "Unsigned integers of 64 bits, little-endian, ascending."),
    ("sample_places", "binary", "Place of each hash, in 1/65,536 of the book: 16 bits, little-endian."),
    ("pages_recipe", "string", ""),
    ("pages_unit", "string", "`page`, or `window` if page breaks are unknown."),
    ("pages", "binary", "A record for each page: its length (16 bits), then 128 values of 8 bits."),
)

TABLES: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {
        "books": _columns(
            _BOOK,
            ("place", "string", "Path, and part of the file, that the book was read from."),
            *_METADATA,
            *_COUNTS,
            _CONTENT_KEY,
            ("identifier", "string", "Identifier, computed from the text; null if the text is too short."),
            ("passed_over", "int64", "Number of candidates not compared because there were too many."),
        ),
        "sketches": _columns(
            _BOOK,
            ("place", "string", "As in `books`."),
            *_METADATA,
            *_COUNTS,
            _CONTENT_KEY,
            *_SIGNATURES,
        ),
        "refused": _columns(
            ("place", "string", "Path, and part of the file, of the refused book."),
            ("reason", "string", "Reason, and how to correct it."),
            ("problem", "string", "The kind of problem, as the API names it."),
        ),
        "candidates": _columns(
            *_PAIR,
            ("distance", "int64", "Hamming distance of the fingerprints; null if one is missing."),
            ("shared_hashes", "int64", "Number of hashes in both samples."),
        ),
        "capped": _columns(
            ("block", "int64", "Number of the indexed block of books, from 0."),
            ("value", "int64", "Low 32 bits of a hash of samples."),
            ("books", "int64", "Number of the block's books with this hash; only 8,192 are found by it."),
        ),
        "relations": _columns(
            *_PAIR,
            ("kind", "string", "Relation of the left book to the right one, as the API names it."),
            ("direction", "string", "Which book contains the other; null if neither does."),
            ("confidence", "double", "0 to 1."),
            ("classifier", "string", ""),
            ("left_because", "string", "The reason in one sentence, from the left book's point of view."),
            ("right_because", "string", "The reason from the right book's point of view."),
            ("confidences", "string", "JSON: the confidence of each kind."),
            ("link", "double", "Share of text that joins the books in a cluster; null if not joined."),
            ("signals", "string", "JSON: the figures that decided the kind; null if a text is too short."),
            ("unit", "string", "Aligned unit, `page` or `window`; null without an alignment."),
            ("verdict", "string", "Verdict on the signatures of the two books, in the words of the API."),
        ),
        "page_maps": _columns(
            *_PAIR,
            (
                "runs",
                "list<struct<left_first:int32,left_end:int32,right_first:int32,right_end:int32>>",
                "Runs of matching pages: in each book the first page, and the page after the last, from 0.",
            ),
            (
                "pages",
                "list<struct<left:int32,right:int32,similarity:int32>>",
                "Matching pages, from 0; similarity in 255ths.",
            ),
        ),
        "clusters": _columns(
            ("by", "string", "Relations that join the cluster's books: `same_text` or `related`."),
            ("founder", "int64", "Number of the cluster's oldest book, which names the cluster."),
            _BOOK,
            ("size", "int64", "Number of books in the cluster, at least 2."),
            ("best", "bool", "Whether this is the copy to keep."),
            ("because", "string", "Reason for choosing the best copy; null for other copies."),
        ),
    }
)
"""Columns of each table."""


SIGNATURES = _columns(
    ("place", "string", "Path, and part of the file, that the book was read from."),
    *_METADATA,
    *_COUNTS,
    *_SIGNATURES,
    *((name.replace("-", "_"), "binary", "16 bytes.") for name in DIGESTS),
)
"""Columns of the table that `bookprint sign --out` writes."""


@cache
def schema(table: str) -> "pa.Schema":
    """Return the Arrow schema of a table of a corpus."""
    return arrow_schema(TABLES[table])


def arrow_schema(columns: Iterable[Column]) -> "pa.Schema":
    """Return the Arrow schema of a table with these columns."""
    import pyarrow as pa

    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in columns])


def arrow_type(name: str) -> "pa.DataType":
    """Return the Arrow type of this name.

    >>> arrow_type("list<struct<left:int32,similarity:double>>")
    ListType(list<item: struct<left: int32, similarity: double>>)
    """
    import pyarrow as pa

    kind, _, inner = name.partition("<")
    if kind == "list":
        return pa.list_(arrow_type(inner[:-1]))
    if kind == "struct":
        fields = (field.split(":") for field in inner[:-1].split(","))
        return pa.struct([pa.field(field, arrow_type(of)) for field, of in fields])
    simple: dict[str, pa.DataType] = {
        "bool": pa.bool_(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
    }
    return simple[name]
