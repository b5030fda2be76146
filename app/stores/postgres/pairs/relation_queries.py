"""The relations of a book, each seen from that book."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np

from app.stores.postgres.connections import SQL, Connection, Database, Row, rows
from app.stores.postgres.jobs import UNFINISHED_RELATE_JOBS
from bookprint_core.clusters.clustering import Pair
from bookprint_core.relations.alignment import SIMILARITY_STEPS
from bookprint_core.relations.classification import RELATED, opposite
from bookprint_core.relations.common_matter import CommonMatter
from bookprint_core.relations.related import (
    Decision,
    IndirectRelation,
    KindCounts,
    PageMatches,
    RelatedBook,
    RelationProgress,
    RelationSummary,
    StoredDecision,
    StoredRelation,
    effective_relation,
)
from bookprint_core.relations.signals import LinearFit, Sides, Signals

_PAIRS_OF_BOOK = """
    SELECT left_id, right_id FROM relations WHERE left_id = $book_id
    UNION SELECT left_id, right_id FROM relations WHERE right_id = $book_id
    UNION SELECT left_id, right_id FROM decisions WHERE left_id = $book_id
    UNION SELECT left_id, right_id FROM decisions WHERE right_id = $book_id
"""


def _select_related(pairs: str, more: str) -> str:
    """Return SQL that reads these pairs of ids as rows for `_related`."""
    return f"""
        WITH pairs AS ({pairs})
        SELECT
            one.id = $book_id AS is_left,
            CASE WHEN one.id = $book_id THEN other.id ELSE one.id END AS book_id,
            CASE WHEN one.id = $book_id THEN other.title ELSE one.title END AS title,
            CASE WHEN one.id = $book_id THEN other.collection ELSE one.collection END AS collection,
            relations.kind, relations.direction, relations.confidence, relations.classifier,
            relations.left_because, relations.right_because, relations.confidences, relations.revised,
            decisions.verdict, decisions.kind AS decided_kind, decisions.decided_at,
            decisions.decided_by,
            (decisions.left_entry, decisions.right_entry) <> (one.entry_id, other.entry_id) AS stale,
            {more}
        FROM pairs
        JOIN books AS one ON one.id = pairs.left_id
        JOIN books AS other ON other.id = pairs.right_id
        LEFT JOIN relations USING (left_id, right_id)
        LEFT JOIN decisions USING (left_id, right_id)
        WHERE relations.left_id IS NOT NULL OR decisions.left_id IS NOT NULL
    """


_LIST_DIRECT = SQL(f"""
    SELECT * FROM ({_select_related(_PAIRS_OF_BOOK, "relations.signals")}) AS related
    WHERE $collection::text IS NULL OR collection = $collection
""")
_PAGES = """
    relations.signals, relations.unit, relations.runs, relations.page_map,
    one.page_labels AS left_labels, other.page_labels AS right_labels
"""
_READ_PAIR = SQL(
    _select_related(
        "SELECT least($book_id::uuid, $other_id::uuid) AS left_id, "
        "greatest($book_id::uuid, $other_id::uuid) AS right_id",
        _PAGES,
    )
)
_LIST_PARTLY_SHARED = SQL(f"""
    SELECT * FROM ({_select_related(_PAIRS_OF_BOOK, _PAGES)}) AS related
    WHERE coalesce(decided_kind, kind) IN ('CONTIGUOUS_SUBSET', 'OVERLAPPING_TEXT')
        AND verdict IS DISTINCT FROM 'rejected' AND page_map IS NOT NULL
    ORDER BY book_id
""")
_READ_SUMMARIES = SQL("""
    SELECT
        pairs.id AS book_id, pairs.left_id = $book_id AS is_left,
        relations.kind, relations.direction, relations.confidence,
        decisions.verdict, decisions.kind AS decided_kind
    FROM (
        SELECT id, least($book_id, id) AS left_id, greatest($book_id, id) AS right_id
        FROM unnest($others::uuid[]) AS others (id)
    ) AS pairs
    LEFT JOIN relations USING (left_id, right_id)
    LEFT JOIN decisions USING (left_id, right_id)
    WHERE relations.left_id IS NOT NULL OR decisions.left_id IS NOT NULL
""")

_READ_PROGRESS = SQL(f"""
    WITH book AS (SELECT entry_id FROM books WHERE id = $book_id),
    jobs AS (
        SELECT id, status IN ('todo', 'doing') AS pending
        FROM ({UNFINISHED_RELATE_JOBS} = (SELECT entry_id FROM book)) AS unfinished
    )
    SELECT
        (SELECT count(*) FROM jobs WHERE pending) AS pending,
        ARRAY(SELECT id FROM jobs WHERE NOT pending ORDER BY id) AS failed,
        coalesce(related_entries.passed_over, 0) AS passed_over
    FROM book LEFT JOIN related_entries ON related_entries.entry_id = book.entry_id
""")

# Each cluster that contains a relative is reached through one relative.
_LIST_INDIRECT = SQL(f"""
    WITH pairs AS ({_PAIRS_OF_BOOK}),
    direct AS (
        SELECT
            CASE WHEN pairs.left_id = $book_id THEN pairs.right_id ELSE pairs.left_id END
                AS id,
            CASE WHEN decisions.verdict = 'rejected' THEN 'UNRELATED'
                ELSE coalesce(decisions.kind, relations.kind) END AS kind
        FROM pairs
        LEFT JOIN relations USING (left_id, right_id)
        LEFT JOIN decisions USING (left_id, right_id)
    ),
    bridges AS (
        SELECT DISTINCT ON (founder_id) founder_id, direct.id AS via
        FROM direct
        JOIN LATERAL (
            SELECT founder_id FROM cluster_members WHERE book_id = direct.id AND by = 'same_text' LIMIT 1
        ) AS member ON true
        WHERE kind IN {tuple(sorted(RELATED))}
        ORDER BY founder_id, direct.id
    )
    SELECT books.id AS book_id, books.title, bridges.via
    FROM bridges
    JOIN cluster_members ON cluster_members.founder_id = bridges.founder_id AND by = 'same_text'
    JOIN books ON books.id = cluster_members.book_id
    WHERE books.id <> $book_id AND books.id > $after
        AND ($collection::text IS NULL OR books.collection = $collection)
        AND NOT EXISTS (SELECT FROM direct WHERE direct.id = books.id)
    ORDER BY books.id LIMIT $limit
""")

_READ_BETWEEN = SQL("""
    SELECT
        true AS is_left, left_id, right_id, relations.kind, relations.direction, relations.confidence,
        decisions.verdict, decisions.kind AS decided_kind, decisions.decided_by
    FROM (
        SELECT left_id, right_id FROM relations
        WHERE left_id = ANY($books::uuid[]) AND right_id = ANY($books::uuid[])
        UNION SELECT left_id, right_id FROM decisions
        WHERE left_id = ANY($books::uuid[]) AND right_id = ANY($books::uuid[])
    ) AS pairs
    LEFT JOIN relations USING (left_id, right_id)
    LEFT JOIN decisions USING (left_id, right_id)
""")
_COUNT = SQL("SELECT kind, pairs, seconds FROM relation_counts ORDER BY kind")


class RelationQueries:
    """Queries for relations and decisions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_progress(self, book_id: UUID) -> RelationProgress | None:
        """Return the progress of the search for the present content; None if the book does not exist."""
        for row in await self._database.rows(_READ_PROGRESS, book_id=book_id):
            return RelationProgress(**row)
        return None

    async def list_direct(self, book_id: UUID, collection: str | None = None) -> list[RelatedBook]:
        """Return all books (of a collection) related to, or decided on with, this book, in no order."""
        rows = await self._database.rows(_LIST_DIRECT, book_id=book_id, collection=collection)
        return [_related(row) for row in rows]

    async def list_partly_shared(self, book_id: UUID) -> list[tuple[RelatedBook, PageMatches]]:
        """Return all books that share a part of their text with this book, and the pages, in order of ids."""
        rows = await self._database.rows(_LIST_PARTLY_SHARED, book_id=book_id)
        return [(_related(row), _page_matches(row)) for row in rows]

    async def list_indirect(
        self, book_id: UUID, after: UUID | None, limit: int, collection: str | None = None
    ) -> list[IndirectRelation]:
        """Return at most `limit` books after `after` with the same text as a relative, in order of ids."""
        rows = await self._database.rows(
            _LIST_INDIRECT, book_id=book_id, after=after or UUID(int=0), limit=limit, collection=collection
        )
        return [IndirectRelation(**row) for row in rows]

    async def read_pair(self, book_id: UUID, other_id: UUID) -> tuple[RelatedBook, PageMatches] | None:
        """Return the relation of two books, seen from the first; None if no relation is stored."""
        for row in await self._database.rows(_READ_PAIR, book_id=book_id, other_id=other_id):
            return _related(row), _page_matches(row)
        return None

    async def read_summaries(self, book_id: UUID, others: Sequence[UUID]) -> dict[UUID, RelationSummary]:
        """Return the effective relations of a book with others that have one, by the ids of the others."""
        rows = await self._database.rows(_READ_SUMMARIES, book_id=book_id, others=list(others))
        return {row["book_id"]: found for row in rows if (found := effective_relation_in(row))}

    async def count(self) -> list[KindCounts]:
        """Return the number of compared pairs and the time taken, by kind."""
        return [KindCounts(**row) for row in await self._database.rows(_COUNT)]


def effective_relation_in(row: Row | Mapping[str, Any]) -> RelationSummary | None:
    """Return the effective relation in a row; None if the books were not compared and nobody has decided."""
    return effective_relation(_summary(row), _decision(row))


async def read_relations(connection: Connection, book_ids: Iterable[UUID]) -> dict[Pair, RelationSummary]:
    """Return the effective relations between these books, by their pairs."""
    relations = {}
    for row in await rows(connection, _READ_BETWEEN, books=list(book_ids)):
        summary = effective_relation(_summary(row), _decision(row), row["decided_by"])
        assert summary is not None  # each pair has a relation or a decision
        relations[row["left_id"], row["right_id"]] = summary
    return relations


def _related(row: Row) -> RelatedBook:
    evidence = decided = None
    summary, decision = _summary(row), _decision(row)
    if summary is not None:
        side = "left" if row["is_left"] else "right"
        signals = None if row["signals"] is None else to_signals(row["signals"])
        evidence = StoredRelation(
            summary=summary,
            classifier=row["classifier"],
            because=row[f"{side}_because"],
            confidences=row["confidences"],
            signals=signals if signals is None or row["is_left"] else signals.swapped(),
            revised=row["revised"],
        )
    if decision is not None:
        decided = StoredDecision(decision, row["decided_at"], row["decided_by"], row["stale"])
    return RelatedBook(row["book_id"], row["title"], evidence, decided)


def _summary(row: Row | Mapping[str, Any]) -> RelationSummary | None:
    if row["kind"] is None:
        return None
    direction = row["direction"] if row["is_left"] else opposite(row["direction"])
    return RelationSummary(row["kind"], direction, row["confidence"])


def _decision(row: Row | Mapping[str, Any]) -> Decision | None:
    return None if row["verdict"] is None else Decision(row["verdict"], row["decided_kind"])


def to_signals(document: Mapping[str, Any]) -> Signals:
    """Return the signals from their stored form, left book first."""
    values: dict[str, Any] = {
        name: Sides(**value) if isinstance(value, dict) and value.keys() == {"left", "right"} else value
        for name, value in document.items()
    }
    for name in ("fit", "reverse_fit"):
        values[name] = None if document[name] is None else LinearFit(**document[name])
    if (matter := document.get("common_matter")) is not None:
        left, right = tuple(matter["left"]), tuple(matter["right"])
        values["common_matter"] = CommonMatter(matter["matter"], left, right)
    return Signals(**values)


def _page_matches(row: Row) -> PageMatches:
    sides = ("left", "right") if row["is_left"] else ("right", "left")
    matches = np.frombuffer(row["page_map"] or b"", dtype="<i4").reshape(-1, 3)
    pairs = matches[:, [0, 1]] if row["is_left"] else matches[:, [1, 0]]
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    this, other = sides
    paged = row["unit"] == "page"  # windows of words have no labels
    return PageMatches(
        unit=row["unit"],
        runs=sorted((tuple(run[this]), tuple(run[other])) for run in row["runs"] or ()),
        pairs=pairs[order],
        similarities=matches[order, 2] / SIMILARITY_STEPS,
        this_labels=row[f"{this}_labels"] if paged else None,
        other_labels=row[f"{other}_labels"] if paged else None,
    )
