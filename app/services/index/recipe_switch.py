"""From one fingerprint recipe to another while the service goes on: build beside, then switch.

Once the table of suites says that a suite is being built, every entry that is committed enters it. Earlier
books get their fingerprints from the stored texts, and the bands are written as a whole. Then changes made
meanwhile are mended, and one transaction lets the new suite serve. Each step finds out by itself how far it
had come, so a command that was broken off is simply run again.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from uuid import uuid4

from app.core.errors import BookprintError, InvalidInput
from app.core.model import Fingerprint
from app.core.recipe import Suite, Suites, fingerprint_recipe
from app.core.signatures.sketch import fingerprint
from app.services.index.comparison import Progress
from app.services.index.reconcile import Reindex
from app.stores.postgres.connections import SessionLock
from app.stores.postgres.suites import SuiteStore
from app.stores.postgres.texts import MissingSignatureStore, StoredText
from app.stores.redis.epoch import IndexState
from app.stores.redis.indexes import Indexes

_COMPUTED_AT_ONCE = 32
"""Texts that are held at a time."""

_PATIENCE = 2.0
"""Seconds for which a lock is asked for; the session of a process that was killed takes a moment to end."""

_PAUSE = 0.2
"""Seconds between two looks at a lock, or at an index that is being rebuilt."""


class TextsMissing(BookprintError):
    """Books without a stored text would be left without a fingerprint."""

    def __init__(self, count: int, recipe: str) -> None:
        super().__init__(
            f"{count:,} books have no stored text to compute {recipe} from, so lookups by distance would no "
            "longer find them. Give them their text (PUT /v1/books/{id}/content), or switch all the same "
            "with --allow-missing."
        )
        self.count = count


@dataclass(frozen=True, slots=True)
class Switched:
    """The result of a change of recipes."""

    entries: int  # in the index that now serves
    computed: int  # fingerprints that were computed from stored texts
    missing: int  # books that have neither a text nor a fingerprint of the recipe


class Recipes:
    """Changes the fingerprint recipes that are indexed, and the one that serves."""

    def __init__(
        self,
        suites: SuiteStore,
        indexes: Indexes,
        reindex: Reindex,
        missing: MissingSignatureStore,
        lock: Callable[[], SessionLock],
        reconcile_lock: Callable[[], SessionLock],
    ) -> None:
        self._suites = suites
        self._indexes = indexes
        self._reindex = reindex
        self._missing = missing
        self._lock = lock
        self._reconcile_lock = reconcile_lock

    async def change(
        self, name: str, *, allow_missing: bool, progress: Progress, say: Callable[[str], None]
    ) -> Switched:
        """Index every book under this fingerprint recipe, too, and then let it serve; or go on with that.

        Raises `TextsMissing`, unless such books are allowed, and `BookprintError` where another recipe is
        being built or another process is about it.
        """
        async with self._alone():
            suites = await self._suites.read()
            suite = _suite_with(suites, name)
            if suite == suites.serving:
                raise BookprintError(f"{name} serves already; there is nothing to change.")
            if suites.building is not None and suites.building != suite:
                begun = suites.building.fingerprint
                raise BookprintError(
                    f"{begun} is being built. Finish that with `bookprint reindex --recipe {begun}`, or give "
                    f"it up with `bookprint reindex --drop {begun}`."
                )
            missing = await self._missing.count_textless(name)
            if missing and not allow_missing:
                raise TextsMissing(missing, name)
            if suites.building is None:
                async with self._unreconciled():
                    await self._suites.insert(suite)
            computed = await self._sign(name, progress)
            say(f"Building the index of {name}")
            return await self._build(suite, computed, allow_missing)

    async def drop(self, name: str) -> None:
        """End the lookups under this fingerprint recipe, and remove its index; signatures stay stored."""
        async with self._alone():
            suites = await self._suites.read()
            suite = _suite_with(suites, name)
            if suite == suites.serving:
                raise BookprintError(
                    f"{name} serves; let another recipe serve first: bookprint reindex --recipe NAME"
                )
            async with self._unreconciled():
                await self._suites.update_closing(suite)
                postings = await self._own_postings(suite)
                # Lookups that still go by the suite fail from here on, before an entry is missing.
                await self._indexes.epochs([(suite, postings)]).end()
                await self._suites.delete(suite)
                # Even if it was dropped before: that may have been broken off here.
                await self._indexes.of(suite).delete_all(postings)

    async def _sign(self, recipe: str, progress: Progress) -> int:
        """Compute what fingerprints are lacking; returns how many were found."""
        total = await self._missing.count(recipe)
        seen = computed = after = 0
        while texts := await self._missing.list_texts(recipe, after, _COMPUTED_AT_ONCE):
            # The kernels let go of the interpreter's lock.
            work = (asyncio.to_thread(_fingerprint, text, recipe) for text in texts)
            pairs = zip(texts, await asyncio.gather(*work), strict=True)
            signed = [(text.entry_id, made.bits) for text, made in pairs if made is not None]
            await self._missing.insert(recipe, signed)
            seen, computed, after = seen + len(texts), computed + len(signed), texts[-1].entry_id
            progress(seen, max(seen, total))
        return computed

    async def _build(self, suite: Suite, computed: int, allow_missing: bool) -> Switched:
        """Write the index of a suite as a whole, and let it serve."""
        postings = await self._own_postings(suite)
        epochs = self._indexes.epochs([(suite, postings)])
        while True:
            await self._complete()
            token = uuid4().hex
            await epochs.begin(token)
            filled = await self._reindex.fill(suite, postings, lambda done, total: None)
            # A reconciliation must not pass over the suite as being built, and end after the switch.
            async with self._unreconciled():
                entries = await self._reindex.catch_up(suite, filled, postings)
                # Otherwise flushed or restarted: what was written may be gone.
                if await epochs.finish(token):
                    missing = await self._switch(suite, allow_missing)
                    return Switched(entries.size, computed, missing)

    async def _switch(self, suite: Suite, allow_missing: bool) -> int:
        missing = await self._suites.update_serving(suite, allow_missing=allow_missing)
        if missing and not allow_missing:
            raise TextsMissing(missing, suite.fingerprint)
        return missing

    async def _own_postings(self, suite: Suite) -> Collection[str]:
        """The recipes of the suite's posting lists that no other suite has."""
        others = [other for other in (await self._suites.read()).kept if other != suite]
        shared = {recipe for other in others for recipe in (other.minhash, other.sample)}
        return {suite.minhash, suite.sample} - shared

    async def _complete(self) -> None:
        """Wait until the indexes that answer lookups are complete."""
        while await self._reindex.state() is not IndexState.COMPLETE:
            if await self._reindex.reconcile() is None:
                await asyncio.sleep(_PAUSE)

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """While no other process changes recipes."""
        async with _held(self._lock, _PATIENCE) as locked:
            if not locked:
                raise BookprintError(
                    "Another `bookprint reindex --recipe` or `--drop` is running. Wait until it has ended."
                )
            yield

    @asynccontextmanager
    async def _unreconciled(self) -> AsyncIterator[None]:
        """While no process reconciles the index."""
        async with _held(self._reconcile_lock, math.inf):
            yield


@asynccontextmanager
async def _held(lock: Callable[[], SessionLock], patience: float) -> AsyncIterator[bool]:
    """While the lock is held; False where it could not be had in so many seconds."""
    deadline = time.monotonic() + patience
    while True:
        async with lock() as locked:
            if locked or time.monotonic() > deadline:
                yield locked
                return
        await asyncio.sleep(_PAUSE)


def _suite_with(suites: Suites, name: str) -> Suite:
    """The suite that differs from the serving one by its fingerprints; raises UnknownRecipe, InvalidInput."""
    if not fingerprint_recipe(name).indexable:
        raise InvalidInput(f"Fingerprints of {name} cannot be indexed: they do not have 128 bits.", "recipe")
    return replace(suites.serving, fingerprint=name)


def _fingerprint(text: StoredText, recipe: str) -> Fingerprint | None:
    return fingerprint(text.content(), recipe)
