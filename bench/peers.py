"""Bookprint's index against datasketch on the same Redis, and against faiss and gaoya in process.

datasketch's `MinHashLSH` (threshold 0.5, 128 permutations) is what a team would otherwise put on Redis. It
gets the same MinHash values, in an `insertion_session`, and has the same Valkey for itself. Bookprint's side
is its whole index: bands, postings and samples, written as the product writes them, and asked for verified
near-duplicates where datasketch tells candidates. faiss and gaoya keep fingerprints in one process's memory.
"""

import asyncio
import ctypes
import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np
import psutil
from numpy.typing import NDArray

from app.core.minhash import to_datasketch
from app.core.model import Entry
from app.core.recipe import DEFAULT_MINHASH
from app.embedded import Servers
from app.settings import Settings
from app.wiring import House, open_house
from bench.redis_memory import empty_redis, used, weighed
from bench.report import Cell, Section, Table
from bench.serving import Library, client_of, opened, reconcile
from bench.simulation import Books, simulate

T = TypeVar("T")

_TOGETHER = Library(100_000, texts=True)
_ALONE = Library(1_000_000, texts=False)
_ADDED, _ADDED_AT_ONCE = 4_000, 50
_QUERIES = 300
_ROUNDS = 3
_D = 7
_SEED = 5
_WORDS = 32  # of a document for gaoya


@dataclass(frozen=True, slots=True)
class Measured:
    """What one index did."""

    inserted: float  # books a second
    asked: float  # queries a second, one after the other
    bytes_per_book: float
    minhash_bytes: float  # of those, what MinHash takes
    recall: tuple[float, float]  # of the same work's books with Jaccard similarity >= 0.5, and >= 0.1
    spread: str = ""  # lowest and highest queries a second


def run(out_dir: Path) -> Section:
    """Some minutes; libraries in the folder that BOOKPRINT_SCALE_DATA names are not loaded again."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("BOOKPRINT_SCALE_DATA") or temporary)
        together = _on_redis(folder)
        alone = _in_process(folder)
    return Section(
        title="Against datasketch, faiss and gaoya",
        command="python -m bench peers",
        tables=[together, alone],
        notes=[
            f"{_TOGETHER.books:,} simulated books, the same on both sides. One client on a unix socket asks "
            f"{_QUERIES} questions, one after the other; the median of {_ROUNDS} rounds. datasketch answers "
            "candidates by MinHash alone, without scores; Bookprint answers books that fingerprint, MinHash "
            "and shingle sample confirm, and its memory holds all three. In bulk Bookprint builds the index "
            f"from signatures in Postgres; as posts come, it writes {_ADDED_AT_ONCE} entries at a time.",
            f"In process: {_ALONE.books:,} simulated fingerprints, d ≤ {_D}. gaoya takes only texts and "
            f"makes fingerprints of its own; it got {_WORDS} words for each of a fifth as many books (its "
            "build time is scaled up), hashing them is in its figures, and its neighbours are not ours. The "
            "bytes of faiss and gaoya are resident memory; Bookprint's are those of Redis or of its arrays.",
        ],
    )


def _on_redis(folder: Path) -> Table:
    [*batches] = simulate(_TOGETHER.books)
    asked = _questions(batches)
    with opened(_TOGETHER, folder) as servers:
        theirs = _datasketch(servers, batches, asked)
        print(f"  datasketch: {theirs}", flush=True)
        ours, near, added = _bookprint(servers, batches, asked)
        print(f"  Bookprint: {ours}, {near:.0f} range queries/s, {added:.0f} entries/s added", flush=True)
    names = ["Bookprint, bulk", "datasketch", "ratio"]
    rows: list[list[Cell]] = [
        ["inserts, books/s", ours.inserted, theirs.inserted, ours.inserted / theirs.inserted],
        ["inserts as posts come, books/s", added, theirs.inserted, added / theirs.inserted],
        ["queries (near-duplicates)/s", ours.asked, theirs.asked, ours.asked / theirs.asked],
        [f"exact range queries (d ≤ {_D})/s", near, theirs.asked, near / theirs.asked],
        ["their spread", ours.spread, theirs.spread, None],
        [
            "Redis memory, bytes per book",
            ours.bytes_per_book,
            theirs.bytes_per_book,
            ours.bytes_per_book / theirs.bytes_per_book,
        ],
        [
            "of those, MinHash",
            ours.minhash_bytes,
            theirs.minhash_bytes,
            ours.minhash_bytes / theirs.minhash_bytes,
        ],
        ["recall, books of one work with J ≥ 0.5", ours.recall[0], theirs.recall[0], None],
        ["recall, books of one work with J ≥ 0.1", ours.recall[1], theirs.recall[1], None],
    ]
    return Table(["", *names], rows, f"The same Valkey, the same {_TOGETHER.books:,} books")


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A simulated book, its entry, and those of its work by how similar they are."""

    batch: Books
    row: int
    entry_id: int
    kin: dict[int, float]  # entry id to estimated Jaccard similarity

    def recall(self, found: set[int], at_least: float) -> tuple[int, int]:
        """How many of its kin were found, of how many."""
        wanted = {entry for entry, similarity in self.kin.items() if similarity >= at_least}
        return len(wanted & found), len(wanted)


def _questions(batches: Sequence[Books]) -> list[Question]:
    """Books that have others of their work, and as many that have none."""
    rng = np.random.default_rng(_SEED)
    asked: list[Question] = []
    first = 1
    for batch in batches:
        for row in rng.permutation(len(batch))[: 2 * _QUERIES // len(batches)].tolist():
            kin = np.flatnonzero(batch.works == batch.works[row])
            assert batch.minhash is not None
            similar = (batch.minhash[kin] == batch.minhash[row]).mean(axis=1)
            pairs = zip((first + kin).tolist(), similar.tolist(), strict=True)
            known = {entry: each for entry, each in pairs if entry != first + row}
            asked.append(Question(batch, row, first + row, known))
        first += len(batch)
    asked.sort(key=lambda question: not question.kin)
    return [*asked[: _QUERIES // 2], *asked[-_QUERIES // 2 :]]


def _recall(questions: Sequence[Question], answers: Sequence[set[int]]) -> tuple[float, float]:
    shares = []
    for at_least in (0.5, 0.1):
        counted = [
            question.recall(found, at_least) for question, found in zip(questions, answers, strict=True)
        ]
        shares.append(sum(found for found, _ in counted) / max(1, sum(wanted for _, wanted in counted)))
    return shares[0], shares[1]


def _datasketch(servers: Servers, batches: Sequence[Books], asked: Sequence[Question]) -> Measured:
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
        rate = len(signatures) / (time.perf_counter() - started)
        held = used(client) - empty
        answers: list[set[int]] = []
        rates = []
        for _ in range(_ROUNDS):
            started = time.perf_counter()
            answers = [set(lsh.query(question)) for question in questions]
            rates.append(len(questions) / (time.perf_counter() - started))
        empty_redis(client)
    return Measured(
        rate,
        statistics.median(rates),
        held / len(signatures),
        held / len(signatures),
        _recall(asked, answers),
        _spread(rates),
    )


def _to_datasketch(batch: Books, row: int) -> object:
    signature = batch.sketch(row).minhash
    assert signature is not None
    return to_datasketch(signature)


def _bookprint(
    servers: Servers, batches: Sequence[Books], asked: Sequence[Question]
) -> tuple[Measured, float, float]:
    """The index built and asked; range queries a second, and entries a second as posts bring them."""
    with client_of(servers) as client:
        seconds = []
        empty = 0
        for _ in range(_ROUNDS):
            empty_redis(client)
            empty = used(client)
            seconds.append(reconcile(servers))
        held = used(client) - empty
        families = weighed(client, _TOGETHER.books)["families"]
        [minhash] = [
            one["bytes_per_book"] for kind, one in families.items() if kind.endswith(DEFAULT_MINHASH)
        ]
    entries = [question.batch.sketch(question.row).to_entry(question.entry_id) for question in asked]

    async def use(house: House) -> tuple[list[float], list[set[int]], float, float]:
        answers: list[set[int]] = []
        rates, near_rates = [], []
        await house.index.near_duplicates(entries[0])
        for _ in range(_ROUNDS):
            started = time.perf_counter()
            found = [await house.index.near_duplicates(entry) for entry in entries]
            rates.append(len(entries) / (time.perf_counter() - started))
            answers = [set(hits.entry_ids.tolist()) for hits in found]
            started = time.perf_counter()
            for entry in entries:
                assert entry.fingerprint is not None
                await house.index.within(entry.fingerprint, _D)
            near_rates.append(len(entries) / (time.perf_counter() - started))
        new = _new_entries()
        started = time.perf_counter()
        for start in range(0, len(new), _ADDED_AT_ONCE):
            await house.index.add(new[start : start + _ADDED_AT_ONCE])
        added = len(new) / (time.perf_counter() - started)
        return rates, answers, statistics.median(near_rates), added

    rates, answers, near, added = _in_house(servers, use)
    with client_of(servers) as client:
        empty_redis(client)
    books = sum(map(len, batches))
    measured = Measured(
        books / statistics.median(seconds),
        statistics.median(rates),
        held / books,
        minhash,
        _recall(asked, answers),
        _spread(rates),
    )
    return measured, near, added


def _new_entries() -> list[Entry]:
    first = 10 * _TOGETHER.books
    return [
        batch.sketch(row).to_entry(first + row)
        for batch in simulate(_ADDED, seed=_SEED)
        for row in range(len(batch))
    ]


def _in_house(servers: Servers, use: Callable[[House], Awaitable[T]]) -> T:
    async def run() -> T:
        settings = Settings(DATABASE_URL=servers.database_url, REDIS_URL=servers.redis_url)
        async with open_house(settings) as house:
            return await use(house)

    return asyncio.run(run())


def _in_process(folder: Path) -> Table:
    rows: list[list[Cell]] = []
    for name, measure, columns in (
        ("faiss IndexBinaryFlat", _faiss, ["yes", "no", "adds; removal rewrites all", "no"]),
        (f"gaoya SimHash, {_D + 2} blocks", _gaoya, ["no", "no", "adds; cannot remove", "no"]),
        ("Bookprint, scan of the roll", _roll, ["yes", "from Redis", "yes", "no"]),
    ):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            figures = pool.submit(measure).result(1800)
        rows.append([name, *figures, *columns])
        print(f"  {name}: {figures}", flush=True)
    rows.append(["Bookprint, index in Redis", *_over_redis(folder), "yes", "yes", "yes", "yes"])
    headers = ["index", "build, s", "query, ms", "bytes per book", "hits a query"]
    return Table(
        [*headers, "exact", "durable", "live updates", "over the network"],
        rows,
        f"{_ALONE.books:,} fingerprints, d ≤ {_D}, one query at a time",
    )


def _fingerprints() -> NDArray[np.uint8]:
    return np.concatenate([batch.fingerprints for batch in simulate(_ALONE.books, texts=False)])


def _chosen(n: int) -> list[int]:
    chosen: list[int] = np.random.default_rng(_SEED).choice(n, _QUERIES, replace=False).tolist()
    return chosen


def _resident() -> int:
    """Bytes of this process that are in memory, once what was freed has been given back."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


def _timed(ask: Callable[[int], int], rows: Sequence[int]) -> tuple[float, float]:
    """Median milliseconds of a query, and hits of the average one."""
    ask(rows[0])
    seconds, hits = [], 0
    for row in rows:
        started = time.perf_counter()
        hits += ask(row)
        seconds.append(time.perf_counter() - started)
    return 1000 * statistics.median(seconds), hits / len(rows)


def _faiss() -> list[Cell]:
    import faiss

    faiss.omp_set_num_threads(1)
    fingerprints = _fingerprints()
    before = _resident()
    started = time.perf_counter()
    index = faiss.IndexBinaryFlat(128)
    index.add(fingerprints)
    seconds = time.perf_counter() - started
    held = _resident() - before
    rows = _chosen(len(fingerprints))
    # Its radius is exclusive.
    milliseconds, hits = _timed(
        lambda row: int(index.range_search(fingerprints[row : row + 1], _D + 1)[0][1]), rows
    )
    return [seconds, milliseconds, held / len(fingerprints), hits]


def _gaoya() -> list[Cell]:
    from gaoya.simhash import SimHashStringIndex

    books = _ALONE.books // 5
    chosen = set(_chosen(books))
    asked: list[str] = []
    index = SimHashStringIndex(hash_size=128, num_blocks=_D + 2, hamming_distance=_D + 1)
    before, seconds, first = _resident(), 0.0, 0
    for batch in simulate(books):
        texts = _as_words(batch)
        started = time.perf_counter()
        for number, text in enumerate(texts, first):
            index.insert_document(number, text)
        seconds += time.perf_counter() - started
        asked += [text for number, text in enumerate(texts, first) if number in chosen]
        first += len(texts)
        del batch, texts
    held = _resident() - before
    milliseconds, hits = _timed(lambda row: len(index.query(asked[row])), range(len(asked)))
    return [seconds * _ALONE.books / books, milliseconds, held / books, hits]


def _as_words(batch: Books) -> list[str]:
    """A text for each book, of which books of one work share as many words as they share MinHash values."""
    assert batch.minhash is not None
    return [" ".join(format(value, "x") for value in row) for row in batch.minhash[:, :_WORDS].tolist()]


def _roll() -> list[Cell]:
    from app.core.buckets import ROLL_RECORD
    from app.core.roll import Roll

    fingerprints = _fingerprints()
    records = np.zeros(len(fingerprints), dtype=ROLL_RECORD)
    records["entry_id"] = np.arange(1, len(fingerprints) + 1)
    records["bits"], records["signed"] = fingerprints, True
    before = _resident()
    started = time.perf_counter()
    roll = Roll(records)
    seconds = time.perf_counter() - started
    held = _resident() - before
    milliseconds, hits = _timed(
        lambda row: roll.within(fingerprints[row].tobytes(), _D).entry_ids.size, _chosen(len(fingerprints))
    )
    return [seconds, milliseconds, held / len(fingerprints), hits]


def _over_redis(folder: Path) -> list[Cell]:
    with opened(_ALONE, folder) as servers, client_of(servers) as client:
        empty_redis(client)
        empty = used(client)
        seconds = reconcile(servers)
        held = (used(client) - empty) / _ALONE.books
        [*batches] = simulate(_ALONE.books, texts=False)
        sizes = len(batches[0])
        queries = [batches[row // sizes].sketch(row % sizes).fingerprint for row in _chosen(_ALONE.books)]

        async def use(house: House) -> tuple[float, float]:
            times, hits = [], 0
            for number, query in enumerate([*queries[:5], *queries]):
                assert query is not None
                started = time.perf_counter()
                found = await house.index.within(query, _D)
                if number >= 5:
                    times.append(time.perf_counter() - started)
                    hits += found.entry_ids.size
            return 1000 * statistics.median(times), hits / len(times)

        milliseconds, hits = _in_house(servers, use)
    return [seconds, milliseconds, held, hits]


def _spread(rates: Sequence[float]) -> str:
    return f"{min(rates):,.0f}–{max(rates):,.0f}"
