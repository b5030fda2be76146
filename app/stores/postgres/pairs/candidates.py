"""The candidates that a book is compared with, and the signatures on which their relations depend."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from app.stores.postgres.connections import SQL, Database
from app.stores.postgres.contents import decompress
from app.stores.postgres.jobs import UNFINISHED_RELATE_JOBS
from bookprint_core.matching.candidates import CandidateBook
from bookprint_core.model import Content, Metadata, MinHashSignature, PageSignatures
from bookprint_core.recipe import DEFAULT_MINHASH, DEFAULT_PAGES, page_recipe
from bookprint_core.relations.relation import ComparedBook
from bookprint_core.signatures.page_minhash import from_records, to_records

_READ_AT_ONCE = 500
"""Number of candidates of a statement; a statement for thousands would occupy a core for 20 ms."""

# The statement avoids joins, because a plan made for empty tables would read whole tables once they have
# grown. Jobs and relations are read once, and clusters by key. Waiting jobs are filtered afterwards, so that
# the index of all waiting jobs is not scanned.
_LIST = SQL(f"""
    WITH decided AS (
        SELECT right_id AS id FROM decisions WHERE left_id = $book_id
        UNION ALL SELECT left_id FROM decisions WHERE right_id = $book_id
    ),
    wanted AS (
        SELECT id, entry_id FROM books WHERE entry_id = ANY($entry_ids::bigint[])
        UNION SELECT books.id, books.entry_id FROM decided JOIN books ON books.id = decided.id
    ),
    related AS MATERIALIZED (
        SELECT right_entry AS entry_id FROM relations
        WHERE left_id = $book_id AND left_entry = $entry
            AND classifier = $classifier
        UNION ALL SELECT left_entry FROM relations
        WHERE right_id = $book_id AND right_entry = $entry
            AND classifier = $classifier
    ),
    jobs AS MATERIALIZED (
        {UNFINISHED_RELATE_JOBS} = ANY($entry_ids::bigint[])
    )
    SELECT books.id AS book_id, books.entry_id,
        (
            SELECT founder_id FROM cluster_members WHERE book_id = books.id AND by = 'same_text'
        ) AS cluster,
        books.entry_id IN (SELECT entry_id FROM related) AS related,
        books.entry_id IN (SELECT entry_id FROM jobs WHERE status = 'todo') AS waiting,
        books.id IN (SELECT id FROM decided) AS decided
    FROM wanted AS books
""")
_READ_SIGNATURES = SQL(f"""
    SELECT books.id AS book_id, books.entry_id, books.title, books.volume, books.year,
        minhash.data AS minhash, minhash.shingle_count, pages.data AS pages, pages.unit,
        texts.entry_id IS NOT NULL AS has_text
    FROM books
    LEFT JOIN LATERAL (
        SELECT data, shingle_count FROM signatures
        WHERE entry_id = books.entry_id AND recipe = '{DEFAULT_MINHASH}' LIMIT 1
    ) AS minhash ON true
    LEFT JOIN LATERAL (
        SELECT data, unit FROM signatures
        WHERE entry_id = books.entry_id AND recipe = '{DEFAULT_PAGES}' LIMIT 1
    ) AS pages ON true
    LEFT JOIN texts ON texts.entry_id = books.entry_id
    WHERE books.entry_id = ANY($entry_ids::bigint[])
""")
_READ_TEXT = SQL("""
    SELECT books.page_count, texts.codec, texts.data
    FROM texts JOIN books ON books.entry_id = texts.entry_id
    WHERE texts.entry_id = $entry_id
""")
# The lock prevents the deletion of the book between reading and inserting.
_INSERT_PAGES = SQL("""
    INSERT INTO signatures (entry_id, recipe, data, unit)
    SELECT entry_id, $recipe, $data, $unit
    FROM books WHERE entry_id = $entry_id FOR KEY SHARE
    ON CONFLICT DO NOTHING
""")


@dataclass(frozen=True, slots=True)
class StoredSignatures:
    """A stored book with the signatures and metadata on which its relations depend."""

    book_id: UUID
    entry_id: int
    title: str | None
    year: int | None
    volume: str | None
    minhash: bytes | None
    shingle_count: int | None
    pages: bytes | None
    unit: Literal["page", "window"] | None  # of the page signatures
    has_text: bool  # page signatures can be computed from it

    def candidate(self) -> ComparedBook:
        """Return the book in the form that the core compares."""
        minhash = pages = None
        if self.minhash is not None and self.shingle_count is not None:
            minhash = MinHashSignature.from_bytes(DEFAULT_MINHASH, self.minhash, self.shingle_count)
        if self.pages is not None and self.unit is not None:
            pages = from_records(page_recipe(DEFAULT_PAGES), self.unit, self.pages)
        return ComparedBook(pages, minhash, Metadata(title=self.title, year=self.year, volume=self.volume))


class CandidateStore:
    """Store of the candidates of relate jobs, and of page signatures computed for them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_candidates(
        self, book_id: UUID, entry_id: int, candidates: Sequence[int], classifier: str
    ) -> list[CandidateBook]:
        """Return the books that people have decided on together with this book, then the candidates in order.

        The book itself, and entries that are not current, are left out.
        """
        known: dict[int, CandidateBook] = {}
        for start in range(0, len(candidates) or 1, _READ_AT_ONCE):
            batch = await self._database.rows(
                _LIST,
                book_id=book_id,
                entry=entry_id,
                entry_ids=list(candidates[start : start + _READ_AT_ONCE]),
                classifier=classifier,
            )
            known |= {row["entry_id"]: CandidateBook(**row) for row in batch if row["book_id"] != book_id}
        named = set(candidates)
        wanted = [*(entry for entry in sorted(known) if entry not in named), *candidates]
        return [known[entry] for entry in wanted if entry in known]

    async def read_signatures(self, entry_ids: Sequence[int]) -> list[StoredSignatures]:
        """Return the signatures of the current entries, in no order."""
        signatures = await self._database.rows(_READ_SIGNATURES, entry_ids=list(entry_ids))
        return [StoredSignatures(**row) for row in signatures]

    async def read_content(self, entry_id: int) -> Content | None:
        """Return the text of an entry; None if it is not stored."""
        for row in await self._database.rows(_READ_TEXT, entry_id=entry_id):
            return Content(decompress(row["data"], row["codec"]), row["page_count"])
        return None

    async def insert_pages(self, entry_id: int, pages: PageSignatures) -> None:
        """Store the page signatures of an entry, if the entry is current."""
        await self._database.rows(
            _INSERT_PAGES,
            entry_id=entry_id,
            recipe=pages.recipe,
            data=to_records(pages),
            unit=pages.unit,
        )
