"""From rows to Bookprint's nouns and back, and lists of columns for statements."""

from collections.abc import Collection, Iterable
from dataclasses import asdict
from typing import Any

from sqlalchemy import Table, Text, select, text
from sqlalchemy.dialects.postgresql import JSONB

from app.stores.postgres.connections import SQL, Row
from app.stores.postgres.schema import DIALECT, books, signatures
from bookprint_core.metadata import FIELD, metadata_from
from bookprint_core.model import (
    Book,
    BookSummary,
    Digest,
    Entry,
    Fingerprint,
    FracMinHash,
    Identified,
    Metadata,
    MinHashBits,
    MinHashSignature,
    NewContent,
    Sketch,
)
from bookprint_core.recipe import (
    DEFAULT_FINGERPRINT,
    DEFAULT_MINHASH,
    DEFAULT_SAMPLE,
    DIGESTS,
    IDENTIFIER,
    VECTORS,
    folded_name,
)
from bookprint_core.signatures.minhash import lowest_bits
from bookprint_core.signatures.page_minhash import to_records
from bookprint_core.text.names import folded, folded_words, name_keys


def columns(table: Table, without: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names of a table's columns, in order."""
    return tuple(name for name in table.columns.keys() if name not in without)  # noqa: SIM118 - not a mapping


def parameters(table: Table, names: Iterable[str]) -> str:
    """Return a parameter for each of the columns, of its name and type."""
    return ", ".join(f"${name}::{_type_of(table, name)}" for name in names)


def array_parameters(table: Table, names: Iterable[str]) -> str:
    """Return an array for each of the columns, of its name and type, for `unnest`; JSON goes as text."""
    types = {name: "text" if is_json(table, name) else _type_of(table, name) for name in names}
    return ", ".join(f"${name}::{kind}[]" for name, kind in types.items())


def assignments(table: Table, names: Iterable[str]) -> str:
    """Return each of the columns set to the parameter of its name."""
    return ", ".join(f"{name} = ${name}::{_type_of(table, name)}" for name in names)


def is_json(table: Table, name: str) -> bool:
    """Return whether a column holds JSON."""
    return isinstance(table.columns[name].type, JSONB)


def _type_of(table: Table, name: str) -> str:
    kind = table.columns[name].type
    return "text" if isinstance(kind, Text) else kind.compile(DIALECT).lower()


CONTENT_COLUMNS = (
    *("content_key", "page_count", "page_labels", "word_count", "character_count", "single_words", "iscc"),
)
"""The columns of a book that tell of its content."""

METADATA_COLUMNS = columns(
    books,
    without=("id", "entry_id", "version", *CONTENT_COLUMNS, "indexed_at", "created_at", "updated_at"),
)
"""The columns of a book that hold its metadata, and those by which it is found."""

METADATA_FIELDS = tuple(FIELD)
"""The columns among them that are fields of `Metadata`."""

SIGNATURE_COLUMNS = columns(signatures, without=["written_by"])
"""The columns of a signature that `content_signature_values` has, and its entry."""

SignatureRow = dict[str, Any]
"""The columns of a signature, but for its entry."""

_BITS = 16
"""Bytes of one bit for each MinHash value, where a book came as an identifier alone."""

_LONGEST_WORD = 200
"""Characters of a title's word that count; an index entry of Postgres must stay below 2,700 bytes."""

IS_DIGEST = f"recipe IN ({', '.join(map(repr, DIGESTS))})"
"""Says of a row of signatures that it is a digest, in the words of their index."""

IS_VECTOR = f"recipe = '{VECTORS}'"
"""Says of a row of signatures that it is a vector, likewise."""

FOUNDER = """
    coalesce((SELECT founder_id FROM cluster_members WHERE (by, book_id) = ('same_text', books.id)), books.id)
"""
"""The founder of the cluster of the same text that a book is in; itself where it is alone."""

_RECIPES = {
    "fingerprint": (DEFAULT_FINGERPRINT, folded_name(DEFAULT_FINGERPRINT)),
    "minhash": (DEFAULT_MINHASH, IDENTIFIER),
    "sample": (DEFAULT_SAMPLE,),
}
"""The recipes of the rows that can hold each kind of signature; a book has at most one of them."""


def _is(kind: str) -> str:
    """Says of a row of signatures that it is of this kind."""
    return f"recipe IN ({', '.join(map(repr, _RECIPES[kind]))})"


_fingerprint, _minhash = signatures.alias("fingerprint"), signatures.alias("minhash")
BOOKS = (
    select(
        *(books.c[name] for name in ("id", "entry_id", "version", "content_key", *METADATA_FIELDS)),
        *(books.c.page_count, books.c.word_count, books.c.iscc),
        books.c.indexed_at.is_not(None).label("indexed"),
        _fingerprint.c.recipe.label("recipe"),
        _fingerprint.c.data.label("bits"),
        _minhash.c.data.label("minhash"),
        _minhash.c.shingle_count,
        text(f"""
            ARRAY(
                SELECT (recipe, data) FROM signatures
                WHERE entry_id = books.entry_id AND {IS_DIGEST} ORDER BY recipe
            ) AS digests,
            EXISTS (SELECT FROM signatures WHERE entry_id = books.entry_id AND {IS_VECTOR}) AS has_vector,
            {FOUNDER} AS founder_id
        """),
    )
    .select_from(books)
    .outerjoin(
        _fingerprint,
        (_fingerprint.c.entry_id == books.c.entry_id) & text(f"fingerprint.{_is('fingerprint')}"),
    )
    .outerjoin(
        _minhash,
        (_minhash.c.entry_id == books.c.entry_id) & text(f"minhash.{_is('minhash')}"),
    )
)
"""Books with the signatures of their identifiers and their cluster of copies, for `to_book`."""

SELECT_BOOKS = SQL(BOOKS).text
"""The same as text."""


def select_summaries(
    *more: str, with_sample: bool = False, source: str = "books", sampled: str = "true"
) -> str:
    """Return a query of books as lookups need them, for `to_summary`: titles and signatures.

    `more` are further columns, `source` joins other rows to `books`. `sampled` is the condition on which a
    book's sample is read, which is the largest part.
    """
    kinds = ("fingerprint", "minhash", "sample") if with_sample else ("fingerprint", "minhash")
    columns = (
        "books.id, books.entry_id, books.title, books.word_count, books.indexed_at IS NOT NULL AS indexed",
        "fingerprint.data AS bits, fingerprint.recipe, minhash.data AS minhash, minhash.shingle_count",
        *(["sample.data AS sample", "sample.places"] if with_sample else ["NULL AS sample"]),
        *more,
    )
    joined = (_signature(kind, sampled if kind == "sample" else "true") for kind in kinds)
    return f"SELECT {', '.join(columns)} FROM {source} {' '.join(joined)}"


def _signature(kind: str, condition: str) -> str:
    # Looked up for each book: a plan made while tables are empty would join all signatures instead, and is
    # kept when they have grown. Postgres cannot make a join of what has a limit.
    return f"""
        LEFT JOIN LATERAL (
            SELECT data, recipe, shingle_count, places FROM signatures
            WHERE entry_id = books.entry_id AND {_is(kind)} AND {condition} LIMIT 1
        ) AS {kind} ON true
    """


def to_book(row: Row) -> Book:
    """Read a row of `SELECT_BOOKS`."""
    return Book(
        id=row["id"],
        entry_id=row["entry_id"],
        version=row["version"],
        metadata=to_metadata(row),
        page_count=row["page_count"],
        word_count=row["word_count"],
        fingerprint=None if row["bits"] is None else Fingerprint(row["recipe"], row["bits"]),
        minhash=_minhash_bits(row),
        iscc=row["iscc"],
        digests=tuple(Digest(*digest) for digest in row["digests"]),
        has_vector=row["has_vector"],
        indexed=row["indexed"],
        founder_id=row["founder_id"],
    )


def _minhash_bits(row: Row) -> MinHashBits | None:
    if row["minhash"] is None:
        return None
    if len(row["minhash"]) <= _BITS:
        return _identified(row).minhash
    return lowest_bits(MinHashSignature.from_bytes(DEFAULT_MINHASH, row["minhash"], row["shingle_count"]))


def _identified(row: Row) -> Identified:
    """Return the data of an identifier's row: its MinHash bits, empty for a short identifier."""
    bits = MinHashBits(DEFAULT_MINHASH, row["minhash"], row["shingle_count"]) if row["minhash"] else None
    return Identified(row["word_count"], bits)


def to_metadata(row: Row) -> Metadata:
    """Return the columns of a row that hold metadata."""
    return metadata_from({name: row[name] for name in FIELD})


def to_summary(row: Row) -> BookSummary:
    """Read a row of `select_summaries`."""
    bits, minhash, sample = row["bits"], row["minhash"], row["sample"]
    identified = None
    if minhash is not None and len(minhash) <= _BITS:
        minhash, identified = None, _identified(row)
    return BookSummary(
        book_id=row["id"],
        title=row["title"],
        word_count=row["word_count"],
        indexed=row["indexed"],
        entry=Entry(
            entry_id=row["entry_id"],
            fingerprint=None if bits is None else Fingerprint(row["recipe"], bits),
            minhash=None
            if minhash is None
            else MinHashSignature.from_bytes(DEFAULT_MINHASH, minhash, row["shingle_count"]),
            sample=None if sample is None else FracMinHash.unpacked(DEFAULT_SAMPLE, sample, row["places"]),
            word_count=row["word_count"],
            identified=identified,
        ),
    )


def metadata_values(metadata: Metadata) -> dict[str, Any]:
    """Return the values of `METADATA_COLUMNS`."""
    title = metadata.title or ""
    values = asdict(metadata).items()
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values} | {
        "title_words": title_words(title),
        "folded_title": folded(title),
        "name_keys": name_keys(metadata),
    }


def content_values(content: NewContent) -> dict[str, Any]:
    """Return the values of `CONTENT_COLUMNS`."""
    return {
        "content_key": content.key,
        "page_count": content.sketch.page_count,
        "page_labels": list(content.page_labels) or None,
        "word_count": content.sketch.word_count,
        "character_count": content.sketch.character_count,
        "single_words": content.sketch.single_words,
        "iscc": content.iscc,
    }


def title_words(title: str) -> list[str]:
    """The words to find a title by: folded here, because how Postgres folds case depends on its locale."""
    return sorted({word[:_LONGEST_WORD] for word in folded_words(title)})


def content_signature_values(content: NewContent) -> list[SignatureRow]:
    """Return the rows of the signatures of the content."""
    rows = signature_values(content.sketch)
    if content.vector is not None:
        rows.append(signature_row(VECTORS, content.vector.tobytes()))
    return rows


def signature_values(sketch: Sketch) -> list[SignatureRow]:
    """Return the rows of the signatures of the sketch."""
    rows: list[SignatureRow] = []
    if sketch.fingerprint is not None:
        rows.append(signature_row(sketch.fingerprint.recipe, sketch.fingerprint.bits))
    if (minhash := sketch.minhash) is not None:
        rows.append(signature_row(minhash.recipe, minhash.to_bytes(), shingle_count=minhash.shingle_count))
    if (identified := sketch.identified) is not None:
        data = b"" if identified.minhash is None else identified.minhash.bits
        rows.append(signature_row(IDENTIFIER, data, shingle_count=identified.length))
    if sketch.sample is not None:
        places = sketch.sample.places_to_bytes()
        rows.append(signature_row(sketch.sample.recipe, sketch.sample.packed(), places=places))
    if sketch.pages is not None:
        rows.append(signature_row(sketch.pages.recipe, to_records(sketch.pages), unit=sketch.pages.unit))
    return rows + [signature_row(digest.recipe, digest.value) for digest in sketch.digests]


def signature_row(
    recipe: str,
    data: bytes,
    *,
    shingle_count: int | None = None,
    unit: str | None = None,
    places: bytes | None = None,
) -> SignatureRow:
    """Return the row of a signature."""
    return {"recipe": recipe, "data": data, "shingle_count": shingle_count, "unit": unit, "places": places}
