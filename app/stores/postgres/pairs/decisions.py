"""People's decisions on pairs of books, and their history.

One transaction decides at a time, so each reads the decisions of the transactions before it. The last
decision on a pair counts; the history contains the earlier decisions.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from sqlalchemy import BindParameter, bindparam, select

from app.stores.postgres.audit import Actor, actor_values, insert_entries
from app.stores.postgres.changes import insert_pair_changes, insert_withdrawals
from app.stores.postgres.clusters import update_clusters
from app.stores.postgres.connections import SQL, ConditionalSQL, Connection, Database, Row, rows
from app.stores.postgres.jobs import insert_relate_jobs
from app.stores.postgres.pairs.reviews import update_reviews
from app.stores.postgres.pairs.schema import past_decisions
from app.stores.postgres.schema import books
from bookprint_core.errors import DecidedMeanwhile, NoDecision, NotCompared, NothingToConfirm, UnknownBook
from bookprint_core.relations.classification import Kind
from bookprint_core.relations.related import DecisionVerdict

Said = DecisionVerdict | Literal["withdrawn", "undone", "unsure"]
"""A verdict; or withdrawn (the computed relation counts), undone (the decision before counts), or unsure."""

DecisionOutcome = Literal["counts", "withdrawn", "undone", "unsure"]
"""Outcome of a decision: it counts or counted, was or is a withdrawal, undid a decision, or is unsure."""

_LOCK = SQL("SELECT pg_advisory_xact_lock(1684366185)")
"""Lock that only one transaction with decisions can hold. The number is "deci" in ASCII."""

_READ_ENTRIES = SQL(
    "SELECT id, entry_id, collection FROM books WHERE id = ANY($book_ids::uuid[]) ORDER BY id FOR KEY SHARE"
)
_READ_PAIR = SQL("""
    SELECT relations.kind AS found, decisions.decided_at, (
        SELECT max(sequence) FROM past_decisions
        WHERE (past_decisions.left_id, past_decisions.right_id) = (decisions.left_id, decisions.right_id)
            AND at = decisions.decided_at AND outcome = 'counts'
    ) AS past
    FROM (VALUES ($left_id::uuid, $right_id::uuid)) AS pair (left_id, right_id)
    LEFT JOIN relations USING (left_id, right_id)
    LEFT JOIN decisions USING (left_id, right_id)
""")
_READ_UNSURE = SQL("""
    SELECT sequence, at FROM past_decisions
    WHERE left_id = $left_id AND right_id = $right_id AND author = $author AND outcome = 'unsure'
    ORDER BY sequence DESC
""")
_END = SQL("UPDATE past_decisions SET outcome = 'withdrawn' WHERE sequence = ANY($sequences::bigint[])")
_INSERT_PAST = SQL("""
    INSERT INTO past_decisions (
        left_id, right_id, left_entry, right_entry, author, name, verdict, kind, note, outcome, before
    )
    VALUES (
        $left_id, $right_id, $left_entry, $right_entry, $author, $actor_name, $verdict, $kind, $note,
        $outcome, $before
    )
""")
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
_RESTORE_DECISION = SQL(f"""
    WITH decided AS (
        UPDATE decisions
        SET left_entry = coalesce(earlier.left_entry, decisions.left_entry),
            right_entry = coalesce(earlier.right_entry, decisions.right_entry), verdict = earlier.verdict,
            kind = earlier.kind, decided_at = earlier.at, decided_by = earlier.name
        FROM past_decisions AS undone JOIN past_decisions AS earlier ON earlier.sequence = undone.before
        WHERE decisions.left_id = $left_id AND decisions.right_id = $right_id AND undone.sequence = $undone
        RETURNING decisions.left_id, decisions.right_id, decisions.verdict, decisions.kind, decided_by
    ),
    audited AS ({insert_entries("decision.withdrawn", "decided", "left_id", "right_id")}),
    told AS ({insert_pair_changes("relation.decided", "decided", "verdict", "kind", "decided_by")})
    SELECT FROM decided
""")
_DELETE_DECISION = SQL(f"""
    WITH deleted AS (
        DELETE FROM decisions WHERE left_id = $left_id AND right_id = $right_id RETURNING left_id, right_id
    ),
    audited AS ({insert_entries("decision.withdrawn", "deleted", "left_id", "right_id")})
    {insert_withdrawals("deleted")}
""")
_PAIR = "(SELECT $left_id::uuid AS left_id, $right_id::uuid AS right_id) AS pair"
_AUDIT = {
    "proposed": SQL(insert_entries("decision.proposed", _PAIR, "left_id", "right_id")),
    "withdrawn": SQL(insert_entries("decision.withdrawn", _PAIR, "left_id", "right_id")),
}
_EARLIER = past_decisions.alias("earlier")
_BOOK: BindParameter[UUID] = bindparam("book_id")
_PAST = past_decisions.alias("past")
_LIST = ConditionalSQL(
    select(
        *(_PAST.c[name] for name in ("sequence", "at", "left_id", "right_id", "name", "verdict", "kind")),
        *(
            _PAST.c.note,
            _PAST.c.outcome,
            (_PAST.c.author == bindparam("reader")).label("own"),
        ),
        *(_EARLIER.c[name].label(f"{name}_before") for name in ("verdict", "kind", "name")),
        *(
            select(books.c.title).where(books.c.id == _PAST.c[f"{side}_id"]).label(f"{side}_title")
            for side in ("left", "right")
        ),
    )
    .select_from(_PAST.outerjoin(_EARLIER, _EARLIER.c.sequence == _PAST.c.before))
    .order_by(_PAST.c.sequence.desc())
    .limit(bindparam("limit")),
    {
        "before": _PAST.c.sequence < bindparam("before"),
        "name": _PAST.c.name == bindparam("name"),
        "after": _PAST.c.at > bindparam("after"),
        "left_id": _PAST.c.left_id == bindparam("left_id"),
        "right_id": _PAST.c.right_id == bindparam("right_id"),
        "book_id": (_PAST.c.left_id == _BOOK) | (_PAST.c.right_id == _BOOK),
        "author": _PAST.c.author == bindparam("author"),
    },
)
_COUNT_BY_NAME = SQL("""
    SELECT name, count(*) AS made FROM past_decisions WHERE outcome = 'counts'
    GROUP BY name ORDER BY made DESC, name LIMIT $limit
""")


@dataclass(frozen=True, slots=True)
class NewDecision:
    """A person's decision on two books."""

    book_id: UUID
    other_id: UUID
    verdict: Said
    kind: Kind | None = None  # named by the person; None: not named
    note: str | None = None
    instead_of: datetime | Literal["nothing", "anything"] = "anything"
    """The time of the expected present decision; for `undone`: of the decision or unsure entry to undo."""

    @property
    def pair(self) -> tuple[UUID, UUID]:
        """The ids of both books, older first."""
        return min(self.book_id, self.other_id), max(self.book_id, self.other_id)


@dataclass(frozen=True, slots=True)
class PastDecision:
    """A decision in the history."""

    sequence: int  # in the order of writing
    at: datetime
    left_id: UUID
    right_id: UUID
    name: str | None  # of the author; None: unknown
    verdict: Said
    kind: Kind | None  # confirmed or named; None: rejected or withdrawn
    note: str | None
    outcome: DecisionOutcome
    verdict_before: DecisionVerdict | None  # of the decision that counted until then
    kind_before: Kind | None
    name_before: str | None
    left_title: str | None  # present title; None: untitled, or the book is deleted
    right_title: str | None
    own: bool  # the reader is the author


class HistoryFilter(NamedTuple):
    """The decisions to list; None means any."""

    name: str | None = None
    after: datetime | None = None
    pair: tuple[UUID, UUID] | None = None  # the older book first
    book_id: UUID | None = None  # one of the two books
    author: str | None = None


class DecisionStore:
    """Store of decisions and their history."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(self, decisions: Sequence[NewDecision], *, actor: Actor) -> list[DecisionOutcome]:
        """Store all decisions or none, for the present contents of the books; return the outcome of each.

        A confirmation stores the computed kind. For books that were never compared, a job is created. Raises
        `UnknownBook`, `NotCompared`, `NothingToConfirm`, `NoDecision`, `DecidedMeanwhile`, and
        `OtherCollection`.
        """
        pairs = sorted({decision.pair for decision in decisions})
        async with self._database.transaction() as connection:
            await rows(connection, _LOCK)
            books = await rows(
                connection, _READ_ENTRIES, book_ids=[book_id for pair in pairs for book_id in pair]
            )
            known = {row["id"]: row for row in books}
            outcomes = [await self._insert(connection, each, known, actor) for each in decisions]
            await update_reviews(connection, pairs)
            await update_clusters(connection, pairs)
        return outcomes

    async def list_history(
        self, wanted: HistoryFilter, reader: str, before: int | None, limit: int
    ) -> list[PastDecision]:
        """Return at most `limit` decisions before a number, newest first; `own`: made by the reader."""
        left_id, right_id = wanted.pair or (None, None)
        values = wanted._asdict() | {"left_id": left_id, "right_id": right_id, "reader": reader}
        del values["pair"]
        values |= {"before": before, "limit": limit}
        async with self._database.session() as connection:
            return [PastDecision(**row) for row in await rows(connection, _LIST.given(values), **values)]

    async def count_by_name(self, limit: int) -> dict[str | None, int]:
        """Return the number of decisions of the `limit` most active people, most active first."""
        return {row["name"]: row["made"] for row in await self._database.rows(_COUNT_BY_NAME, limit=limit)}

    async def _insert(
        self, connection: Connection, decision: NewDecision, known: dict[UUID, Row], actor: Actor
    ) -> DecisionOutcome:
        _require(decision, known, actor)
        left_id, right_id = decision.pair
        pair = {"left_id": left_id, "right_id": right_id}
        entries = {"left_entry": known[left_id]["entry_id"], "right_entry": known[right_id]["entry_id"]}
        [before] = await rows(connection, _READ_PAIR, **pair)
        unsure = await rows(connection, _READ_UNSURE, **pair, author=actor.author)
        expected = ("anything", before["decided_at"] or "nothing")
        if decision.verdict != "undone" and decision.instead_of not in expected:
            raise DecidedMeanwhile(*decision.pair)
        kind = decision.kind
        if decision.verdict == "confirmed":
            if before["found"] is None:
                raise NothingToConfirm(decision.book_id, decision.other_id)
            kind = before["found"]
        outcome: DecisionOutcome = "counts"
        ended = [row["sequence"] for row in unsure]
        if decision.verdict == "undone":
            outcome, ended = "undone", await _undo(connection, decision, before, unsure, actor)
        elif decision.verdict == "withdrawn":
            outcome = "withdrawn"
            if before["decided_at"] is None and not unsure:
                raise NoDecision(decision.book_id, decision.other_id)
            ended += [] if before["past"] is None else [before["past"]]
            withdraw = _AUDIT["withdrawn"] if before["decided_at"] is None else _DELETE_DECISION
            await rows(connection, withdraw, **pair, **actor_values(actor))
        elif decision.verdict == "unsure":
            outcome = "unsure"
            await rows(connection, _AUDIT["proposed"], **pair, **actor_values(actor))
        else:
            values = entries | {"verdict": decision.verdict, "kind": kind}
            await rows(connection, _INSERT_DECISION, **pair, **values, **actor_values(actor))
            if before["found"] is None:
                await insert_relate_jobs(connection, [known[right_id]["entry_id"]])
        await rows(connection, _END, sequences=ended)
        await rows(
            connection,
            _INSERT_PAST,
            **pair,
            **entries,
            **actor_values(actor),
            **asdict(decision) | {"kind": kind, "author": actor.author, "outcome": outcome},
            before=before["past"],
        )
        return outcome


async def _undo(
    connection: Connection, decision: NewDecision, before: Row, unsure: Sequence[Row], actor: Actor
) -> list[int]:
    """Undo the actor's unsure entry, else the decision; restore the decision before; return ended numbers."""
    values = dict(zip(("left_id", "right_id"), decision.pair, strict=True)) | actor_values(actor)
    if unsure and decision.instead_of in ("anything", "nothing", unsure[0]["at"]):
        await rows(connection, _AUDIT["withdrawn"], **values)
        return [row["sequence"] for row in unsure]
    if before["decided_at"] is None and decision.instead_of in ("anything", "nothing"):
        raise NoDecision(decision.book_id, decision.other_id)
    if before["decided_at"] is None or decision.instead_of not in ("anything", before["decided_at"]):
        raise DecidedMeanwhile(*decision.pair)
    if not await rows(connection, _RESTORE_DECISION, **values, undone=before["past"]):
        await rows(connection, _DELETE_DECISION, **values)
    return [] if before["past"] is None else [before["past"]]


def _require(decision: NewDecision, known: dict[UUID, Row], actor: Actor) -> None:
    """Raise unless both books exist, differ, and are books on which the actor may decide."""
    both = decision.book_id, decision.other_id
    for book_id in both:
        if book_id not in known:
            raise UnknownBook(book_id)
    if decision.book_id == decision.other_id:
        raise NotCompared(*both)
    actor.require(*(known[book_id]["collection"] for book_id in both))
