"""Finding books by titles, names, years and identifiers, tolerating other spellings.

An array of keys represents the names of a book (`bookprint_core.text.names`), and one index of all keys finds
books with common keys. The number of books read for a condition is limited, so a frequent key costs little
more than a rare key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.stores.postgres.connections import SQL, Database, Row, rows
from app.stores.postgres.rows import METADATA_FIELDS, SELECT_BOOKS, to_book, to_metadata
from bookprint_core.model import Book, Metadata
from bookprint_core.text.names import KeyCondition

_MOST_HITS = 40
"""Maximum number of books of one condition."""

_METADATA = ", ".join(f"books.{name}" for name in ("id", *METADATA_FIELDS, "page_count"))

# Each condition is looked up separately: a join of all conditions might read all books.
_LIST_CANDIDATES = SQL(f"""
    WITH hits AS MATERIALIZED (
        SELECT DISTINCT query, id FROM (
            SELECT condition.query, found.id
            FROM unnest($queries::integer[], $any_of::text[], $all_of::text[])
                AS condition (query, any_of, all_of)
            CROSS JOIN LATERAL (
                SELECT id FROM books
                WHERE name_keys && condition.any_of::integer[] AND name_keys @> condition.all_of::integer[]
                LIMIT {_MOST_HITS}
            ) AS found
            UNION ALL
            SELECT named.query, found.id
            FROM unnest($identified::integer[], $identifiers::text[]) AS named (query, identifier)
            CROSS JOIN LATERAL (
                SELECT id FROM books WHERE identifiers @> ARRAY[named.identifier] LIMIT {_MOST_HITS}
            ) AS found
            UNION ALL
            SELECT query, id FROM unnest($with_ids::integer[], $ids::uuid[]) AS known (query, id)
        ) AS every
    )
    SELECT found.queries, {_METADATA}
    FROM (SELECT id, array_agg(query) AS queries FROM hits GROUP BY id) AS found
    CROSS JOIN LATERAL (SELECT * FROM books WHERE id = found.id LIMIT 1) AS books
""")
_LIST_BY_START = SQL(f"""
    SELECT {_METADATA} FROM books
    WHERE folded_title >= $start AND folded_title < $beyond
    ORDER BY folded_title, id OFFSET $skip LIMIT $limit
""")
_READ_BOOKS = SQL(f"{SELECT_BOOKS} WHERE books.id = ANY($ids::uuid[])")
# Postgres estimates the frequency of array elements from a sample.
_READ_COUNTS = SQL("""
    SELECT most_common_elems::text::integer[] AS keys, most_common_elem_freqs AS shares, reltuples AS books
    FROM pg_stats JOIN pg_class ON pg_class.oid = 'books'::regclass
    WHERE schemaname = current_schema() AND tablename = 'books' AND attname = 'name_keys'
        AND most_common_elems IS NOT NULL
""")

_LAST_CHARACTER = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class CandidateSearch:
    """Conditions for the candidates of one query; a candidate fulfils at least one."""

    conditions: Sequence[KeyCondition] = ()
    identifiers: Sequence[str] = ()  # in normal form
    ids: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class DescribedBook:
    """A book as its catalogue describes it."""

    id: UUID
    metadata: Metadata
    page_count: int | None


class NameQueries:
    """Queries for books by their names."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_candidates(self, searches: Sequence[CandidateSearch]) -> list[list[DescribedBook]]:
        """Return the candidates of each search, in no order; all searches share one statement."""
        conditions = [(row, each) for row, search in enumerate(searches) for each in search.conditions]
        named = [(row, text) for row, search in enumerate(searches) for text in search.identifiers]
        known = [(row, book_id) for row, search in enumerate(searches) for book_id in search.ids]
        found = await self._database.rows(
            _LIST_CANDIDATES,
            queries=[row for row, _ in conditions],
            any_of=[_array(condition.any_of) for _, condition in conditions],
            all_of=[_array(condition.all_of) for _, condition in conditions],
            identified=[row for row, _ in named],
            identifiers=[text for _, text in named],
            with_ids=[row for row, _ in known],
            ids=[book_id for _, book_id in known],
        )
        candidates: list[list[DescribedBook]] = [[] for _ in searches]
        for row in found:
            book = _described(row)
            for query in row["queries"]:
                candidates[query].append(book)
        return candidates

    async def list_by_start(self, start: str, skip: int, limit: int) -> list[DescribedBook]:
        """Return books whose folded titles begin with `start`, in order of titles; skip the first `skip`."""
        found = await self._database.rows(
            _LIST_BY_START, start=start, beyond=start + _LAST_CHARACTER, skip=skip, limit=limit
        )
        return [_described(row) for row in found]

    async def read_books(self, ids: Sequence[UUID]) -> dict[UUID, Book]:
        """Return the existing books with these ids, by id."""
        return {row["id"]: to_book(row) for row in await self._database.rows(_READ_BOOKS, ids=list(ids))}

    async def read_counts(self) -> Mapping[int, float]:
        """Return the number of books with each of the most frequent keys, as of the last ANALYZE."""
        async with self._database.session() as connection:
            found = await rows(connection, _READ_COUNTS)
        # The shares are followed by their limits.
        return {
            key: row["books"] * share
            for row in found
            for key, share in zip(row["keys"], row["shares"], strict=False)
        }


def _array(keys: Sequence[int]) -> str:
    """Return the literal of an array: parameters cannot contain arrays of arrays of unequal length."""
    return f"{{{','.join(map(str, keys))}}}"


def _described(row: Row) -> DescribedBook:
    return DescribedBook(row["id"], to_metadata(row), row["page_count"])
