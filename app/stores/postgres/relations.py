"""Relations in Postgres: the outcomes of comparing two books.

A pair is stored once, with the smaller book id left. A relation is one of two contents: it goes when either
book gets another content, in the same transaction. Jobs write their pairs in ascending order, so no two of
them wait for each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from app.core.clusters.clustering import KINDS, Pair
from app.core.errors import NothingToConfirm, UnknownBook
from app.core.relations.alignment import page_map
from app.core.relations.classification import Kind
from app.core.relations.related import DecisionVerdict
from app.core.relations.relation import Relation
from app.stores.postgres.audit import Actor, actor_values, insert_entries
from app.stores.postgres.changes import insert_pair_changes, insert_withdrawals
from app.stores.postgres.clusters import update_clusters
from app.stores.postgres.connections import SQL, Connection, Database, Row, rows, to_json
from app.stores.postgres.jobs import insert_relate_jobs
from app.stores.postgres.rows import array_parameters, columns, is_json
from app.stores.postgres.schema import relations

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
    """A book with one of its contents."""

    book_id: UUID
    entry_id: int


@dataclass(frozen=True, slots=True, eq=False)
class ComparedPair:
    """Two books that were compared, and the outcome, seen from the left one."""

    left: BookVersion  # with the smaller book id
    right: BookVersion
    relation: Relation


class RelationStore:
    """Writes relations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(self, compared: Sequence[ComparedPair]) -> None:
        """Store relations; those of a content that is no longer current are passed over.

        The same relations again change nothing.
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
        """Store the last relations of an entry as `insert` does, and that they have been searched for.

        `passed_over` is how many candidates were too many to compare, `seconds` how long each pair took, by
        the kind of relation.
        """
        async with self._database.transaction() as connection:
            written = await _insert(connection, compared) if compared else []
            await rows(connection, _INSERT_SEARCH, entry_id=entry_id, passed_over=passed_over)
            if seconds:
                kinds = sorted(seconds)
                # Late, because every job changes these few rows.
                await rows(
                    connection,
                    _UPDATE_COUNTS,
                    kinds=kinds,
                    pairs=[len(seconds[kind]) for kind in kinds],
                    seconds=[sum(seconds[kind]) for kind in kinds],
                )
            await update_clusters(connection, written)


async def _insert(connection: Connection, compared: Sequence[ComparedPair]) -> list[Pair]:
    """Store relations; those of the pairs that are edges now or may have been before."""
    ordered = sorted(compared, key=lambda pair: (pair.left.book_id, pair.right.book_id))
    return joining(await insert_relations(connection, [_row(pair) for pair in ordered]))


async def insert_relations(connection: Connection, compared: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Store relations from their columns, JSON as text; those of contents that are not current are left out.

    Answers the pairs that it wrote, in ascending order as they came, their kinds, and whether each is new.
    """
    values = {name: [row[name] for row in compared] for name in _COLUMNS}
    return await rows(connection, _INSERT, **values)


def joining(written: Iterable[Row]) -> list[Pair]:
    """Those of the pairs that were written which are edges now or may have been before.

    A new relation of another kind makes no edge and takes none away: people's decisions are as they were.
    """
    return [
        (row["left_id"], row["right_id"]) for row in written if not row["is_new"] or row["kind"] in _JOINING
    ]


async def delete_relations(connection: Connection, book_id: UUID) -> None:
    """Delete the relations of a book whose content changes, and repeat searches that were cut short."""
    await repeat_cut_searches(connection, book_id)
    deleted = await rows(connection, _DELETE, book_id=book_id)
    await update_clusters(connection, [(row["left_id"], row["right_id"]) for row in deleted])


async def repeat_cut_searches(connection: Connection, book_id: UUID) -> None:
    """Have those relatives of a book that had too many candidates search for relations once more.

    The book may have stood for the candidates that they passed over.
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
        "revised": relation.revised,
        "signals": None if signals is None else to_json(asdict(signals)),
        "unit": None if alignment is None else alignment.unit,
        "runs": to_json([{"left": run.left, "right": run.right} for run in runs]),
        "page_map": None if alignment is None else page_map(alignment).astype("<i4").tobytes(),
    }


_READ_ENTRIES = SQL(
    "SELECT id, entry_id, collection FROM books WHERE id IN ($left_id, $right_id) ORDER BY id FOR KEY SHARE"
)
_READ_KIND = SQL("SELECT kind FROM relations WHERE left_id = $left_id AND right_id = $right_id")
_INSERT_DECISION = SQL(f"""
    WITH decided AS (
        INSERT INTO decisions (left_id, right_id, left_entry, right_entry, verdict, kind, decided_by)
        VALUES ($left_id, $right_id, $left_entry, $right_entry, $verdict, $kind, $actor_name)
        ON CONFLICT (left_id, right_id) DO UPDATE
        SET left_entry = excluded.left_entry, right_entry = excluded.right_entry, verdict = excluded.verdict,
            kind = excluded.kind, decided_at = now(), decided_by = excluded.decided_by
        RETURNING left_id, right_id, verdict, kind, decided_by
    ),
    audited AS ({insert_entries("decision.made", "decided", "left_id", "right_id")})
    {insert_pair_changes("relation.decided", "decided", "verdict", "kind", "decided_by")}
""")
_DELETE_DECISION = SQL(f"""
    WITH deleted AS (
        DELETE FROM decisions WHERE left_id = $left_id AND right_id = $right_id RETURNING left_id, right_id
    ),
    audited AS ({insert_entries("decision.withdrawn", "deleted", "left_id", "right_id")})
    {insert_withdrawals("deleted")}
    RETURNING book_id
""")


class DecisionStore:
    """Writes decisions. Each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(
        self, book_id: UUID, other_id: UUID, verdict: DecisionVerdict, kind: Kind | None, *, actor: Actor
    ) -> None:
        """Store a decision on two books as they are now, in place of an earlier one.

        A confirmed kind is the one that the machine has found. Books that were never compared are compared
        soon. Raises `UnknownBook`, and `NothingToConfirm`.
        """
        pair = _pair(book_id, other_id)
        async with self._database.transaction() as connection:
            entry_ids = await _entries(connection, pair, actor)
            relations = await rows(connection, _READ_KIND, **pair)
            if verdict == "confirmed":
                if not relations:
                    raise NothingToConfirm(book_id, other_id)
                kind = relations[0]["kind"]
            decision = {"verdict": verdict, "kind": kind} | actor_values(actor)
            await rows(connection, _INSERT_DECISION, **decision, **pair, **entry_ids)
            if not relations:
                await insert_relate_jobs(connection, [entry_ids["right_entry"]])
            await update_clusters(connection, [(pair["left_id"], pair["right_id"])])

    async def delete(self, book_id: UUID, other_id: UUID, *, actor: Actor) -> bool:
        """Delete the decision on two books; False: there is none. Raises `UnknownBook`."""
        pair = _pair(book_id, other_id)
        async with self._database.transaction() as connection:
            await _entries(connection, pair, actor)
            deleted = await rows(connection, _DELETE_DECISION, **pair, **actor_values(actor))
            if deleted:
                await update_clusters(connection, [(pair["left_id"], pair["right_id"])])
        return bool(deleted)


def _pair(book_id: UUID, other_id: UUID) -> dict[str, UUID]:
    return {"left_id": min(book_id, other_id), "right_id": max(book_id, other_id)}


async def _entries(connection: Connection, pair: dict[str, UUID], actor: Actor) -> dict[str, int]:
    """The present entries of two books, which stay so until the transaction ends.

    Raises `UnknownBook`, and `OtherCollection` unless the actor may write to both.
    """
    books = await rows(connection, _READ_ENTRIES, **pair)
    entry_ids = {row["id"]: row["entry_id"] for row in books}
    for book_id in pair.values():
        if book_id not in entry_ids:
            raise UnknownBook(book_id)
    actor.require(*(row["collection"] for row in books))
    return {"left_entry": entry_ids[pair["left_id"]], "right_entry": entry_ids[pair["right_id"]]}
