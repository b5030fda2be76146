"""Reading clusters: which books belong together, under which name, and which of them to keep."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.core.clusters.best_copy import (
    BestCopy,
    Copy,
    best_copy,
    best_of_related,
    complete_copies,
    fullest_copy,
)
from app.core.clusters.cluster_name import ClusterName
from app.core.clusters.clustering import By
from app.core.errors import UnknownBook, UnknownCluster
from app.core.model import Member
from app.stores.postgres.clusters.cluster_queries import ClusterQueries, Snapshot


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """A page of a cluster's members, and figures of the whole cluster."""

    name: ClusterName  # after the oldest member
    size: int
    best: BestCopy
    members: Sequence[Member]  # oldest first
    more: bool  # others follow


class Clusters:
    """The clusters as clients see them."""

    def __init__(self, clusters: ClusterQueries) -> None:
        self._clusters = clusters

    async def read(self, name: ClusterName, after: UUID | None, limit: int) -> ClusterPage:
        """Up to `limit` members behind `after` of the cluster that any of its members, or former ones, names.

        Raises `UnknownCluster`.
        """
        async with self._clusters.snapshot() as snapshot:
            founder = await snapshot.read_founder(name.by, name.book_id)
            if founder is None:
                raise UnknownCluster(str(name))
            return await _page(snapshot, ClusterName(name.by, founder), after, limit)

    async def present_name(self, name: ClusterName) -> ClusterName:
        """The name of the cluster that any of its members, or former ones, names; raises `UnknownCluster`."""
        async with self._clusters.snapshot() as snapshot:
            founder = await snapshot.read_founder(name.by, name.book_id)
        if founder is None:
            raise UnknownCluster(str(name))
        return ClusterName(name.by, founder)

    async def of_book(self, book_id: UUID, by: By, after: UUID | None, limit: int) -> ClusterPage:
        """Up to `limit` members behind `after` of the cluster that a book is in; raises `UnknownBook`."""
        async with self._clusters.snapshot() as snapshot:
            founder = await snapshot.read_founder(by, book_id)
            if founder is None or not await snapshot.has_book(book_id):
                raise UnknownBook(book_id)
            return await _page(snapshot, ClusterName(by, founder), after, limit)


async def _page(snapshot: Snapshot, name: ClusterName, after: UUID | None, limit: int) -> ClusterPage:
    members = await snapshot.list_members(name.by, name.book_id, after, limit + 1)
    copies = await snapshot.list_copies(name.by, name.book_id)
    if name.by == "same_text":
        best = await best_of(snapshot, copies)
    else:
        same = await _copies_of_fullest(snapshot, copies)
        best = best_of_related(await best_of(snapshot, same), len(copies))
    return ClusterPage(name, len(copies), best, members[:limit], len(members) > limit)


async def best_of(snapshot: Snapshot, copies: Sequence[Copy]) -> BestCopy:
    """The best of some copies of one text."""
    candidates = complete_copies(copies)
    agreement = await snapshot.read_agreement("same_text", [copy.book_id for copy in candidates.copies])
    return best_copy(candidates, agreement)


async def _copies_of_fullest(snapshot: Snapshot, copies: Sequence[Copy]) -> list[Copy]:
    """Those of related books that have the text of the fullest one."""
    founder = await snapshot.read_founder("same_text", fullest_copy(copies).book_id)
    assert founder is not None
    same = await snapshot.list_copies("same_text", founder)
    within = set(copies)
    return [copy for copy in same if copy in within]
