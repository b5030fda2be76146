"""The band indexes of all suites, in one Redis.

Suites that share a fingerprint recipe share its bands, and those that share a FracMinHash recipe its posting
list; the flat index is each one's own.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product

from app.core.errors import BookprintError
from app.core.model import Entry
from app.core.recipe import FINGERPRINT_RECIPES, SAMPLE_RECIPES, Suite, Suites
from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import RedisClient
from app.stores.redis.epoch import Epochs
from app.stores.redis.keys import FOREIGN, epoch_keys


class Indexes:
    """The band index of each suite."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client
        self._indexes: dict[Suite, BandIndex] = {}

    def of(self, suite: Suite) -> BandIndex:
        if suite not in self._indexes:
            self._indexes[suite] = BandIndex(self._client, suite)
        return self._indexes[suite]

    def epochs(self, suite: Suite, parts: Collection[str]) -> Epochs:
        """The epochs of a suite's flat index, and of its bands and posting list where `parts` names them."""
        return Epochs(self._client, epoch_keys(suite, parts))

    async def insert(self, books: Sequence[Mapping[Suite, Entry]], serving: Suite) -> None:
        """Write the entries of each book into the index of each suite; raises as `BandIndex.insert` does.

        Only the suite that serves has an epoch to rely on.
        """
        for suite in books[0] if books else ():
            entries = [versions[suite] for versions in books]
            is_serving = suite == serving
            await self.of(suite).insert(entries, missing=not is_serving, guarded=is_serving)

    async def delete(self, versions: Mapping[Suite, Entry]) -> None:
        for suite, entry in versions.items():
            await self.of(suite).delete([entry])

    async def delete_unindexed(self, suites: Suites) -> None:
        """Remove what there is of suites that are not indexed any more."""
        used = frozenset().union(*(suite.parts for suite in suites.indexed))
        names = [name for name, recipe in FINGERPRINT_RECIPES.items() if recipe.indexable]
        for fingerprint, sample in product(names, SAMPLE_RECIPES):
            suite = replace(suites.serving, fingerprint=fingerprint, sample=sample)
            if suite not in suites.indexed and await self.of(suite).flat_index.has_segments():
                await self.epochs(suite, suite.parts - used).end()
                await self.of(suite).delete_all(suite.parts - used)

    async def delete_foreign(self) -> None:
        """Remove what an earlier version of Bookprint has left under keys of another form."""
        for pattern in FOREIGN:
            async for keys in self._client.names(pattern):
                await self._client.run([("UNLINK", key) for key in keys])

    async def ping(self) -> None:
        """Raises `Unavailable` if Redis, or a node of the cluster, does not answer."""
        await self._client.ping()

    async def require_noeviction(self) -> None:
        """Raise BookprintError where Redis, or a node of the cluster, may drop keys to make room.

        It counts what the policy says, not whether `maxmemory` is set: that can change at any moment.
        """
        if evicting := sorted(await self._client.eviction_policies() - {"noeviction"}):
            raise BookprintError(
                f"Redis may drop books from the band index when its memory is full (maxmemory-policy "
                f"{', '.join(evicting)}). Set maxmemory-policy noeviction, then run: bookprint reindex"
            )
