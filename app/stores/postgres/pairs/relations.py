"""Relations in Postgres: the results of comparing two books.

A pair is stored once, with the smaller book id left. A relation belongs to two contents: the transaction that
replaces a content deletes it. Jobs write their pairs in ascending order, so no two jobs wait for each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from app.stores.postgres.changes import insert_pair_changes
from app.stores.postgres.clusters import update_clusters
from app.stores.postgres.connections import SQL, Connection, Database, Row, rows, to_json
from app.stores.postgres.jobs import insert_relate_jobs
from app.stores.postgres.pairs.reviews import update_reviews
from app.stores.postgres.pairs.schema import relations
from app.stores.postgres.rows import array_parameters, columns, is_json
from bookprint_core.clusters.clustering import KINDS, Pair
from bookprint_core.relations.alignment import page_map
from bookprint_core.relations.classification import Kind
from bookprint_core.relations.relation import Relation

_COLUMNS = columns(relations, without=["related_at"])

_JOINING = frozenset[Kind]().union(*KINDS.values())
"""The kinds of relations that are edges."""


_GIVEN = ", ".join(f"given.{name}{'::jsonb' if is_json(relations, name) else ''}" for name in _COLUMNS)
_INSERT = SQL(f"""
    WITH written AS (
        INSERT INTO relations ({", ".join(_COLUMNS)})
        SELECT {_GIVEN}
        FROM unnest({array_parameters(relations, _COLUMNS)}) AS given ({", ".join(_COLUMNS)})
        JOIN books AS one ON one.id = given.left_id AND one.entry_id = given.left_entry
        JOIN books AS other ON other.id = given.right_id AND other.entry_id = given.right_entry
        ORDER BY given.left_id, given.right_id
        FOR KEY SHARE OF one, other
        ON CONFLICT (left_id, right_id) DO UPDATE
        SET related_at = now(), {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[2:])}
        WHERE (relations.left_entry, relations.right_entry, relations.classifier)
            <> (excluded.left_entry, excluded.right_entry, excluded.classifier)
        RETURNING left_id, right_id, kind, direction, confidence, xmax = 0 AS is_new
    ),
    told AS ({insert_pair_changes("relation.found", "written", "kind", "direction", "confidence")})
    SELECT left_id, right_id, kind, is_new FROM written
""")

_INSERT_SEARCH = SQL("""
    INSERT INTO related_entries (entry_id, passed_over)
    SELECT entry_id, $passed_over FROM books WHERE entry_id = $entry_id FOR KEY SHARE
    ON CONFLICT (entry_id) DO UPDATE SET passed_over = excluded.passed_over
""")

_UPDATE_COUNTS = SQL("""
    INSERT INTO relation_counts (kind, pairs, seconds)
    SELECT * FROM unnest($kinds::text[], $pairs::bigint[], $seconds::float8[])
    ON CONFLICT (kind) DO UPDATE
    SET pairs = relation_counts.pairs + excluded.pairs, seconds = relation_counts.seconds + excluded.seconds
""")

_READ_CUT_SEARCHES = SQL("""
    SELECT related_entries.entry_id
    FROM relations
    JOIN books ON books.id IN (left_id, right_id) AND books.id <> $book_id
    JOIN related_entries ON related_entries.entry_id = books.entry_id
    WHERE (left_id = $book_id OR right_id = $book_id) AND passed_over > 0
    ORDER BY related_entries.entry_id
""")

_DELETE = SQL(f"""
    WITH deleted AS (
        DELETE FROM relations WHERE left_id = $book_id OR right_id = $book_id
        RETURNING left_id, right_id, kind
    ),
    told AS ({insert_pair_changes("relation.gone", "deleted", "kind")})
    SELECT left_id, right_id FROM deleted
""")


@dataclass(frozen=True, slots=True)
class BookVersion:
    """A book and the entry of one of its contents."""

    book_id: UUID
    entry_id: int


@dataclass(frozen=True, slots=True, eq=False)
class ComparedPair:
    """Two compared books and their relation, seen from the left book."""

    left: BookVersion  # with the smaller book id
    right: BookVersion
    relation: Relation


class RelationStore:
    """Store of relations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(self, compared: Sequence[ComparedPair]) -> None:
        """Store the relations whose contents are current.

        Relations that are stored already change nothing.
        """
        if compared:
            async with self._database.transaction() as connection:
                await update_clusters(connection, await _insert(connection, compared))

    async def insert_search(
        self,
        entry_id: int,
        compared: Sequence[ComparedPair],
        passed_over: int,
        seconds: Mapping[str, Sequence[float]],
    ) -> None:
        """Store the last relations of an entry as `insert` does, and mark its search as done.

        `passed_over` is the number of candidates that were not compared. `seconds` are the durations of the
        comparisons, by kind of relation.
        """
        async with self._database.transaction() as connection:
            written = await _insert(connection, compared) if compared else []
            await rows(connection, _INSERT_SEARCH, entry_id=entry_id, passed_over=passed_over)
            if seconds:
                kinds = sorted(seconds)
                # Written late, because every job changes and thus locks these few rows.
                await rows(
                    connection,
                    _UPDATE_COUNTS,
                    kinds=kinds,
                    pairs=[len(seconds[kind]) for kind in kinds],
                    seconds=[sum(seconds[kind]) for kind in kinds],
                )
            await update_clusters(connection, written)


async def _insert(connection: Connection, compared: Sequence[ComparedPair]) -> list[Pair]:
    """Store relations; return the pairs that are edges now or may have been edges before."""
    ordered = sorted(compared, key=lambda pair: (pair.left.book_id, pair.right.book_id))
    return joining(await insert_relations(connection, [_row(pair) for pair in ordered]))


async def insert_relations(connection: Connection, compared: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Store the relations whose contents are current from their columns, JSON as text.

    Pass the pairs in ascending order. Returns the written pairs, their kinds, and whether each is new.
    """
    values = {name: [row[name] for row in compared] for name in _COLUMNS}
    written = await rows(connection, _INSERT, **values)
    await update_reviews(connection, [(row["left_id"], row["right_id"]) for row in written])
    return written


def joining(written: Iterable[Row]) -> list[Pair]:
    """Return the written pairs that are edges now or may have been edges before.

    A new relation of another kind adds and removes no edge, because people's decisions do not change.
    """
    return [
        (row["left_id"], row["right_id"]) for row in written if not row["is_new"] or row["kind"] in _JOINING
    ]


async def delete_relations(connection: Connection, book_id: UUID) -> None:
    """Delete the relations of a book whose content changes, and repeat limited searches of its relatives."""
    await repeat_cut_searches(connection, book_id)
    deleted = await rows(connection, _DELETE, book_id=book_id)
    await update_clusters(connection, [(row["left_id"], row["right_id"]) for row in deleted], [book_id])


async def repeat_cut_searches(connection: Connection, book_id: UUID) -> None:
    """Repeat the searches of a book's relatives that had too many candidates.

    The relatives may have passed over candidates in favour of this book.
    """
    searches = await rows(connection, _READ_CUT_SEARCHES, book_id=book_id)
    await insert_relate_jobs(connection, [row["entry_id"] for row in searches])


def _row(compared: ComparedPair) -> dict[str, Any]:
    relation, left, right = compared.relation, compared.left, compared.right
    classification, signals, alignment = relation.classification, relation.signals, relation.alignment
    runs = () if alignment is None else alignment.runs
    return {
        "left_id": left.book_id,
        "right_id": right.book_id,
        "left_entry": left.entry_id,
        "right_entry": right.entry_id,
        "kind": classification.kind,
        "direction": classification.direction,
        "confidence": classification.confidence,
        "classifier": relation.classifier,
        "left_because": classification.because,
        "right_because": relation.mirrored.because,
        "confidences": to_json(dict(classification.confidences)),
        "link": relation.link,
        "doubt": relation.doubt,
        "revised": relation.revised,
        "signals": None if signals is None else to_json(asdict(signals)),
        "unit": None if alignment is None else alignment.unit,
        "runs": to_json([{"left": run.left, "right": run.right} for run in runs]),
        "page_map": None if alignment is None else page_map(alignment).astype("<i4").tobytes(),
    }
