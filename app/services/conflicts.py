"""Metadata conflicts: books that share an ISBN or a title but no text, and copies under different ISBNs.

Hundreds of books that share an ISBN form tens of thousands of pairs. Therefore the examined books of a group
and the pairs of a request are limited. The answer contains a place to continue.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import assert_never
from uuid import UUID

from app.catalog.similarity import agreement, shared_isbns
from app.stores.postgres.conflicts import ConflictSnapshot
from app.stores.postgres.connections import Database
from bookprint_core.clusters.clustering import Pair
from bookprint_core.matching.conflicts import (
    ConflictBook,
    ConflictBy,
    ConflictPlace,
    MetadataConflict,
    Sharing,
    are_unrelated,
)
from bookprint_core.matching.verification import evidence
from bookprint_core.relations.related import RelationSummary

MOST_EXAMINED = 50
"""Maximum number of examined books of a group."""

_MOST_PAIRS = 20_000
"""Number of pairs after which a request ends."""

_GROUPS_AT_ONCE = 100
_COPIES_AT_ONCE = 2_000

_LAST = UUID(int=2**128 - 1)
_BEGINNING = ConflictPlace(-(2**63), UUID(int=0), UUID(int=0))


@dataclass(frozen=True, slots=True)
class CutGroup:
    """A group whose books were not all examined."""

    shared: str  # what the books share: isbn:…, or a title
    size: int
    examined: int


@dataclass(frozen=True, slots=True, eq=False)
class ConflictPage:
    """One page of conflicts."""

    conflicts: Sequence[MetadataConflict]
    cut: Sequence[CutGroup]  # groups on this page
    next: ConflictPlace | None  # None: no more follow


@dataclass(frozen=True, slots=True)
class _Step:
    """Pairs to examine."""

    key: int
    pairs: Sequence[Pair]  # ascending
    read: int  # number of pairs that were read to find `pairs`
    end: ConflictPlace  # after all pairs
    group: Sharing | None  # None: copies without a group


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """Books of some steps, with their relations."""

    books: Mapping[UUID, ConflictBook]
    relations: Mapping[Pair, RelationSummary]


class Conflicts:
    """Finder of metadata conflicts in the present catalogue."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_conflicts(
        self, by: ConflictBy, after: ConflictPlace | None, limit: int, collection: str | None = None
    ) -> ConflictPage:
        """Return at most `limit` conflicts after a place, in the order of their groups, then of their books.

        With a `collection`, returns only conflicts of its books. A page may have fewer conflicts, even 0,
        although more follow.
        """
        place, read = after or _BEGINNING, 0
        found: list[MetadataConflict] = []
        cut: list[CutGroup] = []
        async with self._database.snapshot() as connection:
            snapshot = ConflictSnapshot(connection)
            while True:
                steps, more = await _next_steps(snapshot, by, place)
                ids = {book_id for step in steps for pair in step.pairs for book_id in pair}
                facts = _Facts(await snapshot.read_books(ids), await snapshot.read_relations(ids))
                for step in steps:
                    if step.end <= place:
                        continue
                    conflicts = await asyncio.to_thread(_conflicts_of, by, step, facts)
                    conflicts = [
                        each
                        for each in conflicts
                        if _place(step, each) > place and _concerns(each, collection)
                    ]
                    room = limit - len(found)
                    if conflicts and not room:
                        return ConflictPage(found, cut, place)
                    found += await _with_names(snapshot, by, conflicts[:room])
                    if step.group and step.group.size > len(step.group.examined):
                        cut.append(_cut(by, step.group, facts))
                    if len(conflicts) > room:
                        return ConflictPage(found, cut, _place(step, conflicts[room - 1]))
                    place, read = step.end, read + step.read
                    if read > _MOST_PAIRS:
                        return ConflictPage(found, cut, place)
                if not more:
                    return ConflictPage(found, cut, None)


async def _next_steps(
    snapshot: ConflictSnapshot, by: ConflictBy, place: ConflictPlace
) -> tuple[list[_Step], bool]:
    """Return the next steps, and whether more steps follow."""
    if by == "text":
        copies = await snapshot.list_copies(place, _COPIES_AT_ONCE)
        pairs = [pair for pair, differ in copies.items() if differ]
        steps = [_Step(0, pairs, len(copies), ConflictPlace(0, *list(copies)[-1]), None)] if copies else []
        return steps, len(copies) == _COPIES_AT_ONCE
    groups = await snapshot.list_groups(by, place.key, _GROUPS_AT_ONCE, MOST_EXAMINED)
    return list(map(_step, groups)), len(groups) == _GROUPS_AT_ONCE


def _step(group: Sharing) -> _Step:
    pairs = list(combinations(sorted(set(group.examined)), 2))
    return _Step(group.key, pairs, len(pairs), ConflictPlace(group.key, _LAST, _LAST), group)


def _conflicts_of(by: ConflictBy, step: _Step, facts: _Facts) -> list[MetadataConflict]:
    """Return the conflicts of a step, in the order of its pairs."""
    judged = (
        _conflict(by, step.key, facts.books[left], facts.books[right], facts.relations.get((left, right)))
        for left, right in step.pairs
    )
    return [conflict for conflict in judged if conflict is not None]


def _conflict(
    by: ConflictBy, key: int, left: ConflictBook, right: ConflictBook, relation: RelationSummary | None
) -> MetadataConflict | None:
    """Return the conflict of two books of a group, or of two copies; None if they do not conflict."""
    metadata = agreement(left.metadata, right.metadata)
    match by:
        case "isbn":
            # Books that share several ISBNs are in several groups; only the first counts.
            suspicious = shared_isbns(left.metadata, right.metadata)[:1] == [str(key)]
        case "title":
            suspicious = not {"authors", "volume"}.intersection(metadata.contradicts)
        case "text":
            suspicious = "isbn" in metadata.contradicts
        case _:
            assert_never(by)
    if not suspicious:
        return None
    measured = evidence(left.summary.entry, right.summary.entry)
    conflict = MetadataConflict(left, right, metadata.agrees, metadata.contradicts, measured, relation)
    if by == "text":
        return replace(conflict, agrees=["text", *metadata.agrees])
    if not are_unrelated(left, right, relation, measured):
        return None
    return replace(conflict, contradicts=["text", *metadata.contradicts])


async def _with_names(
    snapshot: ConflictSnapshot, by: ConflictBy, conflicts: Sequence[MetadataConflict]
) -> list[MetadataConflict]:
    """Return the conflicts with another name of each text; a conflict by text already has both names."""
    if by == "text" or not conflicts:
        return list(conflicts)
    sides = {side.summary.book_id for each in conflicts for side in (each.left, each.right)}
    copies = await snapshot.list_named_copies(sides)

    def named(book: ConflictBook) -> ConflictBook:
        others = (
            copy
            for copy in copies.get(book.summary.book_id, ())
            if "title" in agreement(book.metadata, copy.metadata).contradicts
        )
        return replace(book, text_under=next(others, None))

    return [replace(each, left=named(each.left), right=named(each.right)) for each in conflicts]


def _concerns(conflict: MetadataConflict, collection: str | None) -> bool:
    return collection in (None, conflict.left.metadata.collection, conflict.right.metadata.collection)


def _place(step: _Step, conflict: MetadataConflict) -> ConflictPlace:
    return ConflictPlace(step.key, conflict.left.summary.book_id, conflict.right.summary.book_id)


def _cut(by: ConflictBy, group: Sharing, facts: _Facts) -> CutGroup:
    title = facts.books[group.examined[0]].metadata.title
    return CutGroup(f"isbn:{group.key}" if by == "isbn" else title or "", group.size, len(group.examined))
