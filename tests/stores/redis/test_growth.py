"""The tables of the band index grow while books are written and looked up."""

import asyncio
import random
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from app.services.index.questions import Verified, Within, find
from app.stores.redis.band_index import BandIndex
from app.stores.redis.bucket_writer import BucketWriter
from app.stores.redis.client import RedisClient, open_client
from app.stores.redis.keys import bucket_keys
from app.stores.redis.scripts import MEND_POSTINGS
from bookprint_core.errors import IndexRebuilding, Unavailable
from bookprint_core.index import fingerprints as planning
from bookprint_core.index.records import filled_buckets
from bookprint_core.index.tables import BAND_BUCKETS, POSTINGS, TABLES, Records
from bookprint_core.matching.verification import evidence_of_each, is_accepted
from bookprint_core.model import Entry
from bookprint_core.signatures.simhash import hamming
from tests.factories import BANDS, an_entry, flipped
from tests.index_buckets import buckets_of, sizes_of
from tests.redis_cluster import on_cluster_too

STEP = 120
"""Between two entry ids: the index takes a range of ids for as many entries, and grows the sooner."""


def some_books(count: int) -> list[Entry]:
    """Every fifth is new; the others lie some bits from the one before and share part of its sample."""
    rng = np.random.default_rng(count)
    books: list[Entry] = []
    for number in range(count):
        book = an_entry(rng, STEP * (number + 1))
        if number % 5:
            bits = flipped(books[-1].fingerprint.bits, *rng.choice(128, 12, replace=False).tolist())
            kept = int(rng.integers(0, 200))
            hashes = np.sort(np.concatenate([books[-1].sample.hashes[:kept], book.sample.hashes[kept:]]))
            sample = replace(book.sample, hashes=np.unique(hashes))
            book = replace(book, fingerprint=replace(book.fingerprint, bits=bits), sample=sample)
        books.append(book)
    return books


class Library:
    """Books that writers add, and lookups beside that compare each answer with all of them."""

    def __init__(self, books: list[Entry]) -> None:
        self.books = books
        self.stored: set[int] = set()
        self.answers = 0

    async def write(self, index: BandIndex, part: list[Entry], seed: int) -> None:
        """Add books, each until an attempt is not interrupted."""
        chance = random.Random(seed)
        for start in range(0, len(part), 5):
            some = part[start : start + 5]
            task = asyncio.create_task(index.insert(some))
            while True:
                if interrupted := chance.random() < 0.5:
                    await asyncio.sleep(chance.random() / 50)
                    task.cancel()
                with suppress(asyncio.CancelledError, Unavailable):
                    await task
                    if not interrupted:
                        break
                task = asyncio.create_task(index.insert(some, missing=True))
            self.stored |= {book.entry_id for book in some}

    async def look_up(self, index: BandIndex, seed: int) -> None:
        """Ask for one book; all that were stored before are found, and nothing else than what is near."""
        chance = random.Random(seed)
        query, stored = chance.choice(self.books), {*self.stored}
        d = chance.choice([7, 15, 23])
        near = {
            book.entry_id
            for book in self.books
            if hamming(query.fingerprint.bits, book.fingerprint.bits) <= d
        }
        verified = {
            book.entry_id
            for book, evidence in zip(self.books, evidence_of_each(query, self.books), strict=True)
            if is_accepted(evidence)
        } | {query.entry_id}
        for question, expected in ((Within(d), near), (Verified(), verified)):
            with suppress(Unavailable):  # on a busy machine
                answer = {*(await find(index, query, question, 0)).hits.entry_ids.tolist()}
                assert expected & stored <= answer <= expected
                self.answers += 1


def rows_of(data: bytes, width: int) -> list[bytes]:
    return [data[at : at + width] for at in range(0, len(data), width)]


def contents(records: list[Records], sizes: list[int]) -> dict[int, list[bytes]]:
    """The records of each bucket, sorted."""
    buckets: dict[int, list[bytes]] = {}
    for each in records:
        packed = filled_buckets(each, np.array(sizes))
        for address, data in zip(packed.addresses.tolist(), packed.data(), strict=True):
            buckets.setdefault(address, []).extend(rows_of(data, packed.width))
    return {address: sorted(rows) for address, rows in buckets.items()}


@on_cluster_too
async def test_answers_are_exact_while_interrupted_writers_let_the_index_grow(
    index: BandIndex,
    other: BandIndex,
    redis_client: RedisClient,
    index_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "ROW_NANOSECONDS", 10**9)  # bands are probed, however few books there are
    library = Library(some_books(100))
    async with open_client(index_url) as client:
        writers = [
            asyncio.create_task(library.write(writer, library.books[place::2], place))
            for place, writer in enumerate((index, BandIndex(client, BANDS)))
        ]
        number = 0
        while not all(writer.done() for writer in writers):
            await asyncio.gather(
                *(library.look_up(reader, number + place) for place, reader in enumerate((index, other)))
            )
            number += 2
        await asyncio.gather(*writers)
    for seed in range(20):
        await library.look_up(other, seed)
    assert library.answers > 40

    bands, posted = index.records(library.books)
    found = await buckets_of(redis_client)
    for table, records in ((BAND_BUCKETS, [bands]), (POSTINGS, posted)):
        sizes = await sizes_of(index, table)
        assert min(sizes) > 3 * table.least
        for address, expected in contents(records, sizes).items():
            [key] = bucket_keys(table, np.array([address], dtype=np.uint32))
            assert sorted(rows_of(found.pop(key), table.width)) == expected
    assert {key for key in found if ":f" not in key} == set()


async def test_a_writer_changes_nothing_in_another_building(
    index: BandIndex, redis_client: RedisClient
) -> None:
    bands, posted = index.records(some_books(2))
    marks = (await index.epochs.read()).marks
    await index.epochs.begin("again")
    for sizes in ({}, {table: 2 * table.least for table in TABLES}):
        writer = BucketWriter(redis_client, marks, sizes)
        for records in (bands, *posted):
            with pytest.raises(IndexRebuilding):
                await writer.change(MEND_POSTINGS, records)
    assert await buckets_of(redis_client) == {}
    assert await sizes_of(index, POSTINGS) == [POSTINGS.least] * POSTINGS.partitions
