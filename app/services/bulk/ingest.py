"""Bulk ingest with direct access to the database: processes read and sign books, which are stored in batches.

While a batch is indexed, the second is stored and the third is read. Books are stored in the order of the
files, so a killed run has stored the first books.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from app.services.books import Ingest, IngestRun, Outcome, StoredBatch
from app.services.index.upkeep import IndexUpkeep
from app.services.signing import Extras, computed, signed
from app.stores.postgres.audit import Actor
from app.stores.redis.epoch import IndexState
from bookprint_core.errors import Refusal, Unavailable
from bookprint_core.model import NewBook
from bookprint_readers.processes import Ask, ParentQuestion, ReadingProcesses
from bookprint_readers.reading import key_of, refusal_of, results_of, submission_in
from bookprint_readers.unread import Unread


@dataclass(frozen=True, slots=True)
class Known(ParentQuestion):
    """Question for the outcome of a book with this content key and external id.

    The answer is None if the book is new.
    """

    key: bytes
    external_id: str | None


@dataclass(frozen=True, slots=True)
class Prepare:
    """Function that reads a book and signs it, unless the parent process knows the outcome."""

    extras: Extras
    collection: str | None = None  # of the book; outranks its metadata

    def __call__(self, book: Unread, ask: Ask) -> NewBook | Refusal | Outcome:
        """Return the book ready to be stored, its refusal, or the outcome that answers `Known`."""
        try:
            submission = submission_in(self.collection, book)
            key = key_of(submission)
            known: Outcome | None = ask(Known(key, submission.metadata.external_id))
            if known is not None:
                return known
            if submission.content is not None:
                content = computed(submission.content, self.extras, key)
            else:
                assert submission.sketch is not None  # else the submission has no key
                content = signed(submission.sketch)
            content = replace(content, page_labels=submission.page_labels)
            return NewBook(submission.metadata, content, submission.record)
        except Exception as exc:
            return refusal_of(exc)


_BOOKS_AT_ONCE = 64
_BYTES_AT_ONCE = 32 << 20
"""Limits of a batch: number of books, and bytes of compressed texts and page signatures."""

_PATIENCE = 60.0
"""Seconds for which an operation is retried while a server is unavailable."""

_SECONDS_BETWEEN_TRIES = 0.5

T = TypeVar("T")

Result = NewBook | Refusal | Outcome


_Batch = tuple[list[tuple[Unread, Result]], StoredBatch]
"""Results for books, and the books among them that are stored together."""

Tell = Callable[[Unread, Outcome], None]
"""Function called with a book and its outcome."""


async def ingest_in_bulk(
    ingest: Ingest,
    upkeep: IndexUpkeep,
    books: Iterable[Unread],
    *,
    run: IngestRun,
    processes: int,
    tell: Tell,
    actor: Actor,
    collection: str | None = None,
) -> None:
    """Ingest the books, count their outcomes in `run`, and pass each book in order to `tell`.

    A `collection` applies to all books and outranks their files.

    Raises Unavailable if a server stays unavailable.
    """
    if await upkeep.state() is not IndexState.COMPLETE:
        await upkeep.catch_up()
    loop = asyncio.get_running_loop()

    def answer(question: Known) -> Outcome | None:
        known = _patiently(lambda: ingest.known(question.key, question.external_id))
        return asyncio.run_coroutine_threadsafe(known, loop).result()

    prepare = Prepare(ingest.extras, collection)
    kinds = (NewBook, Refusal, Outcome, Known)
    reading = ReadingProcesses(processes, prepare, kinds, answer)
    try:
        await _in_stages(ingest, reading, books, run, tell, actor)
    finally:
        await asyncio.to_thread(reading.close)  # one of its threads may still await an answer from this loop
    if run.counts["pending"] and await upkeep.catch_up() is not None:
        run.counts["created"] += run.counts["pending"]
        run.counts["pending"] = 0


async def _in_stages(
    ingest: Ingest,
    reading: ReadingProcesses[Result],
    books: Iterable[Unread],
    run: IngestRun,
    tell: Tell,
    actor: Actor,
) -> None:
    """Read, store, index and report the books in batches; each stage processes one batch at a time."""
    results = results_of(reading, books)
    storing: asyncio.Task[_Batch] | None = None
    indexing: asyncio.Task[list[tuple[Unread, Outcome]]] | None = None
    while True:
        batch = [] if run.interrupted else await asyncio.to_thread(_batch, results, run)
        if not batch and storing is None and indexing is None:
            return
        stored = None if storing is None else await storing
        storing = asyncio.create_task(_stored(ingest, batch, actor)) if batch else None
        indexed = [] if indexing is None else await indexing
        indexing = None if stored is None else asyncio.create_task(_indexed(ingest, stored))
        for book, outcome in indexed:
            run.counts[outcome.kind] += 1
            tell(book, outcome)


def _batch(results: Iterator[tuple[Unread, Result]], run: IngestRun) -> list[tuple[Unread, Result]]:
    """Return the results of the next batch to be stored; an empty list at the end."""
    batch, size = [], 0
    for book, result in results:
        batch.append((book, result))
        size += _size(result)
        if len(batch) >= _BOOKS_AT_ONCE or size >= _BYTES_AT_ONCE or run.interrupted:
            break
    return batch


async def _stored(ingest: Ingest, results: list[tuple[Unread, Result]], actor: Actor) -> _Batch:
    """Store the new books of a batch and return the batch."""
    prepared = [result for _, result in results if isinstance(result, NewBook)]
    return results, await _patiently(lambda: ingest.store(prepared, actor=actor))


async def _indexed(ingest: Ingest, batch: _Batch) -> list[tuple[Unread, Outcome]]:
    """Write the new books of a batch to the index and return the outcome of each book."""
    results, stored = batch
    outcomes = iter(await _patiently(lambda: ingest.index(stored)))
    told: list[tuple[Unread, Outcome]] = []
    for book, result in results:
        if isinstance(result, NewBook):
            result = next(outcomes)
        told.append((book, Outcome("failed", result) if isinstance(result, Refusal) else result))
    return told


def _size(result: object) -> int:
    if not isinstance(result, NewBook):
        return 0
    pages = result.content.sketch.pages
    return len(result.content.compressed_text or b"") + (0 if pages is None else pages.values.nbytes)


async def _patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """Return the result of `ask`, which is repeated while a server is unavailable."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return await ask()
        except Unavailable:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(_SECONDS_BETWEEN_TRIES)
