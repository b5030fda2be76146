"""The band indexes of all suites, in one Redis and under one epoch.

Suites that share a MinHash or a shingle sample recipe share its posting lists; bands and roll are each one's
own.
"""

from collections.abc import Collection, Mapping, Sequence

from app.core.model import Entry
from app.core.recipe import Suite
from app.stores.redis.band_index import BandIndex
from app.stores.redis.epoch import Epoch
from app.stores.redis.nodes import Nodes


class Indexes:
    """The band index of each suite."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.epoch = Epoch(nodes)
        self._indexes: dict[Suite, BandIndex] = {}

    def of(self, suite: Suite) -> BandIndex:
        """The index of one suite."""
        if suite not in self._indexes:
            self._indexes[suite] = BandIndex(self.nodes, suite)
        return self._indexes[suite]

    async def add(self, versions: Mapping[Suite, Entry]) -> None:
        """Write an entry into the index of each suite; raises as `BandIndex.add` does."""
        for suite, entry in versions.items():
            await self.of(suite).add([entry])

    async def remove(self, versions: Mapping[Suite, Entry]) -> None:
        """Take an entry out of the index of each suite."""
        for suite, entry in versions.items():
            await self.of(suite).remove([entry])


def own_postings(suites: Sequence[Suite]) -> list[tuple[Suite, Collection[str]]]:
    """Each suite, and of the recipes of its posting lists those that no suite before it has."""
    known: set[str] = set()
    shares: list[tuple[Suite, Collection[str]]] = []
    for suite in suites:
        own = {suite.minhash, suite.sample} - known
        known |= own
        shares.append((suite, own))
    return shares
