"""Bookprint's index against datasketch's `MinHashLSH` on the same Redis.

datasketch (threshold 0.5, 128 permutations) is what a team would otherwise put on Redis. It gets the same
MinHash values, in an `insertion_session`, and has the same Valkey for itself; it answers candidates without
scores. Bookprint is measured as it is, with fingerprints and samples, and once more with samples alone, whose
posting list stands for datasketch's tables. Both times it answers verified near-duplicates.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import uvloop

from app.core.index.records import Hits
from app.core.model import Entry, MinHashSignature
from app.core.recipe import DEFAULT_SUITE
from app.core.signatures.minhash import to_datasketch
from app.embedded import Servers
from app.services.index.contents import ExpectedIndex
from app.services.lookups import Verified, Within, find
from app.settings import Settings
from app.wiring import Stores, open_stores
from bench.data.library_servers import Library, client_of, opened, reconcile
from bench.data.simulated_books import Books, simulate
from bench.harness.redis_memory import empty_redis, used
from bench.harness.report import Cell, Table

T = TypeVar("T")

LIBRARY = Library(100_000, texts=True)
QUERIES = 300
ROUNDS = 3
ADDED_AT_ONCE = 50
ASKED_AT_ONCE = 100
D = 7
NEAR_TIMES = 10
"""Repetitions of range queries in a round, which would be over in 50 ms."""
_ADDED = 2_000
_SEED = 5


@dataclass(frozen=True, slots=True)
class IndexFigures:
    """Figures of one index: rates a second, but for the bytes and the recall."""

    built: float  # books written in bulk
    asked: float  # queries one after the other
    bytes_per_book: float
    recall: tuple[float, float]  # of the same work's books with Jaccard similarity >= 0.5, and >= 0.1
    spread: str  # lowest and highest `asked`
    added: float | None = None  # books written some at a time
    asked_together: float | None = None  # queries many at a time
    near: float | None = None  # range queries one after the other
    near_together: float | None = None


def against_datasketch(folder: Path) -> Table:
    """Both on one Valkey, one after the other; the library is loaded into the folder if it is not there."""
    [*batches] = simulate(LIBRARY.books)
    asked = _questions(batches)
    with opened(LIBRARY, folder) as servers:
        datasketch = _datasketch(servers, batches, asked)
        print(f"  datasketch: {datasketch}", flush=True)
        whole = _bookprint(servers, asked, samples_alone=False)
        print(f"  Bookprint: {whole}", flush=True)
        alone = _bookprint(servers, asked, samples_alone=True)
        print(f"  samples alone: {alone}", flush=True)
        with client_of(servers) as client:
            empty_redis(client)

    def row(
        name: str, figure: Callable[[IndexFigures], float | None], peer: Callable[[IndexFigures], float]
    ) -> list[Cell]:
        own, same, other = figure(whole), figure(alone), peer(datasketch)
        ratios = [None if each is None else each / other for each in (own, same)]
        return [name, own, same, other, *ratios]

    def built(figures: IndexFigures) -> float:
        return figures.built

    def question(figures: IndexFigures) -> float:
        return figures.asked

    rows: list[list[Cell]] = [
        row("books written in bulk/s", built, built),
        row(f"books written {ADDED_AT_ONCE} at a time/s", lambda figures: figures.added, built),
        row("queries/s, one after the other", question, question),
        ["their spread", whole.spread, alone.spread, datasketch.spread, None, None],
        row(f"queries/s, {ASKED_AT_ONCE} at a time", lambda figures: figures.asked_together, question),
        row(f"exact range queries (d ≤ {D})/s, one after the other", lambda figures: figures.near, question),
        row(f"the same, {ASKED_AT_ONCE} at a time", lambda figures: figures.near_together, question),
        row(
            "bytes in Redis per book",
            lambda figures: figures.bytes_per_book,
            lambda figures: figures.bytes_per_book,
        ),
        *(
            [
                f"recall, books of one work with J ≥ {least}",
                *(each.recall[at] for each in (whole, alone, datasketch)),
                None,
                None,
            ]
            for at, least in enumerate((0.5, 0.1))
        ),
    ]
    headers = ["", "Bookprint", "Bookprint, samples alone", "datasketch", "ratio", "ratio, samples alone"]
    return Table(headers, rows, f"The same Valkey, the same {LIBRARY.books:,} books")


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A simulated book, its entry, and those of its work by how similar they are."""

    batch: Books
    row: int
    entry_id: int
    relatives: dict[int, float]  # entry id to estimated Jaccard similarity

    def recall(self, answer: set[int], at_least: float) -> tuple[int, int]:
        """The number of its relatives that were found, and of all."""
        wanted = {entry for entry, similarity in self.relatives.items() if similarity >= at_least}
        return len(wanted & answer), len(wanted)


def _questions(batches: Sequence[Books]) -> list[Question]:
    """Books that have others of their work, and as many that have none."""
    rng = np.random.default_rng(_SEED)
    asked: list[Question] = []
    first = 1
    for batch in batches:
        for row in rng.permutation(len(batch))[: 2 * QUERIES // len(batches)].tolist():
            relatives = np.flatnonzero(batch.works == batch.works[row])
            assert batch.minhash is not None
            similar = (batch.minhash[relatives] == batch.minhash[row]).mean(axis=1)
            pairs = zip((first + relatives).tolist(), similar.tolist(), strict=True)
            known = {entry: each for entry, each in pairs if entry != first + row}
            asked.append(Question(batch, row, first + row, known))
        first += len(batch)
    asked.sort(key=lambda question: not question.relatives)
    return [*asked[: QUERIES // 2], *asked[-QUERIES // 2 :]]


def _recall(questions: Sequence[Question], answers: Sequence[set[int]]) -> tuple[float, float]:
    shares = []
    for at_least in (0.5, 0.1):
        counted = [question.recall(hits, at_least) for question, hits in zip(questions, answers, strict=True)]
        shares.append(sum(hits for hits, _ in counted) / max(1, sum(wanted for _, wanted in counted)))
    return shares[0], shares[1]


def _datasketch(servers: Servers, batches: Sequence[Books], asked: Sequence[Question]) -> IndexFigures:
    from datasketch import MinHashLSH

    signatures = [_to_datasketch(batch, row) for batch in batches for row in range(len(batch))]
    questions = [_to_datasketch(question.batch, question.row) for question in asked]
    with client_of(servers) as client:
        empty_redis(client)
        empty = used(client)
        path = client.connection_pool.connection_kwargs["path"]
        lsh = MinHashLSH(
            threshold=0.5,
            num_perm=128,
            storage_config={"type": "redis", "basename": b"peer", "redis": {"unix_socket_path": path}},
        )
        started = time.perf_counter()
        with lsh.insertion_session() as session:
            for entry_id, signature in enumerate(signatures, 1):
                session.insert(entry_id, signature)
        seconds = time.perf_counter() - started
        size = used(client) - empty
        answers: list[set[int]] = []
        rates = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            answers = [set(lsh.query(question)) for question in questions]
            rates.append(len(questions) / (time.perf_counter() - started))
    return IndexFigures(
        built=len(signatures) / seconds,
        asked=statistics.median(rates),
        bytes_per_book=size / len(signatures),
        recall=_recall(asked, answers),
        spread=_spread(rates),
    )


def _to_datasketch(batch: Books, row: int) -> object:
    signature = batch.sketch(row).minhash
    assert isinstance(signature, MinHashSignature)
    return to_datasketch(signature)


def _bookprint(servers: Servers, asked: Sequence[Question], *, samples_alone: bool) -> IndexFigures:
    with client_of(servers) as client:
        seconds = []
        empty = 0
        for _ in range(ROUNDS):
            empty_redis(client)
            empty = used(client)
            seconds.append(with_stores(servers, _write_samples) if samples_alone else reconcile(servers))
        size = used(client) - empty
    if samples_alone:
        # Queries need the flat index too, which a book with a sample alone would be in all the same.
        reconcile(servers)
    entries = [question.batch.sketch(question.row).to_entry(question.entry_id) for question in asked]
    if samples_alone:
        entries = [_sample_alone(entry) for entry in entries]

    async def use(stores: Stores) -> IndexFigures:
        index = stores.indexes.of(DEFAULT_SUITE)

        async def near(entry: Entry) -> object:
            return await find(index, entry, Within(D), 0)

        async def verified(entry: Entry) -> Hits:
            return (await find(index, entry, Verified(), 0)).hits

        answers = [await verified(entry) for entry in entries]
        rates = [await _rate(verified, entries, 1) for _ in range(ROUNDS)]
        together = [await _rate(verified, entries, ASKED_AT_ONCE) for _ in range(ROUNDS)]
        ranges = [
            [await _rate(near, NEAR_TIMES * entries, at_once) for _ in range(0 if samples_alone else ROUNDS)]
            for at_once in (1, ASKED_AT_ONCE)
        ]
        return IndexFigures(
            built=LIBRARY.books / statistics.median(seconds),
            asked=statistics.median(rates),
            bytes_per_book=size / LIBRARY.books,
            recall=_recall(asked, [set(hits.entry_ids.tolist()) for hits in answers]),
            spread=_spread(rates),
            added=await _add(stores, samples_alone),
            asked_together=statistics.median(together),
            near=statistics.median(ranges[0]) if ranges[0] else None,
            near_together=statistics.median(ranges[1]) if ranges[1] else None,
        )

    return with_stores(servers, use)


async def _write_samples(stores: Stores) -> float:
    """Write the posting list of samples alone, as the whole index is written; the seconds."""
    started = time.perf_counter()
    entry_ids, _ = await stores.signatures.read_entry_ids()
    index = stores.indexes.of(DEFAULT_SUITE)
    expected = await ExpectedIndex.of(stores.signatures, index, entry_ids, [index.suite.sample])
    async for part in expected.samples():
        await index.write_buckets(part.keys, part.packed, part.largest)
    return time.perf_counter() - started


async def _rate(ask: Callable[[Entry], Awaitable[object]], entries: Sequence[Entry], at_once: int) -> float:
    """Questions answered a second, so many under way at a time."""
    started = time.perf_counter()
    for start in range(0, len(entries), at_once):
        if at_once == 1:  # without a task, which would take a fifth of the time of a range query
            await ask(entries[start])
        else:
            await asyncio.gather(*map(ask, entries[start : start + at_once]))
    return len(entries) / (time.perf_counter() - started)


async def _add(stores: Stores, samples_alone: bool) -> float:
    """Entries that the index takes a second; they are taken out again."""
    first = 10 * LIBRARY.books
    entries = [
        batch.sketch(row).to_entry(first + row)
        for batch in simulate(_ADDED, seed=_SEED)
        for row in range(len(batch))
    ]
    if samples_alone:
        entries = [_sample_alone(entry) for entry in entries]
    index = stores.indexes.of(DEFAULT_SUITE)
    parts = [entries[start : start + ADDED_AT_ONCE] for start in range(0, _ADDED, ADDED_AT_ONCE)]
    started = time.perf_counter()
    for part in parts:
        await index.insert(part)
    rate = len(entries) / (time.perf_counter() - started)
    for part in parts:
        await index.delete(part)
    return rate


def _sample_alone(entry: Entry) -> Entry:
    return replace(entry, fingerprint=None, minhash=None)


def with_stores(servers: Servers, use: Callable[[Stores], Awaitable[T]]) -> T:
    """The result of a function of the product's stores on these servers, in an event loop like theirs."""

    async def run() -> T:
        settings = Settings(DATABASE_URL=servers.database_url, REDIS_URL=servers.redis_url)
        async with open_stores(settings) as stores:
            return await use(stores)

    return uvloop.run(run())


def _spread(rates: Sequence[float]) -> str:
    return f"{min(rates):,.0f}–{max(rates):,.0f}"
