"""From one recipe of fingerprints or samples to another while the service goes on: build beside, then switch.

Once the table of suites says that a suite is being built, every entry that is committed enters it. Earlier
books get their signatures from the stored texts, and the index is written as a whole. Then changes made
meanwhile are mended, and one transaction lets the new suite serve. The old one goes on taking entries until
every process has noticed; then it is removed. Each step finds out by itself how far it had come, so a command
that was broken off is simply run again.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from uuid import uuid4

from app.core.errors import BookprintError, InvalidInput, UnknownRecipe
from app.core.recipe import FINGERPRINT_RECIPES, SAMPLE_RECIPES, Suite, Suites, fingerprint_recipe
from app.services.index.contents import Progress
from app.services.index.missing_signatures import missing_fingerprints, missing_samples
from app.services.index.upkeep import PAUSE, IndexUpkeep, held
from app.stores.postgres.connections import SessionLock
from app.stores.postgres.contents import KNOWN_FOR, MissingSignatureStore, SuiteStore
from app.stores.redis.epoch import IndexState
from app.stores.redis.indexes import Indexes

_NOTICED_AFTER = KNOWN_FOR + 1.0
"""Seconds after which every process knows of a switch and its lookups before it have ended, unless it hangs.
Lookups of one that hangs are refused."""

_PATIENCE = 2.0
"""Seconds for which a lock is asked for; the session of a process that was killed takes a moment to end."""


class TextsMissing(BookprintError):
    """Books without a stored text would be left without a signature."""

    def __init__(self, count: int, recipe: str) -> None:
        by = "shared text" if recipe in SAMPLE_RECIPES else "distance"
        super().__init__(
            f"{count:,} books have no stored text to compute {recipe} from, so lookups by {by} would no "
            "longer find them. Give them their text (PUT /v1/books/{id}/content), or switch all the same "
            "with --allow-missing."
        )
        self.count = count


@dataclass(frozen=True, slots=True)
class Switched:
    """The result of a change of recipes."""

    entries: int  # in the index that now serves
    computed: int  # signatures that were computed from stored texts
    missing: int  # books that have neither a text nor a signature of the recipe


class Recipes:
    """Changes the recipe of fingerprints or samples that serves."""

    def __init__(
        self,
        suites: SuiteStore,
        indexes: Indexes,
        upkeep: IndexUpkeep,
        missing: MissingSignatureStore,
        lock: Callable[[], SessionLock],
        reconcile_lock: Callable[[], SessionLock],
    ) -> None:
        self._suites = suites
        self._indexes = indexes
        self._upkeep = upkeep
        self._missing = missing
        self._lock = lock
        self._reconcile_lock = reconcile_lock

    async def change(
        self, name: str, *, allow_missing: bool, progress: Progress, say: Callable[[str], None]
    ) -> Switched:
        """Index every book under this recipe, then let it serve in place of the other.

        Goes on with what was broken off. Raises `TextsMissing`, unless such books are allowed, and
        `BookprintError` where another recipe is being built or another process is about it.
        """
        async with self._alone():
            suites = await self._suites.read()
            suite = _suite_with(suites, name)
            _require_change(suites, suite, name)
            missing = await self._missing.count_textless(name)
            if missing and not allow_missing:
                raise TextsMissing(missing, name)
            if suites.building is None:
                async with self._no_upkeep():
                    await self._suites.insert(suite)
            missing_signatures = missing_samples if name in SAMPLE_RECIPES else missing_fingerprints
            computed = await missing_signatures(self._missing, name).compute(progress)
            say(f"Building the index of {name}")
            entries, missing = await self._build(suite, suites.serving, name, allow_missing)
            await asyncio.sleep(_NOTICED_AFTER)
            await self._remove(suites.serving)
            return Switched(entries, computed, missing)

    async def drop(self, name: str) -> None:
        """Give up the building of this recipe, and remove its index; signatures stay stored."""
        async with self._alone():
            suites = await self._suites.read()
            suite = _suite_with(suites, name)
            if suite == suites.serving:
                raise BookprintError(
                    f"{name} serves; let another recipe serve first: bookprint reindex --recipe NAME"
                )
            await self._remove(suite)

    async def _build(self, suite: Suite, serving: Suite, name: str, allow_missing: bool) -> tuple[int, int]:
        """Write the index of a suite as a whole, and let it serve; the number of entries, and of missing."""
        parts = suite.parts - serving.parts
        epochs = self._indexes.epochs(suite, parts)
        while True:
            await self._complete()
            token = uuid4().hex
            await epochs.begin(token)
            filled, _ = await self._upkeep.fill(suite, parts)
            # The upkeep must not pass over the suite as being built, and end after the switch.
            async with self._no_upkeep():
                entry_ids = await self._upkeep.catch_up_filled(suite, filled, parts)
                # Otherwise flushed or restarted: what was written may be gone.
                if await epochs.finish(token):
                    missing = await self._suites.update_serving(name, allow_missing=allow_missing)
                    if missing and not allow_missing:
                        raise TextsMissing(missing, name)
                    return entry_ids.size, missing

    async def _remove(self, suite: Suite) -> None:
        """Remove a suite that does not serve, with its index."""
        async with self._no_upkeep():
            parts = suite.parts - (await self._suites.read()).serving.parts
            # Lookups that still go by the suite fail from here on, before an entry is missing.
            await self._indexes.epochs(suite, parts).end()
            await self._suites.delete(suite)
            # The upkeep does this if it is broken off here.
            await self._indexes.of(suite).delete_all(parts)

    async def _complete(self) -> None:
        """Wait until the index that answers lookups is complete."""
        while await self._upkeep.state() is not IndexState.COMPLETE:
            if await self._upkeep.catch_up() is None:
                await asyncio.sleep(PAUSE)

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """While no other process changes recipes."""
        async with held(self._lock, _PATIENCE) as locked:
            if not locked:
                raise BookprintError(
                    "Another `bookprint reindex --recipe` or `--drop` is running. Wait until it has ended."
                )
            yield

    @asynccontextmanager
    async def _no_upkeep(self) -> AsyncIterator[None]:
        """While no process catches up or rebuilds the index."""
        async with held(self._reconcile_lock, math.inf):
            yield


def _suite_with(suites: Suites, name: str) -> Suite:
    """The suite that differs from the serving one by this recipe; raises UnknownRecipe, InvalidInput."""
    if name in SAMPLE_RECIPES:
        return replace(suites.serving, sample=name)
    if name not in FINGERPRINT_RECIPES:
        known = ", ".join(sorted({*FINGERPRINT_RECIPES, *SAMPLE_RECIPES}))
        raise UnknownRecipe(
            f"No recipe of fingerprints or samples is called {name!r}. Known: {known}.", field="recipe"
        )
    if not fingerprint_recipe(name).indexable:
        raise InvalidInput(
            f"Fingerprints of {name} cannot be indexed. Name a recipe of 128 bits without -folded: those of "
            "folded texts are indexed with it.",
            "recipe",
        )
    return replace(suites.serving, fingerprint=name)


def _require_change(suites: Suites, suite: Suite, name: str) -> None:
    """Raises BookprintError where the suite serves already, or another one is being built."""
    begun = suites.building and next(iter(suites.building.parts - suites.serving.parts))
    if suite == suites.serving:
        beside = f" {begun} is indexed beside it; remove that with `bookprint reindex --drop {begun}`."
        raise BookprintError(f"{name} serves already; there is nothing to change.{beside if begun else ''}")
    if begun and suite != suites.building:
        raise BookprintError(
            f"{begun} is being built. Finish that with `bookprint reindex --recipe {begun}`, or give "
            f"it up with `bookprint reindex --drop {begun}`."
        )
