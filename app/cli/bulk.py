"""Taking in many books where the database is reached: read and signed in processes, stored in batches.

While one batch is indexed, the next one is stored and the one after it read. Books are stored in the order of
the files, so a run that was killed has stored a part from the beginning.
"""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from app.cli.posting import KINDS, Kind
from app.cli.processes import SECONDS_PER_BOOK, ReadingProcesses
from app.cli.reading import Known, Prepare, Refusal, each_of, results_of
from app.core.errors import Unavailable
from app.core.recipe import Suites
from app.readers.unread import Unread
from app.services.bulk import Bulk, BulkOutcome, PreparedBook, StoredBatch
from app.stores.postgres.suites import SuitesChanged

_BOOKS_AT_ONCE = 64
_BYTES_AT_ONCE = 32 << 20
"""Books of a batch, and their compressed texts and signatures; the first to be reached ends it."""

_PATIENCE = 60.0
"""Seconds for which a batch is tried again while a server is out of reach."""

_SECONDS_BETWEEN_TRIES = 0.5

T = TypeVar("T")

Result = PreparedBook | Refusal | BulkOutcome


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one book."""

    book: Unread
    kind: Kind
    refusal: Refusal | None = None


@dataclass(slots=True)
class BulkRun:
    """The number of books by their fate, and why the run ended early, if it did."""

    counts: dict[Kind, int]
    interrupted: bool = False

    @property
    def total(self) -> int:
        """Books that have met their fate."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Books that are stored together."""

    results: list[tuple[Unread, Result]]
    stored: StoredBatch | None = None  # None: not yet


Tell = Callable[[Fate, BulkRun], None]


async def ingest_in_bulk(
    bulk: Bulk,
    books: Iterable[Unread],
    *,
    processes: int,
    keep_texts: bool,
    tell: Tell,
    seconds: float = SECONDS_PER_BOOK,
) -> BulkRun:
    """Take in the books; `tell` gets the fate of each, in order. After Ctrl-C what was read is stored.

    Raises Unavailable where a server stays out of reach.
    """
    loop = asyncio.get_running_loop()
    run = BulkRun(dict.fromkeys(KINDS, 0))
    storing: asyncio.Task[_Batch] | None = None
    indexing: asyncio.Task[list[Fate]] | None = None

    def stop() -> None:
        run.interrupted = True

    async def advance(batch: _Batch | None) -> None:
        """Move every batch on by a stage: read, stored, indexed, told."""
        nonlocal storing, indexing
        stored = None if storing is None else await storing
        storing = None if batch is None else asyncio.create_task(_stored(bulk, batch, reading))
        fates = [] if indexing is None else await indexing
        indexing = None if stored is None else asyncio.create_task(_indexed(bulk, stored))
        for fate in fates:
            run.counts[fate.kind] += 1
            tell(fate, run)

    def answer(question: Known) -> Suites | BulkOutcome:
        return asyncio.run_coroutine_threadsafe(_known(bulk, question), loop).result()

    with suppress(NotImplementedError, ValueError):  # not in the main thread
        loop.add_signal_handler(signal.SIGINT, stop)
    with ReadingProcesses(processes, Prepare(keep_texts), answer, seconds) as reading:
        results = results_of(reading, books)
        while not run.interrupted and (batch := await asyncio.to_thread(_batch, results, run)):
            await advance(_Batch(batch))
        while storing is not None or indexing is not None:
            await advance(None)
    return run


async def _known(bulk: Bulk, question: Known) -> Suites | BulkOutcome:
    outcome = await _patiently(lambda: bulk.known(question.key, question.external_id))
    return await _patiently(bulk.suites) if outcome is None else outcome


def _batch(results: Iterator[tuple[Unread, Result]], run: BulkRun) -> list[tuple[Unread, Result]]:
    """The next results, so many as are stored together; empty at the end."""
    batch, size = [], 0
    for book, result in results:
        batch.append((book, result))
        size += _size(result)
        if len(batch) >= _BOOKS_AT_ONCE or size >= _BYTES_AT_ONCE or run.interrupted:
            break
    return batch


async def _stored(bulk: Bulk, batch: _Batch, reading: ReadingProcesses[Result]) -> _Batch:
    """The batch when its new books are stored."""
    books = [book for book, _ in batch.results]
    while True:
        prepared = [result for _, result in batch.results if isinstance(result, PreparedBook)]
        try:
            return replace(batch, stored=await _patiently(lambda: bulk.store(prepared)))  # noqa: B023
        except SuitesChanged:
            await bulk.suites(anew=True)
            batch = _Batch(await asyncio.to_thread(lambda: list(each_of(reading, books))))


async def _indexed(bulk: Bulk, batch: _Batch) -> list[Fate]:
    """The fate of each book of a batch, when the index holds the new ones."""
    assert batch.stored is not None
    stored = batch.stored
    outcomes = iter(await _patiently(lambda: bulk.index(stored)))
    return [
        _fate(book, next(outcomes) if isinstance(result, PreparedBook) else result)
        for book, result in batch.results
    ]


def _fate(book: Unread, result: Refusal | BulkOutcome) -> Fate:
    if isinstance(result, Refusal):
        return Fate(book, "failed", result)
    if result.conflict is not None:
        return Fate(book, "failed", Refusal(result.conflict, "conflict"))
    return Fate(book, result.kind)


def _size(result: object) -> int:
    if not isinstance(result, PreparedBook):
        return 0
    pages = result.content.sketch.pages
    return len(result.content.compressed_text or b"") + (0 if pages is None else pages.values.nbytes)


async def _patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer, asked for again while a server is out of reach."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return await ask()
        except Unavailable:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(_SECONDS_BETWEEN_TRIES)
