"""From rows to Bookprint's nouns and back."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import sqlalchemy as sa

from app.core.model import (
    Book,
    BookSummary,
    Entry,
    Fingerprint,
    FracMinHash,
    Metadata,
    MinHashSignature,
    Sketch,
)
from app.core.recipe import Suite
from app.core.signatures.page_minhash import to_records
from app.stores.postgres.suites import SERVING
from app.stores.postgres.tables import books, signatures, suites

_FINGERPRINT = signatures.alias("fingerprint")
_RECIPES: dict[str, sa.BindParameter[str]] = {
    name: sa.bindparam(name, type_=sa.Text) for name in ("fingerprint", "minhash", "sample")
}

_VALUE = np.dtype("<u4")

_NO_SIGNATURE: dict[str, Any] = {"shingle_count": None, "unit": None}

_LONGEST_WORD = 200
"""Characters of a title's word that count; an index entry of Postgres must stay below 2,700 bytes."""


def select_books() -> sa.Select[Any]:
    """Books with their fingerprint of the suite that serves."""
    fingerprint = sa.and_(
        _FINGERPRINT.c.entry_id == books.c.entry_id, _FINGERPRINT.c.recipe == suites.c.fingerprint
    )
    return sa.select(
        books, suites.c.fingerprint.label("recipe"), _FINGERPRINT.c.data.label("bits")
    ).select_from(books.join(suites, suites.c.state == SERVING).outerjoin(_FINGERPRINT, fingerprint))


def select_briefs(with_sample: bool = False) -> sa.Select[Any]:
    """What lookups need of a book: title and signatures of the suite that `of_suite` gives as parameters.

    Only who compares a book with the index needs its shingle sample.
    """
    fingerprint, minhash, sample = map(_signature, ("fingerprint", "minhash", "sample"))
    looked_up = books.outerjoin(fingerprint, sa.true()).outerjoin(minhash, sa.true())
    return sa.select(
        (sample.c.data if with_sample else sa.null()).label("sample"),
        books.c.id,
        books.c.entry_id,
        books.c.title,
        books.c.word_count,
        books.c.indexed_at,
        fingerprint.c.data.label("bits"),
        minhash.c.data.label("minhash"),
        minhash.c.shingle_count,
    ).select_from(looked_up.outerjoin(sample, sa.true()) if with_sample else looked_up)


def _signature(kind: str) -> sa.FromClause:
    """A book's signature of this kind.

    It is looked up for each book: a plan made while tables are empty would join all signatures instead, and
    is kept when they have grown. Postgres cannot make a join of what has a limit.
    """
    of_book = signatures.c.entry_id == books.c.entry_id, signatures.c.recipe == _RECIPES[kind]
    return (
        sa.select(signatures.c.data, signatures.c.shingle_count)
        .where(*of_book)
        .limit(sa.literal_column("1"))
        .lateral(kind)
    )


def of_suite(suite: Suite) -> dict[str, str]:
    """The parameters of `select_briefs`."""
    return {"fingerprint": suite.fingerprint, "minhash": suite.minhash, "sample": suite.sample}


def to_book(row: Mapping[str, Any] | sa.RowMapping) -> Book:
    """A row of `select_books`."""
    return Book(
        id=row["id"],
        entry_id=row["entry_id"],
        version=row["version"],
        metadata=Metadata(
            title=row["title"],
            authors=tuple(row["authors"]),
            language=row["language"],
            year=row["year"],
            volume=row["volume"],
            external_id=row["external_id"],
            identifiers=tuple(row["identifiers"]),
        ),
        page_count=row["page_count"],
        word_count=row["word_count"],
        fingerprint=None if row["bits"] is None else Fingerprint(row["recipe"], row["bits"]),
        indexed=row["indexed_at"] is not None,
    )


def to_brief(row: Mapping[str, Any] | sa.RowMapping, suite: Suite) -> BookSummary:
    """A row of `select_briefs` with the parameters of this suite."""
    bits, minhash, sample = row["bits"], row["minhash"], row["sample"]
    return BookSummary(
        book_id=row["id"],
        title=row["title"],
        word_count=row["word_count"],
        indexed=row["indexed_at"] is not None,
        entry=Entry(
            entry_id=row["entry_id"],
            fingerprint=None if bits is None else Fingerprint(suite.fingerprint, bits),
            minhash=None
            if minhash is None
            else MinHashSignature(suite.minhash, np.frombuffer(minhash, dtype=_VALUE), row["shingle_count"]),
            sample=None if sample is None else _sample(sample, suite.sample),
        ),
    )


def metadata_values(metadata: Metadata) -> dict[str, Any]:
    """The columns that hold the metadata."""
    return to_columns(asdict(metadata))


def to_columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata fields as the columns hold them; a title brings its words along."""
    columns = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    if "title" in columns:
        columns["title_words"] = title_words(str(columns["title"] or ""))
    return columns


def title_words(title: str) -> list[str]:
    """The words to find a title by: folded here, because how Postgres folds case depends on its locale."""
    grouped_pages = unicodedata.normalize("NFKC", title).casefold()
    return sorted({word[:_LONGEST_WORD] for word in re.findall(r"\w+", grouped_pages)})


def fingerprint_values(fingerprint: Fingerprint) -> dict[str, Any]:
    """The columns of a fingerprint's row, but for its entry."""
    return _NO_SIGNATURE | {"recipe": fingerprint.recipe, "data": fingerprint.bits}


def signature_values(sketch: Sketch) -> list[dict[str, Any]]:
    """The columns of one row for each signature of the sketch, but for its entry."""
    rows: list[dict[str, Any]] = []
    if sketch.fingerprint is not None:
        rows.append(fingerprint_values(sketch.fingerprint))
    if sketch.minhash is not None:
        rows.append(
            {
                "recipe": sketch.minhash.recipe,
                "data": sketch.minhash.values.astype("<u4").tobytes(),
                "shingle_count": sketch.minhash.shingle_count,
            }
        )
    if sketch.sample is not None:
        data = bytes([sketch.sample.level]) + sketch.sample.hashes.astype("<u8").tobytes()
        rows.append({"recipe": sketch.sample.recipe, "data": data})
    if sketch.pages is not None:
        rows.append(
            {
                "recipe": sketch.pages.recipe,
                "data": to_records(sketch.pages),
                "unit": sketch.pages.unit,
            }
        )
    return [_NO_SIGNATURE | row for row in rows]


def _sample(data: bytes, recipe: str) -> FracMinHash:
    """The shingle sample in a signature's row: a byte for the level, then the hashes."""
    hashes = np.frombuffer(data, dtype="<u8", offset=1).astype(np.uint64)
    return FracMinHash(recipe, hashes, data[0])
