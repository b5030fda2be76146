"""Reading clusters: their names, their books, and the best copy among these."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.stores.postgres.cluster_queries import (
    MOST_SIZE as MOST_SIZE,
    ClusterFilter as ClusterFilter,
    ClusterOrder as ClusterOrder,
    ClusterQueries,
    ListedCluster as ListedCluster,
    MeasuredCluster,
    Member as Member,
    Snapshot,
)
from app.stores.postgres.contents import StoredText
from app.stores.postgres.pairs.relation_queries import RelationQueries
from bookprint_core.clusters.best_copy import (
    BestCopy,
    CompleteCopies,
    Copy,
    best_copy,
    complete_copies,
    is_cleaner,
)
from bookprint_core.clusters.cluster_name import ClusterName
from bookprint_core.clusters.clustering import KINDS, By, Link, Pair, weakest_link
from bookprint_core.clusters.master_copy import MasterCopy, master_copy
from bookprint_core.errors import TextNotKept, UnknownBook, UnknownCluster
from bookprint_core.relations.related import RelationSummary


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """A page of a cluster's members, and figures of the whole cluster."""

    name: ClusterName  # after the oldest member
    size: int
    best: BestCopy
    weakest: Link | None  # None: one book, or more than `MOST_LINKED`
    members: Sequence[Member]  # oldest first
    more: bool  # more members follow


MOST_LINKED = 500
"""Maximum number of books of a cluster whose weakest link is computed; all their links are read."""


_MEASURED_AT_ONCE = 200
"""Number of clusters of each kind that are read from one snapshot."""


@dataclass(frozen=True, slots=True)
class ListedClusters:
    """A page of a list of clusters."""

    clusters: Sequence[ListedCluster]
    pending: int  # clusters that are still to be measured
    more: bool


class Clusters(ClusterQueries):
    """The clusters as clients see them."""

    async def read(
        self, name: ClusterName, after: UUID | None, limit: int, collection: str | None = None
    ) -> ClusterPage:
        """Return at most `limit` members after `after` of the cluster that a present or former member names.

        With a `collection`, lists only books of that collection. Raises `UnknownCluster`.
        """
        async with self.snapshot() as snapshot:
            return await _page(snapshot, await _present(snapshot, name), after, limit, collection)

    async def present_name(self, name: ClusterName) -> ClusterName:
        """Return the present name of the cluster of a present or former member; raises `UnknownCluster`."""
        async with self.snapshot() as snapshot:
            return await _present(snapshot, name)

    async def of_book(
        self, book_id: UUID, by: By, after: UUID | None, limit: int, collection: str | None = None
    ) -> ClusterPage:
        """Return a page of the cluster that contains a book; raises `UnknownBook`."""
        async with self.snapshot() as snapshot:
            founder = await snapshot.read_founder(by, book_id)
            if founder is None or not await snapshot.has_book(book_id):
                raise UnknownBook(book_id)
            return await _page(snapshot, ClusterName(by, founder), after, limit, collection)

    async def list_clusters(self, by: By, wanted: ClusterFilter, limit: int) -> ListedClusters:
        """Return at most `limit` clusters of two books or more."""
        async with self.snapshot() as snapshot:
            found = await snapshot.list_clusters(by, wanted, limit + 1)
            pending = await snapshot.count_unmeasured(by)
        return ListedClusters(found[:limit], pending, len(found) > limit)

    async def relations_between(self, books: Collection[UUID]) -> Mapping[Pair, RelationSummary]:
        """Return the effective relations between these books, by their pairs."""
        async with self.snapshot() as snapshot:
            return await snapshot.read_relations(books)

    async def neighbours(self, name: ClusterName, book_id: UUID) -> list[UUID]:
        """Return the books whose relations join a book to its cluster, decided relations first."""
        async with self.snapshot() as snapshot:
            present = await _present(snapshot, name)
            links = await snapshot.list_links(present.by, present.book_id)
        pairs = [(link.left, link.right) for link in links]
        return [right if left == book_id else left for left, right in pairs if book_id in (left, right)]

    async def measure(self) -> int:
        """Measure some clusters that have changed, and return their number."""
        count = 0
        for by in KINDS:
            async with self.snapshot() as snapshot:
                unmeasured = await snapshot.list_unmeasured(by, _MEASURED_AT_ONCE)
                measured = {
                    founder: _measured(written_by, await _figures(snapshot, ClusterName(by, founder)))
                    for founder, written_by in unmeasured.items()
                }
            for founder, figures in measured.items():
                await self.update_figures(by, founder, figures)
            count += len(unmeasured)
        return count


def _measured(written_by: int, figures: "_Figures") -> MeasuredCluster:
    return MeasuredCluster(
        written_by,
        agreement=None if figures.weakest is None else figures.weakest.share,
        kinds=dict(Counter(link.kind for link in figures.links)) if figures.links else None,
        best=figures.best.book_id,
    )


async def _present(snapshot: Snapshot, name: ClusterName) -> ClusterName:
    founder = await snapshot.read_founder(name.by, name.book_id)
    if founder is None:
        raise UnknownCluster(str(name))
    return ClusterName(name.by, founder)


async def _page(
    snapshot: Snapshot, name: ClusterName, after: UUID | None, limit: int, collection: str | None
) -> ClusterPage:
    members = await snapshot.list_members(name.by, name.book_id, after, limit + 1, collection)
    figures = await _figures(snapshot, name)
    return ClusterPage(
        name, figures.size, figures.best, figures.weakest, members[:limit], len(members) > limit
    )


@dataclass(frozen=True, slots=True)
class _Figures:
    """Values computed for the whole cluster."""

    size: int
    best: BestCopy
    links: Sequence[Link]  # empty: one book, or more than `MOST_LINKED`
    weakest: Link | None


async def _figures(snapshot: Snapshot, name: ClusterName) -> _Figures:
    copies = await snapshot.list_copies(name.by, name.book_id)
    texts = None if name.by == "same_text" else await _texts(snapshot, copies)
    best = await _best(snapshot, complete_copies(copies, texts))
    links = await snapshot.list_links(name.by, name.book_id) if 1 < len(copies) <= MOST_LINKED else []
    weakest = await asyncio.to_thread(weakest_link, links)
    return _Figures(len(copies), best, links, weakest)


async def _texts(snapshot: Snapshot, copies: Sequence[Copy]) -> Mapping[UUID, UUID]:
    """Return, for each book, the oldest book with the same text."""
    return await snapshot.read_founders("same_text", [copy.book_id for copy in copies])


async def _best(snapshot: Snapshot, complete: CompleteCopies) -> BestCopy:
    agreement = await snapshot.read_agreement("same_text", [copy.book_id for copy in complete.copies])
    return best_copy(complete, agreement)


MOST_COPIES = 10
"""Maximum number of copies that vote, including the best copy."""

MOST_LEFT_OUT = 100
"""Maximum number of books listed as left out."""

_OTHER_TEXT = "It is neither a copy of the best copy nor a part of it."
_NO_TEXT = "Its text is not kept."
_TOO_MANY = f"At most {MOST_COPIES} copies vote: those whose pages agree best with other copies."
_NO_MATCH = "None of its pages matches a page of the best copy."


@dataclass(frozen=True, slots=True)
class VotingCopy:
    """A copy that votes on the text of the master copy."""

    book_id: UUID
    pages: int  # that match pages of the best copy; for the best copy, all


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A book of the cluster that does not vote, and the reason in one sentence."""

    book_id: UUID
    because: str


@dataclass(frozen=True, slots=True)
class MasterCopyRead:
    """Some pages of the master copy of a cluster, and the copies that voted on them."""

    name: ClusterName
    best: BestCopy
    labels: Sequence[str | None]  # page labels of the best copy; empty if none is known
    copies: Sequence[VotingCopy]  # the best copy first
    left_out: Sequence[LeftOut]  # at most `MOST_LEFT_OUT`
    master: MasterCopy


@dataclass(frozen=True, slots=True)
class _Electorate:
    best: BestCopy
    others: Sequence[UUID]
    cleaner: Collection[int]  # indexes into `others`
    left_out: Sequence[LeftOut]
    texts: Mapping[UUID, StoredText]


class MasterCopies:
    """Service that computes master copies of clusters, anew for each request."""

    def __init__(self, clusters: ClusterQueries, related: RelationQueries) -> None:
        self._clusters = clusters
        self._related = related

    async def read(self, name: ClusterName, pages: range) -> MasterCopyRead:
        """Return the master copy's pages in this range; numbers count from 0, and missing pages are left out.

        In a cluster of related books the text is that of most books. Its copies vote on all pages, its parts
        on the pages that they contain. Raises `UnknownCluster`, and `TextNotKept` if no text is stored.
        """
        async with self._clusters.snapshot() as snapshot:
            name = await _present(snapshot, name)
            electorate = await self._electorate(snapshot, name)
        best, *others = (electorate.texts[each] for each in (electorate.best.book_id, *electorate.others))
        master = await asyncio.to_thread(_made, best, others, pages, electorate.cleaner)
        voting = [VotingCopy(electorate.best.book_id, master.page_count)]
        left_out = list(electorate.left_out)
        for book_id, matched in zip(electorate.others, master.matched, strict=True):
            if matched:
                voting.append(VotingCopy(book_id, matched))
            else:
                left_out.append(LeftOut(book_id, _NO_MATCH))
        return MasterCopyRead(
            name, electorate.best, best.page_labels, voting, left_out[:MOST_LEFT_OUT], master
        )

    async def _electorate(self, snapshot: Snapshot, name: ClusterName) -> _Electorate:
        members = await snapshot.list_copies(name.by, name.book_id)
        with_text = await snapshot.list_with_text([member.book_id for member in members])
        if not with_text:
            raise TextNotKept(f"The text of every book in the cluster {name}", "id")
        copies = await _most_copied(snapshot, [member for member in members if member.book_id in with_text])
        best = await _best(snapshot, complete_copies(copies))
        ids = sorted(member.book_id for member in members if member.book_id != best.book_id)
        entitled = await self._entitled(snapshot, best.book_id, ids)
        agreement = await snapshot.read_agreement(name.by, ids)
        able = sorted(entitled & with_text, key=lambda each: (-agreement.get(each, 0.0), each))
        others = able[: MOST_COPIES - 1]
        left_out = [
            LeftOut(
                each, _OTHER_TEXT if each not in entitled else _TOO_MANY if each in with_text else _NO_TEXT
            )
            for each in ids
            if each not in others
        ]
        known = {member.book_id: member for member in members}
        cleaner = [place for place, each in enumerate(others) if is_cleaner(known[each], known[best.book_id])]
        texts = await snapshot.read_texts([best.book_id, *others])
        return _Electorate(best, others, cleaner, left_out, texts)

    async def _entitled(self, snapshot: Snapshot, best: UUID, others: Sequence[UUID]) -> set[UUID]:
        """Return the other members that are copies or parts of the best copy."""
        founders = await snapshot.read_founders("same_text", [best, *others])
        copies = {each for each in others if founders[each] == founders[best]}
        rest = [each for each in others if each not in copies]
        summaries = await self._related.read_summaries(best, rest) if rest else {}
        return copies | {each for each, summary in summaries.items() if summary.direction == "contains"}


async def _most_copied(snapshot: Snapshot, members: Sequence[Copy]) -> list[Copy]:
    """Return the copies of the most frequent text; among equally frequent texts, of the longest."""
    founders = await _texts(snapshot, members)
    texts: dict[UUID, list[Copy]] = defaultdict(list)
    for member in members:
        texts[founders[member.book_id]].append(member)
    return max(texts.values(), key=lambda copies: (len(copies), max(copy.character_count for copy in copies)))


def _made(
    best: StoredText, others: Sequence[StoredText], pages: range, cleaner: Collection[int]
) -> MasterCopy:
    return master_copy(best.content(), [other.content() for other in others], pages, cleaner)
