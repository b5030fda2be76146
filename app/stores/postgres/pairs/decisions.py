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

from sqlalchemy import BindParameter, Boolean, bindparam, exists, literal_column, select

from app.core.errors import DecidedMeanwhile, NoDecision, NotCompared, NothingToConfirm, UnknownBook
from app.core.relations.classification import Kind
from app.core.relations.related import DecisionVerdict
from app.stores.postgres.audit import Actor, actor_values, insert_entries
from app.stores.postgres.changes import insert_pair_changes, insert_withdrawals
from app.stores.postgres.clusters import update_clusters
from app.stores.postgres.connections import SQL, ConditionalSQL, Connection, Database, Row, rows
from app.stores.postgres.jobs import insert_relate_jobs
from app.stores.postgres.pairs.reviews import update_reviews
from app.stores.postgres.pairs.schema import opinions
from app.stores.postgres.schema import books

Opined = DecisionVerdict | Literal["withdrawn", "undone", "unsure"]
"""What a person says of two books: a verdict, that the machine's finding holds, that what was said before the
last opinion holds, or that he cannot tell."""

OpinionOutcome = Literal["counts", "waits", "disagrees", "replaced", "withdrawn", "undone", "unsure"]
"""It counts, or did; waits for another; others disagree with it; its author or others have replaced it; it
was taken back, or took all back; or it has undone another."""

_LOCK = SQL("SELECT pg_advisory_xact_lock(1684366185)")
"""Held by the one transaction that decides, before all its other locks; the number is "deci" in ASCII."""

_READ_ENTRIES = SQL(
    "SELECT id, entry_id, collection FROM books WHERE id = ANY($book_ids::uuid[]) ORDER BY id FOR KEY SHARE"
)
_READ_PAIR = SQL("""
    SELECT relations.kind AS found, decisions.decided_at, (
        SELECT max(sequence) FROM opinions
        WHERE (opinions.left_id, opinions.right_id) = (decisions.left_id, decisions.right_id)
            AND at = decisions.decided_at AND outcome = 'counts'
    ) AS opinion
    FROM (VALUES ($left_id::uuid, $right_id::uuid)) AS pair (left_id, right_id)
    LEFT JOIN relations USING (left_id, right_id)
    LEFT JOIN decisions USING (left_id, right_id)
""")
_READ_STANDING = SQL("""
    SELECT sequence, at, author, outcome, coalesce(kind, 'UNRELATED') AS kind FROM opinions
    WHERE left_id = $left_id AND right_id = $right_id AND outcome IN ('waits', 'disagrees', 'unsure')
""")
# An opinion with those that it ended: they came to count with it, or were replaced by it.
_READ_ENDED = SQL("""
    SELECT sequence, at, author, outcome FROM opinions
    WHERE left_id = $left_id AND right_id = $right_id AND $sequence IN (sequence, ended_by)
        AND outcome IN ('counts', 'replaced')
""")
_END = SQL("""
    UPDATE opinions SET outcome = $outcome, ended_by = $ended_by WHERE sequence = ANY($sequences::bigint[])
""")
_REVIVE = SQL("""
    UPDATE opinions SET outcome = CASE verdict WHEN 'unsure' THEN 'unsure' ELSE 'waits' END, ended_by = NULL
    WHERE sequence = ANY($sequences::bigint[]) AND NOT EXISTS (
        SELECT FROM opinions AS later
        WHERE (later.left_id, later.right_id) = (opinions.left_id, opinions.right_id)
            AND later.author = opinions.author AND later.sequence > opinions.sequence
            AND later.outcome IN ('counts', 'waits', 'disagrees', 'unsure')
    )
""")
_UPDATE_WAITING = SQL("""
    UPDATE opinions SET outcome = CASE WHEN kinds > 1 THEN 'disagrees' ELSE 'waits' END
    FROM (
        SELECT count(DISTINCT coalesce(kind, 'UNRELATED')) AS kinds FROM opinions
        WHERE left_id = $left_id AND right_id = $right_id AND outcome IN ('waits', 'disagrees')
    ) AS said
    WHERE left_id = $left_id AND right_id = $right_id AND outcome IN ('waits', 'disagrees')
""")
_INSERT_OPINION = SQL("""
    INSERT INTO opinions (
        left_id, right_id, left_entry, right_entry, author, name, verdict, kind, note, outcome, before
    )
    VALUES (
        $left_id, $right_id, $left_entry, $right_entry, $author, $actor_name, $verdict, $kind, $note,
        $outcome, $before
    )
    RETURNING sequence
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
        FROM opinions AS undone JOIN opinions AS earlier ON earlier.sequence = undone.before
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
_EARLIER, _WAITING = opinions.alias("earlier"), opinions.alias("waiting")
_BOOK: BindParameter[UUID] = bindparam("book_id")
# Whose opinion waits is not told to others, nor what he said before it.
_HIDDEN = literal_column("opinions.outcome IN ('waits', 'replaced', 'withdrawn', 'undone')", Boolean())
_LIST = ConditionalSQL(
    select(
        *(opinions.c[name] for name in ("sequence", "at", "left_id", "right_id", "name", "verdict", "kind")),
        *(opinions.c.note, opinions.c.outcome, (opinions.c.author == bindparam("reader")).label("own")),
        *(_EARLIER.c[name].label(f"{name}_before") for name in ("verdict", "kind", "name")),
        *(
            select(books.c.title).where(books.c.id == opinions.c[f"{side}_id"]).label(f"{side}_title")
            for side in ("left", "right")
        ),
    )
    .select_from(opinions.outerjoin(_EARLIER, _EARLIER.c.sequence == opinions.c.before))
    .where(
        (opinions.c.author == bindparam("reader"))
        | ~_HIDDEN
        | ~exists().where(
            _WAITING.c.left_id == opinions.c.left_id,
            _WAITING.c.right_id == opinions.c.right_id,
            _WAITING.c.author == opinions.c.author,
            _WAITING.c.outcome == literal_column("'waits'"),
        )
    )
    .order_by(opinions.c.sequence.desc())
    .limit(bindparam("limit")),
    {
        "before": opinions.c.sequence < bindparam("before"),
        "name": opinions.c.name == bindparam("name"),
        "after": opinions.c.at > bindparam("after"),
        "left_id": opinions.c.left_id == bindparam("left_id"),
        "right_id": opinions.c.right_id == bindparam("right_id"),
        "book_id": (opinions.c.left_id == _BOOK) | (opinions.c.right_id == _BOOK),
        "author": opinions.c.author == bindparam("author"),
    },
)
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
    instead_of: datetime | Literal["nothing", "anything"] = "anything"
    """The decision there is, by its time; of what is undone, the decision or one's own opinion."""

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
    own: bool  # the reader is its author


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
        async with self._database.session() as connection:
            return [PastDecision(**row) for row in await rows(connection, _LIST.given(values), **values)]

    async def count_by_name(self, limit: int) -> dict[str | None, int]:
        """How many decisions each of up to `limit` people has made, those with most first."""
        return {row["name"]: row["made"] for row in await self._database.rows(_COUNT_BY_NAME, limit=limit)}

    async def _insert(
        self, connection: Connection, opinion: NewOpinion, known: dict[UUID, Row], actor: Actor
    ) -> OpinionOutcome:
        _require(opinion, known, actor)
        left_id, right_id = opinion.pair
        pair = {"left_id": left_id, "right_id": right_id}
        entries = {"left_entry": known[left_id]["entry_id"], "right_entry": known[right_id]["entry_id"]}
        [before] = await rows(connection, _READ_PAIR, **pair)
        standing = await rows(connection, _READ_STANDING, **pair)
        own = [row["sequence"] for row in standing if row["author"] == actor.author]
        others = [row for row in standing if row["author"] != actor.author and row["outcome"] != "unsure"]
        expected = ("anything", before["decided_at"] or "nothing")
        if opinion.verdict != "undone" and opinion.instead_of not in expected:
            raise DecidedMeanwhile(*opinion.pair)
        kind = opinion.kind
        if opinion.verdict == "confirmed":
            if before["found"] is None:
                raise NothingToConfirm(opinion.book_id, opinion.other_id)
            kind = before["found"]
        agreed = [row["sequence"] for row in others if row["kind"] == (kind or "UNRELATED")]
        outcome: OpinionOutcome
        if opinion.verdict == "undone":
            outcome, own = "undone", []
            await _undo(connection, opinion, before, standing, actor)
        elif opinion.verdict == "withdrawn":
            if before["decided_at"] is None and not own:
                raise NoDecision(opinion.book_id, opinion.other_id)
            outcome = "withdrawn"
            if before["decided_at"] is not None:
                ended = await rows(connection, _READ_ENDED, **pair, sequence=before["opinion"])
                own += [row["sequence"] for row in others]
                own += [row["sequence"] for row in ended if row["outcome"] == "counts"]
                await rows(connection, _DELETE_DECISION, **pair, **actor_values(actor))
            else:
                await rows(connection, _AUDIT["withdrawn"], **pair, **actor_values(actor))
        elif opinion.verdict == "unsure":
            outcome = "unsure"
            await rows(connection, _AUDIT["proposed"], **pair, **actor_values(actor))
        elif len(agreed) + 1 >= self._needed:
            outcome = "counts"
            values = entries | {"verdict": opinion.verdict, "kind": kind}
            await rows(connection, _INSERT_DECISION, **pair, **values, **actor_values(actor))
            if before["found"] is None:
                await insert_relate_jobs(connection, [known[right_id]["entry_id"]])
            own += [row["sequence"] for row in others if row["sequence"] not in agreed]
        else:
            outcome = "disagrees" if others else "waits"
            await rows(connection, _AUDIT["proposed"], **pair, **actor_values(actor))
        [written] = await rows(
            connection,
            _INSERT_OPINION,
            **pair,
            **entries,
            **actor_values(actor),
            **asdict(opinion) | {"kind": kind, "author": actor.author, "outcome": outcome},
            before=before["opinion"],
        )
        if outcome == "counts":
            await rows(connection, _END, sequences=agreed, outcome="counts", ended_by=written["sequence"])
        ended_as = "withdrawn" if outcome == "withdrawn" else "replaced"
        await rows(connection, _END, sequences=own, outcome=ended_as, ended_by=written["sequence"])
        await rows(connection, _UPDATE_WAITING, **pair)
        return outcome


async def _undo(
    connection: Connection, opinion: NewOpinion, before: Row, standing: Sequence[Row], actor: Actor
) -> None:
    """Take the actor's opinion back that does not count yet, else the decision, and restore what was before.

    Of several people who agreed, the actor's opinion is taken back and those of the others wait again; where
    none is the actor's, all are taken back.
    """
    pair = dict(zip(("left_id", "right_id"), opinion.pair, strict=True))
    for row in standing:
        if row["author"] == actor.author and opinion.instead_of in ("anything", "nothing", row["at"]):
            undone, taken = row["sequence"], [row]
            ended = await rows(connection, _READ_ENDED, **pair, sequence=undone)
            await rows(connection, _AUDIT["withdrawn"], **pair, **actor_values(actor))
            break
    else:
        if before["decided_at"] is None and opinion.instead_of in ("anything", "nothing"):
            raise NoDecision(opinion.book_id, opinion.other_id)
        undone = before["opinion"]
        ended = await rows(connection, _READ_ENDED, **pair, sequence=undone)
        agreed = [row for row in ended if row["outcome"] == "counts"]
        taken = [row for row in agreed if row["author"] == actor.author] or agreed
        if opinion.instead_of not in ("anything", before["decided_at"], *(row["at"] for row in taken)):
            raise DecidedMeanwhile(*opinion.pair)
        values = pair | actor_values(actor)
        if not await rows(connection, _RESTORE_DECISION, **values, undone=undone):
            await rows(connection, _DELETE_DECISION, **values)
    taken_back = [row["sequence"] for row in taken]
    await rows(connection, _END, sequences=taken_back, outcome="withdrawn", ended_by=None)
    left = [row["sequence"] for row in ended if row["sequence"] not in taken_back]
    await rows(connection, _REVIVE, sequences=left)


def _require(opinion: NewOpinion, known: dict[UUID, Row], actor: Actor) -> None:
    """Raise unless both books are there, are two, and are the actor's to decide on."""
    both = opinion.book_id, opinion.other_id
    for book_id in both:
        if book_id not in known:
            raise UnknownBook(book_id)
    if opinion.book_id == opinion.other_id:
        raise NotCompared(*both)
    actor.require(*(known[book_id]["collection"] for book_id in both))
