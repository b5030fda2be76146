"""Faults of scans, stored in Postgres until a relation, a page or a copy of the scan changes."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from app.stores.postgres.connections import SQL, Connection, Database, Row, rows
from bookprint_core.clusters.completeness import Finding, PagesOfCopy

_SAME = "kind = 'SAME_PAGINATION'"
_COPIES = f"""
    SELECT right_id AS id FROM relations WHERE left_id = book AND {_SAME}
    UNION ALL SELECT left_id FROM relations WHERE right_id = book AND {_SAME}
    UNION ALL SELECT right_id FROM decisions WHERE left_id = book AND {_SAME}
    UNION ALL SELECT left_id FROM decisions WHERE right_id = book AND {_SAME}
"""
# Rows are written in order and under the lock of clusters, so that no two transactions wait for each other.
_MARK = SQL(f"""
    WITH copies AS (
        SELECT DISTINCT copies.id FROM unnest($changed::uuid[]) AS book, LATERAL ({_COPIES}) AS copies
    )
    INSERT INTO completeness (book_id)
    SELECT book FROM (
        SELECT unnest($books::uuid[] || $changed::uuid[]) AS book UNION SELECT id FROM copies
    ) AS marked
    WHERE EXISTS (SELECT FROM completeness WHERE book_id = book) OR EXISTS ({_COPIES})
    ORDER BY book
    ON CONFLICT (book_id) DO UPDATE SET looked = false, written_by = excluded.written_by
""")
_FORGET = SQL("DELETE FROM completeness WHERE book_id = $book")
_READ = SQL("SELECT * FROM completeness WHERE book_id = $book")
_LIST_STALE = SQL(
    "SELECT book_id FROM completeness WHERE NOT looked ORDER BY written_by, book_id LIMIT $limit"
)
# The faults are not stored if the scan has changed since it was read.
_UPDATE = SQL("""
    UPDATE completeness
    SET looked = true, compared_with = $compared_with::uuid[], findings = $findings, rank = $rank
    WHERE book_id = $book AND written_by = $written_by
""")
_IN_COLLECTION = "($collection::text IS NULL OR collection = $collection)"
_LIST = SQL(f"""
    SELECT completeness.*, title FROM completeness JOIN books ON id = book_id
    WHERE rank IS NOT NULL AND {_IN_COLLECTION} AND ($after::uuid IS NULL OR (rank, book_id) > (
        SELECT rank, book_id FROM completeness WHERE book_id = $after
    ))
    ORDER BY rank, book_id LIMIT $limit
""")
_COUNT = SQL(f"""
    SELECT count(*) FILTER (WHERE looked AND compared_with IS NOT NULL) AS compared,
        count(*) FILTER (WHERE NOT looked) AS pending,
        count(*) FILTER (WHERE looked IS NULL OR looked AND compared_with IS NULL) AS alone
    FROM books LEFT JOIN completeness ON book_id = id WHERE {_IN_COLLECTION}
""")
_LIST_NEAR = SQL("""
    WITH own AS (SELECT entry_id AS entry FROM books WHERE id = $book)
    SELECT entry_id FROM (
        (SELECT entry_id, entry FROM books, own WHERE entry_id > entry ORDER BY entry_id LIMIT $limit)
        UNION ALL
        (SELECT entry_id, entry FROM books, own WHERE entry_id < entry ORDER BY entry_id DESC LIMIT $limit)
    ) AS near
    ORDER BY abs(entry_id - entry)
""")


@dataclass(frozen=True, slots=True)
class KeptFindings:
    """The faults of a scan at its last comparison."""

    book_id: UUID
    written_by: int  # the transaction of the last change
    looked: bool  # compared since that change
    compared_with: Sequence[UUID] | None  # None: no comparison was possible
    findings: Sequence[Finding]
    title: str | None = None


async def mark_for_completeness(
    connection: Connection, books: Collection[UUID], changed: Collection[UUID] = ()
) -> None:
    """Mark scans for comparison: `books` with new relations, `changed` books and the copies of these.

    The caller must hold the lock of clusters.
    """
    await rows(connection, _MARK, books=list(books), changed=list(changed))


async def forget_completeness(connection: Connection, book_id: UUID) -> None:
    """Delete the stored faults of a deleted book."""
    await rows(connection, _FORGET, book=book_id)


class CompletenessStore:
    """Store of the faults of scans."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, book_id: UUID) -> KeptFindings | None:
        """Return the stored faults of a scan; None if the scan has had no copy yet."""
        return next(map(_kept, await self._database.rows(_READ, book=book_id)), None)

    async def list_stale(self, limit: int) -> list[UUID]:
        """Return at most `limit` scans to compare, longest waiting first."""
        return [row["book_id"] for row in await self._database.rows(_LIST_STALE, limit=limit)]

    async def update(
        self, kept: KeptFindings, compared_with: Sequence[UUID] | None, findings: Sequence[Finding]
    ) -> None:
        """Store the faults of a scan, unless the scan has changed since."""
        await self._database.rows(
            _UPDATE,
            book=kept.book_id,
            written_by=kept.written_by,
            compared_with=None if compared_with is None else list(compared_with),
            findings=[asdict(finding) for finding in findings],
            rank=min((-finding.confidence for finding in findings), default=None),
        )

    async def list_faulty(self, collection: str | None, after: UUID | None, limit: int) -> list[KeptFindings]:
        """Return at most `limit` scans (of a collection) with faults after `after`, surest first."""
        found = await self._database.rows(_LIST, collection=collection, after=after, limit=limit)
        return list(map(_kept, found))

    async def count(self, collection: str | None) -> tuple[int, int, int]:
        """Return the numbers of books (of a collection): compared, to be compared, not comparable."""
        [row] = await self._database.rows(_COUNT, collection=collection)
        return row["compared"], row["pending"], row["alone"]

    async def list_near(self, book_id: UUID, limit: int) -> list[int]:
        """Return at most `limit` entries stored before a book and `limit` stored after it, nearest first."""
        return [row["entry_id"] for row in await self._database.rows(_LIST_NEAR, book=book_id, limit=limit)]


def _kept(row: Row) -> KeptFindings:
    return KeptFindings(
        row["book_id"],
        row["written_by"],
        row["looked"],
        row["compared_with"],
        [_finding(each) for each in row["findings"]],
        row.get("title"),
    )


def _finding(document: dict[str, Any]) -> Finding:
    named = document | {"copies": [_pages(each) for each in document["copies"]]}
    for name in ("pages", "between"):
        named[name] = document[name] and tuple(document[name])
    named["source"] = document["source"] and _pages(document["source"])
    return Finding(**named)


def _pages(document: dict[str, Any]) -> PagesOfCopy:
    first, end = document["pages"]
    return PagesOfCopy(UUID(document["book_id"]), (first, end))
