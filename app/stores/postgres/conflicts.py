"""Reading the books, groups and relations of metadata conflicts, from one snapshot of the catalogue.

Only books that share an ISBN or a title, or have the same text, are paired. A group whose books are all in
one cluster of copies is left out, because it contains no conflict.
"""

from collections.abc import Iterable, Mapping
from typing import Literal
from uuid import UUID

from app.stores.postgres.connections import SQL, Connection, Row, rows
from app.stores.postgres.jobs import UNFINISHED_RELATE_JOBS
from app.stores.postgres.pairs.relation_queries import read_relations
from app.stores.postgres.rows import METADATA_FIELDS, select_summaries, to_metadata, to_summary
from bookprint_core.clusters.clustering import KINDS, Pair
from bookprint_core.matching.conflicts import ConflictBook, ConflictPlace, NamedCopy, Sharing
from bookprint_core.relations.related import RelationSummary

SharedBy = Literal["isbn", "title"]

_MOST_COPIES = 50
"""Maximum number of copies of a book whose names are read, oldest first."""

# Identifiers are stored in the normal form of their scheme. The check digit is not verified here.
_ISBN = "'^isbn:97[89][0-9]{10}$'"
_KEYED: Mapping[SharedBy, str] = {
    "isbn": f"""
        SELECT id, CASE WHEN identifier ~ {_ISBN} THEN substr(identifier, 6)::bigint END AS key
        FROM (SELECT id, unnest(identifiers) AS identifier FROM books) AS identified
    """,
    "title": "SELECT id, hash_array_extended(title_words, 0) AS key FROM books WHERE title_words <> '{}'",
}
"""Queries for every book with the key of each of its groups."""

_LIST_GROUPS = {
    by: SQL(f"""
        WITH shared AS (
            SELECT key, array_agg(id) AS ids, array_agg(founder) AS founders
            FROM (
                SELECT keyed.id, key, coalesce(founder_id, keyed.id) AS founder
                FROM ({keyed}) AS keyed
                LEFT JOIN cluster_members m ON (m.by, m.book_id) = ('same_text', keyed.id)
                WHERE key >= $first
            ) AS members
            GROUP BY key HAVING count(DISTINCT founder) > 1
            ORDER BY key LIMIT $limit
        )
        SELECT key, cardinality(ids) AS size, ARRAY(
            SELECT id FROM (
                SELECT id, row_number() OVER (PARTITION BY founder ORDER BY id) AS nth
                FROM unnest(ids, founders) AS member (id, founder)
            ) AS ranked
            ORDER BY nth, id LIMIT $most
        ) AS examined
        FROM shared ORDER BY key
    """)
    for by, keyed in _KEYED.items()
}

# Each half has its own limit, which bounds the number of pairs read.
_COPIES = """
    (
        SELECT left_id, right_id FROM relations LEFT JOIN decisions USING (left_id, right_id)
        WHERE (left_id, right_id) > ($left, $right)
            AND CASE WHEN verdict IS NULL THEN relations.kind ELSE decisions.kind END = ANY($kinds::text[])
        ORDER BY left_id, right_id LIMIT $limit
    )
    UNION ALL (
        SELECT left_id, right_id FROM decisions
        WHERE (left_id, right_id) > ($left, $right) AND kind = ANY($kinds::text[]) AND NOT EXISTS (
            SELECT FROM relations r WHERE (r.left_id, r.right_id) = (decisions.left_id, decisions.right_id)
        )
        ORDER BY left_id, right_id LIMIT $limit
    )
    ORDER BY left_id, right_id LIMIT $limit
"""
"""Query for pairs with the same text after a place, by a computed relation or a decision."""

_ISBNS = {
    book: f"ARRAY(SELECT i FROM unnest({book}.identifiers) AS i WHERE i ~ {_ISBN})"
    for book in ("one", "other")
}
_LIST_COPIES = SQL(f"""
    SELECT left_id, right_id, these <> '{{}}' AND those <> '{{}}' AND these <> those AS differ
    FROM ({_COPIES}) AS copies
    JOIN books AS one ON one.id = left_id
    JOIN books AS other ON other.id = right_id
    CROSS JOIN LATERAL (
        SELECT {_ISBNS["one"]} AS these, {_ISBNS["other"]} AS those OFFSET 0
    ) AS isbns
    ORDER BY left_id, right_id
""")

_READ_BOOKS = SQL(
    select_summaries(
        *(f"books.{name}" for name in METADATA_FIELDS if name != "title"),
        "EXISTS (SELECT FROM related_entries WHERE entry_id = books.entry_id)"
        f" AND NOT EXISTS ({UNFINISHED_RELATE_JOBS} = books.entry_id) AS related",
        with_sample=True,
    )
    + " WHERE books.id = ANY($books::uuid[])"
)
_LIST_NAMED_COPIES = SQL(f"""
    SELECT one.book_id AS copied, books.id, {", ".join(f"books.{name}" for name in METADATA_FIELDS)}
    FROM cluster_members AS one
    CROSS JOIN LATERAL (
        SELECT book_id FROM cluster_members m
        WHERE (m.by, m.founder_id) = (one.by, one.founder_id) AND m.book_id <> one.book_id
        ORDER BY book_id LIMIT {_MOST_COPIES}
    ) AS copies
    JOIN books ON books.id = copies.book_id
    WHERE one.by = 'same_text' AND one.book_id = ANY($books::uuid[])
    ORDER BY copied, books.id
""")


class ConflictSnapshot:
    """Reader of books, their groups and their relations in their state at one moment."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list_groups(self, by: SharedBy, first: int, limit: int, most: int) -> list[Sharing]:
        """Return at most `limit` groups with books of several clusters, ascending from the key `first`.

        At most `most` books of each group are marked for examination.
        """
        groups = await rows(self._connection, _LIST_GROUPS[by], first=first, limit=limit, most=most)
        return [Sharing(**row) for row in groups]

    async def list_copies(self, after: ConflictPlace, limit: int) -> dict[Pair, bool]:
        """Return at most `limit` pairs of copies after a place, in order, and whether their ISBNs differ."""
        copies = await rows(
            self._connection,
            _LIST_COPIES,
            kinds=sorted(KINDS["same_text"]),
            left=after.left,
            right=after.right,
            limit=limit,
        )
        return {(row["left_id"], row["right_id"]): row["differ"] for row in copies}

    async def read_books(self, book_ids: Iterable[UUID]) -> dict[UUID, ConflictBook]:
        """Return the books with their signatures."""
        books = await rows(self._connection, _READ_BOOKS, books=list(book_ids))
        return {row["id"]: _book(row) for row in books}

    async def read_relations(self, book_ids: Iterable[UUID]) -> dict[Pair, RelationSummary]:
        """Return the effective relations between these books, by their pairs."""
        return await read_relations(self._connection, book_ids)

    async def list_named_copies(self, book_ids: Iterable[UUID]) -> dict[UUID, list[NamedCopy]]:
        """Return, for each book, the oldest other books in its cluster of the same text."""
        copies: dict[UUID, list[NamedCopy]] = {}
        for row in await rows(self._connection, _LIST_NAMED_COPIES, books=list(book_ids)):
            copies.setdefault(row["copied"], []).append(NamedCopy(row["id"], to_metadata(row)))
        return copies


def _book(row: Row) -> ConflictBook:
    return ConflictBook(to_metadata(row), to_summary(row), row["related"])
