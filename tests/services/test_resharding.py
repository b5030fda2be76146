"""Resharding a Redis cluster under lookups, posts and deletions: every answer is right, or refused."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle
from math import inf
from time import monotonic
from uuid import UUID

import numpy as np
import pytest
from redis.crc import key_slot
from redis.exceptions import AskError

from app.services.index.questions import Question, Verified, Within
from app.settings import Settings
from app.stores.redis.keys import epochs_of
from bookprint_core.errors import Unavailable
from bookprint_core.index import fingerprints
from bookprint_core.index.tables import BAND_BUCKETS, POSTINGS
from bookprint_core.matching.verification import evidence_of_each, is_accepted
from bookprint_core.model import Book, FracMinHash, Sketch, Submission
from bookprint_core.recipe import DEFAULT_SAMPLE
from tests.factories import ACTOR, a_sketch, flipped
from tests.open_services import OpenServices, open_with_stores
from tests.redis_cluster import Cluster, Master

RELATIVES = 5
"""Relatives of each book asked about, never deleted."""

CHANGING_BOOKS = 12
"""Books of the writer that are stored at a time."""

AFTER_REFUSAL = 0.03
"""Seconds until a stream of lookups tries again."""


@dataclass
class Lifetime:
    """When a book was posted and deleted: each from the call to its return."""

    sketch: Sketch
    posted: tuple[float, float]
    deleted: tuple[float, float] = (inf, inf)


@dataclass(frozen=True)
class LookupRecord:
    """One lookup and its answer."""

    stream: int
    query: UUID
    question: Question
    began: float
    ended: float
    found: list[tuple[UUID, int]] | None  # books and their distances; None: refused


class Workload:
    """Posts, deletions and lookups at the same time, and a record of them all."""

    def __init__(self) -> None:
        self.lifetimes: dict[UUID, Lifetime] = {}
        self.lookups: list[LookupRecord] = []
        self.streams = 0
        self.running = True

    async def post(self, services: OpenServices, sketch: Sketch) -> Book:
        began = monotonic()
        book = (await services.ingest.post(Submission(sketch=sketch), actor=ACTOR)).book
        self.lifetimes[book.id] = Lifetime(sketch, (began, monotonic()))
        return book

    async def delete(self, services: OpenServices, book: Book) -> None:
        lifetime = self.lifetimes[book.id]
        lifetime.deleted = (monotonic(), inf)
        await services.ingest.delete(book.id, None, actor=ACTOR)
        lifetime.deleted = (lifetime.deleted[0], monotonic())

    async def keep_writing(self, services: OpenServices, rng: np.random.Generator, books: list[Book]) -> None:
        """Post relatives of these books and delete the oldest of them, as long as the workload runs."""
        posted: list[Book] = []
        for book in cycle(books):
            if not self.running:
                return
            posted.append(await self.post(services, relative(rng, self.lifetimes[book.id].sketch)))
            for pending in [each for each in posted if not each.indexed][-2:]:
                # What the job of a book does.
                with suppress(Unavailable):
                    await services.upkeep.index_entry(pending.entry_id)
            if len(posted) > CHANGING_BOOKS:
                await self.delete(services, posted.pop(0))

    async def keep_asking(self, services: OpenServices, question: Question, books: list[Book]) -> None:
        """Ask the same about these books in turn, as long as the workload runs."""
        stream = self.streams
        self.streams += 1
        for book in cycle(books):
            if not self.running:
                return
            began = monotonic()
            found = None
            with suppress(Unavailable):
                answer = await services.lookup.near_duplicates(book.id, question, None, 1000)
                assert answer.total == len(answer.matches)
                found = [(match.book.book_id, match.evidence.distance or 0) for match in answer.matches]
            self.lookups.append(LookupRecord(stream, book.id, question, began, monotonic(), found))
            if found is None:
                await asyncio.sleep(AFTER_REFUSAL)

    async def lookups_from_now(self, *, answered: bool = False) -> list[LookupRecord]:
        """Those that begin from now on, when every stream has had one; if `answered`, one not refused."""
        now, first = monotonic(), len(self.lookups)
        async with asyncio.timeout(120):
            while True:
                lookups = [record for record in self.lookups[first:] if record.began >= now]
                done = {record.stream for record in lookups if record.found is not None or not answered}
                if len(done) == self.streams:
                    return lookups
                await asyncio.sleep(0.005)

    def require_right_answers(self) -> None:
        """Compare every answer with brute force over the books that were, or may have been, there."""
        ids = list(self.lifetimes)
        sketches = [lifetime.sketch for lifetime in self.lifetimes.values()]

        @cache
        def near(query: UUID, question: Question) -> dict[UUID, int]:
            pairs = zip(ids, evidence_of_each(self.lifetimes[query].sketch, sketches), strict=True)
            return {
                book_id: evidence.distance
                for book_id, evidence in pairs
                if book_id != query
                and (
                    evidence.distance <= question.d if isinstance(question, Within) else is_accepted(evidence)
                )
            }

        for record in self.lookups:
            if record.found is None:
                continue
            possible = near(record.query, record.question)
            found = dict(record.found)
            assert len(found) == len(record.found)
            assert sorted(found.values()) == [distance for _, distance in record.found]
            for book_id, distance in found.items():
                lifetime = self.lifetimes[book_id]
                assert possible.get(book_id) == distance, record
                assert record.began < lifetime.deleted[1], (record, lifetime)
                assert lifetime.posted[0] < record.ended, (record, lifetime)
            for book_id in possible.keys() - found.keys():
                lifetime = self.lifetimes[book_id]
                was_there = lifetime.posted[1] <= record.began and record.ended <= lifetime.deleted[0]
                assert not was_there, (record, lifetime)


class Resharding:
    """Moves slots from master to master, with lookups while each is halfway."""

    def __init__(self, cluster: Cluster, workload: Workload) -> None:
        self.halfway: list[LookupRecord] = []
        self._cluster = cluster
        self._workload = workload

    async def move(self, slot: int, places: int, *, epoch_first: bool) -> None:
        """Move a slot with its keys, one by one, to the master so many places farther on."""
        giver, taker = self._masters(slot, places)
        keys = await self._keys(slot, giver, taker, epoch_first=epoch_first)
        await self._give(keys[: len(keys) // 2], giver, taker)
        assert giver.count_keys(slot) > 0 < taker.count_keys(slot)
        self.halfway += await self._workload.lookups_from_now()
        assert giver.count_keys(slot) > 0 < taker.count_keys(slot)
        await self._give(keys[len(keys) // 2 :], giver, taker)
        await asyncio.to_thread(self._cluster.end_move, slot, taker)

    async def move_carelessly(self, slot: int) -> None:
        """Move the epoch of a slot, and lose its other keys."""
        giver, taker = self._masters(slot, 1)
        keys = await self._keys(slot, giver, taker, epoch_first=True)
        await self._give(keys[:1], giver, taker)
        for key in keys[1:]:
            # The node sends the client on where a deletion has just emptied the bucket.
            with suppress(AskError):
                await asyncio.to_thread(giver.client.delete, key)
        await asyncio.to_thread(self._cluster.end_move, slot, taker)

    def _masters(self, slot: int, places: int) -> tuple[Master, Master]:
        masters = self._cluster.masters
        giver = self._cluster.owner(slot)
        return giver, masters[(masters.index(giver) + places) % len(masters)]

    async def _keys(self, slot: int, giver: Master, taker: Master, *, epoch_first: bool) -> list[bytes]:
        keys = await asyncio.to_thread(self._cluster.open_slot, slot, giver, taker)
        return sorted(keys, key=lambda key: (key.endswith(b"epoch") != epoch_first, key))

    async def _give(self, keys: Sequence[bytes], giver: Master, taker: Master) -> None:
        for key in keys:
            await asyncio.to_thread(giver.give, key, taker)


def a_book(rng: np.random.Generator) -> Sketch:
    hashes = np.sort(rng.integers(0, 2**57, 16, dtype=np.uint64))
    sketch = a_sketch(rng)
    return replace(
        sketch,
        minhash=replace(sketch.minhash, shingle_count=2000),
        sample=FracMinHash(DEFAULT_SAMPLE, hashes, 57),
    )


def relative(rng: np.random.Generator, sketch: Sketch, *flips: int) -> Sketch:
    """A book with some bits of this one turned over, and a part of its MinHash values and hashes."""
    flips = flips or tuple(rng.choice(128, int(rng.integers(0, 60)), replace=False).tolist())
    other = a_book(rng)
    values = other.minhash.values.copy()
    shared = int(rng.choice([0, 3, 6, 10, 60]))
    values[:shared] = sketch.minhash.values[:shared]
    hashes = np.sort(np.concatenate([sketch.sample.hashes[::2], other.sample.hashes[::2]]))
    return replace(
        other,
        fingerprint=replace(sketch.fingerprint, bits=flipped(sketch.fingerprint.bits, *flips)),
        minhash=replace(other.minhash, values=values),
        sample=replace(other.sample, hashes=hashes),
    )


@pytest.fixture
def index_url(frail: Cluster) -> str:
    return frail.url


@pytest.fixture
async def other(module_database_url: str, index_url: str) -> AsyncIterator[OpenServices]:
    """The same as `services` as another process sees it."""
    async with open_with_stores(Settings(database_url=module_database_url, redis_url=index_url)) as services:
        yield services


@pytest.mark.slow
async def test_slots_move_under_lookups_and_posts_and_no_answer_is_wrong(
    services: OpenServices, other: OpenServices, frail: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The bands are read wherever they can be.
    monkeypatch.setattr(fingerprints, "ROW_NANOSECONDS", 1e9)
    rng = np.random.default_rng(16)
    workload = Workload()
    books = [await workload.post(services, a_book(rng)) for _ in range(6)]
    for book in books:
        sketch = workload.lifetimes[book.id].sketch
        # Within seven bits of the book, and in none of its buckets but that of the first band.
        await workload.post(services, relative(rng, sketch, *range(16, 128, 16)))
        for _ in range(RELATIVES):
            await workload.post(services, relative(rng, sketch))
    slots = slots_of(services, books[0].entry_id, workload.lifetimes[books[0].id].sketch)
    resharding = Resharding(frail, workload)
    async with asyncio.TaskGroup() as streams:
        streams.create_task(workload.keep_writing(services, np.random.default_rng(17), books))
        for process, question in (
            (services, Within(7)),
            (services, Within(40)),
            (other, Within(7)),
            (other, Within(23)),
            (other, Verified()),
        ):
            streams.create_task(workload.keep_asking(process, question, books))
        await asyncio.sleep(0)
        await workload.lookups_from_now(answered=True)
        # There and back: lookups are answered again without a rebuilding.
        for slot in slots:
            await resharding.move(slot, 1, epoch_first=True)
            await workload.lookups_from_now()
            await resharding.move(slot, -1, epoch_first=False)
            await workload.lookups_from_now(answered=True)
        # For good, all at the same time, and then rebuilt.
        await asyncio.gather(*(resharding.move(slot, 1, epoch_first=False) for slot in slots))
        await workload.lookups_from_now()
        await rebuild(services)
        await workload.lookups_from_now(answered=True)
        # Without the keys; the slot of the flat index, which every lookup reads, comes last.
        for slot in slots[::-1]:
            await resharding.move_carelessly(slot)
            await workload.lookups_from_now()
        await rebuild(services)
        await workload.lookups_from_now(answered=True)
        workload.running = False
    await services.upkeep.catch_up()
    assert await services.is_clean()
    workload.require_right_answers()
    assert {record.found is None for record in resharding.halfway} == {True, False}


async def rebuild(services: OpenServices) -> None:
    """Rebuild the index; again, as a worker does, while the nodes do not agree where the slots are."""
    async with asyncio.timeout(120):
        while True:
            with suppress(Unavailable):
                assert await services.upkeep.catch_up() is not None
                return
            await asyncio.sleep(0.1)


def slots_of(services: OpenServices, entry_id: int, sketch: Sketch) -> list[int]:
    """The slots of the flat index, of one band of a book and of two partitions with postings of it."""
    _, [posted] = services.index.records([sketch.to_entry(entry_id)])
    partitions = np.unique(posted.keys.partitions)
    keys = [
        services.index.flat_index.epoch,
        epochs_of(BAND_BUCKETS)[0],
        *(epochs_of(POSTINGS)[each] for each in partitions[[0, -1]]),
    ]
    slots = [key_slot(key.encode()) for key in keys]
    assert len(set(slots)) == len(slots)
    return slots
