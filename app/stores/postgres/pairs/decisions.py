"""People's decisions on pairs of books, the opinions that they come from, and their history.

One transaction decides at a time, so each finds what those before have decided, and tells it. The last one
wins, and whoever was there before is in the history. Where two opinions are asked for, the first waits: until
another person's agrees, nothing but the history knows it, and that shows it to its author alone.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from app.core.errors import DecidedMeanwhile, NoDecision, NotCompared, NothingToConfirm, UnknownBook
from app.core.relations.classification import Kind
from app.core.relations.related import DecisionVerdict
from app.stores.postgres.audit import Actor, actor_values, insert_entries
from app.stores.postgres.changes import insert_pair_changes, insert_withdrawals
from app.stores.postgres.clusters import update_clusters
from app.stores.postgres.connections import SQL, Connection, Database, Row, rows
from app.stores.postgres.jobs import insert_relate_jobs
from app.stores.postgres.pairs.reviews import update_reviews

Opined = DecisionVerdict | Literal["withdrawn", "unsure"]
"""What a person says of two books: a verdict, that the one there no longer holds, or that he cannot tell."""

OpinionOutcome = Literal["counts", "waits", "disagrees", "replaced", "withdrawn", "unsure"]
"""It counts, or did; waits for another; others disagree with it; its author or others have replaced it."""

_LOCK = SQL("SELECT pg_advisory_xact_lock(1684366185)")
"""Held by the one transaction that decides, before all its other locks; the number is "deci" in ASCII."""

_READ_ENTRIES = SQL(
    "SELECT id, entry_id, collection FROM books WHERE id = ANY($book_ids::uuid[]) ORDER BY id FOR KEY SHARE"
)
_READ_PAIR = SQL("""
    SELECT relations.kind AS found, decisions.verdict, decisions.kind, decisions.decided_by,
        decisions.decided_at
    FROM (VALUES ($left_id::uuid, $right_id::uuid)) AS pair (left_id, right_id)
    LEFT JOIN relations USING (left_id, right_id)
    LEFT JOIN decisions USING (left_id, right_id)
""")
_READ_STANDING = SQL("""
    SELECT sequence, author, outcome, coalesce(kind, 'UNRELATED') AS kind FROM opinions
    WHERE left_id = $left_id AND right_id = $right_id AND outcome IN ('waits', 'disagrees', 'unsure')
""")
_UPDATE_OUTCOMES = SQL("UPDATE opinions SET outcome = $outcome WHERE sequence = ANY($sequences::bigint[])")
_INSERT_OPINION = SQL("""
    INSERT INTO opinions (
        left_id, right_id, author, name, verdict, kind, note, outcome, verdict_before, kind_before,
        name_before
    )
    VALUES (
        $left_id, $right_id, $author, $actor_name, $verdict, $kind, $note, $outcome, $verdict_before,
        $kind_before, $name_before
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
# Whose opinion waits is not told to others, nor what he said before it.
_LIST = SQL("""
    SELECT sequence, at, left_id, right_id, name, verdict, kind, note, outcome,
        verdict_before, kind_before, name_before,
        (SELECT title FROM books WHERE id = left_id) AS left_title,
        (SELECT title FROM books WHERE id = right_id) AS right_title
    FROM opinions
    WHERE ($before::bigint IS NULL OR sequence < $before)
        AND ($name::text IS NULL OR name = $name) AND ($after::timestamptz IS NULL OR at > $after)
        AND ($left_id::uuid IS NULL OR (left_id, right_id) = ($left_id, $right_id))
        AND ($book_id::uuid IS NULL OR $book_id IN (left_id, right_id))
        AND ($author::text IS NULL OR author = $author)
        AND (
            author = $reader OR outcome NOT IN ('waits', 'replaced', 'withdrawn') OR NOT EXISTS (
                SELECT FROM opinions AS waiting
                WHERE (waiting.left_id, waiting.right_id) = (opinions.left_id, opinions.right_id)
                    AND waiting.author = opinions.author AND waiting.outcome = 'waits'
            )
        )
    ORDER BY sequence DESC LIMIT $limit
""")
_COUNT_BY_NAME = SQL("""
    SELECT name, count(*) AS made FROM opinions WHERE outcome IN ('counts', 'waits', 'disagrees')
    GROUP BY name ORDER BY made DESC, name LIMIT $limit
""")


@dataclass(frozen=True, slots=True)
class NewOpinion:
    """What a person says of two books."""

    book_id: UUID
    other_id: UUID
    verdict: Opined
    kind: Kind | None = None  # where a person names it
    note: str | None = None
    instead_of: datetime | Literal["nothing", "anything"] = "anything"  # the decision there is, by its time

    @property
    def pair(self) -> tuple[UUID, UUID]:
        """Both books, the older one first."""
        return min(self.book_id, self.other_id), max(self.book_id, self.other_id)


@dataclass(frozen=True, slots=True)
class PastDecision:
    """An opinion in the history."""

    sequence: int  # in the order of writing
    at: datetime
    left_id: UUID
    right_id: UUID
    name: str | None  # of its author; None: not known
    verdict: Opined
    kind: Kind | None  # that was confirmed, or named; None: rejected or withdrawn
    note: str | None
    outcome: OpinionOutcome
    verdict_before: DecisionVerdict | None  # of the decision that counted until then
    kind_before: Kind | None
    name_before: str | None
    left_title: str | None  # as it is now; None: untitled, or the book is gone
    right_title: str | None


class HistoryFilter(NamedTuple):
    """The opinions to list; None means any."""

    name: str | None = None
    after: datetime | None = None
    pair: tuple[UUID, UUID] | None = None  # the older book first
    book_id: UUID | None = None  # either of the two
    author: str | None = None


class DecisionStore:
    """Writes decisions and reads their history; `needed` people have to agree on one."""

    def __init__(self, database: Database, needed: int = 1) -> None:
        self._database = database
        self._needed = needed

    async def insert(self, opinions: Sequence[NewOpinion], *, actor: Actor) -> list[OpinionOutcome]:
        """Store opinions on books as they are now, all or none, and say what became of each.

        One that counts is a decision in place of an earlier one, or the end of it. A confirmed kind is the
        one that the machine has found. Books that were never compared are compared soon. Raises
        `UnknownBook`, `NotCompared`, `NothingToConfirm`, `NoDecision`, `DecidedMeanwhile`, and
        `OtherCollection`.
        """
        pairs = sorted({opinion.pair for opinion in opinions})
        async with self._database.transaction() as connection:
            await rows(connection, _LOCK)
            books = await rows(
                connection, _READ_ENTRIES, book_ids=[book_id for pair in pairs for book_id in pair]
            )
            known = {row["id"]: row for row in books}
            outcomes = [await self._insert(connection, each, known, actor) for each in opinions]
            await update_reviews(connection, pairs)
            await update_clusters(connection, pairs)
        return outcomes

    async def list_history(
        self, wanted: HistoryFilter, reader: str, before: int | None, limit: int
    ) -> list[PastDecision]:
        """Up to `limit` opinions before a number, the newest first, as far as an author may see them."""
        left_id, right_id = wanted.pair or (None, None)
        values = wanted._asdict() | {"left_id": left_id, "right_id": right_id, "reader": reader}
        del values["pair"]
        values |= {"before": before, "limit": limit}
        return [PastDecision(**row) for row in await self._database.rows(_LIST, **values)]

    async def count_by_name(self, limit: int) -> dict[str | None, int]:
        """How many decisions each of up to `limit` people has made, those with most first."""
        return {row["name"]: row["made"] for row in await self._database.rows(_COUNT_BY_NAME, limit=limit)}

    async def _insert(
        self, connection: Connection, opinion: NewOpinion, known: dict[UUID, Row], actor: Actor
    ) -> OpinionOutcome:
        _require(opinion, known, actor)
        left_id, right_id = opinion.pair
        pair = {"left_id": left_id, "right_id": right_id}
        [before] = await rows(connection, _READ_PAIR, **pair)
        standing = await rows(connection, _READ_STANDING, **pair)
        own = [row["sequence"] for row in standing if row["author"] == actor.author]
        others = [row for row in standing if row["author"] != actor.author and row["outcome"] != "unsure"]
        if opinion.instead_of not in ("anything", before["decided_at"] or "nothing"):
            raise DecidedMeanwhile(*opinion.pair)
        kind = opinion.kind
        if opinion.verdict == "confirmed":
            if before["found"] is None:
                raise NothingToConfirm(opinion.book_id, opinion.other_id)
            kind = before["found"]
        agreed = [row["sequence"] for row in others if row["kind"] == (kind or "UNRELATED")]
        outcome: OpinionOutcome
        if opinion.verdict == "withdrawn":
            if before["verdict"] is None and not own:
                raise NoDecision(opinion.book_id, opinion.other_id)
            outcome = "withdrawn"
            if before["verdict"] is not None:
                own += [row["sequence"] for row in others]
                await rows(connection, _DELETE_DECISION, **pair, **actor_values(actor))
            else:
                await rows(connection, _AUDIT["withdrawn"], **pair, **actor_values(actor))
        elif opinion.verdict == "unsure":
            outcome = "unsure"
            await rows(connection, _AUDIT["proposed"], **pair, **actor_values(actor))
        elif len(agreed) + 1 >= self._needed:
            outcome = "counts"
            await rows(
                connection,
                _INSERT_DECISION,
                **pair,
                **actor_values(actor),
                left_entry=known[left_id]["entry_id"],
                right_entry=known[right_id]["entry_id"],
                verdict=opinion.verdict,
                kind=kind,
            )
            if before["found"] is None:
                await insert_relate_jobs(connection, [known[right_id]["entry_id"]])
            await rows(connection, _UPDATE_OUTCOMES, sequences=agreed, outcome="counts")
            own += [row["sequence"] for row in others if row["sequence"] not in agreed]
        else:
            outcome = "disagrees" if others else "waits"
            told = [row["sequence"] for row in others]
            await rows(connection, _UPDATE_OUTCOMES, sequences=told, outcome="disagrees")
            await rows(connection, _AUDIT["proposed"], **pair, **actor_values(actor))
        ended = "withdrawn" if outcome == "withdrawn" else "replaced"
        await rows(connection, _UPDATE_OUTCOMES, sequences=own, outcome=ended)
        await rows(
            connection,
            _INSERT_OPINION,
            **pair,
            **actor_values(actor),
            **asdict(opinion) | {"kind": kind, "author": actor.author, "outcome": outcome},
            verdict_before=before["verdict"],
            kind_before=before["kind"],
            name_before=before["decided_by"],
        )
        return outcome


def _require(opinion: NewOpinion, known: dict[UUID, Row], actor: Actor) -> None:
    """Raise unless both books are there, are two, and are the actor's to decide on."""
    both = opinion.book_id, opinion.other_id
    for book_id in both:
        if book_id not in known:
            raise UnknownBook(book_id)
    if opinion.book_id == opinion.other_id:
        raise NotCompared(*both)
    actor.require(*(known[book_id]["collection"] for book_id in both))
