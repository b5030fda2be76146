"""Books: ingest (compute, store durably, write to the band index), read from files, describe and delete.

A post is acknowledged once the book is stored in Postgres. If the band index cannot be written, the book is
`pending`, and lookups read it from Postgres. The job that finds its relations, or the next reconciliation,
indexes it.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import UUID

import structlog

from app.catalog.identifiers import all_normalised, normalised, with_normal_identifiers
from app.services.signing import Extras, computed, signed
from app.stores.postgres.audit import Actor
from app.stores.postgres.books import BookFilter as BookFilter, BookStore
from app.stores.postgres.bulk import BulkStore, ExistingBook, Stored
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.jobs import JobStore
from app.stores.redis.band_index import BandIndex
from bookprint_core.errors import Conflict, InvalidInput, Refusal, Unavailable
from bookprint_core.model import (
    Book,
    CatalogRecord,
    Content,
    Entry,
    NewBook,
    NewContent,
    PageLabels,
    Sketch,
    StoredBook,
    Submission,
)
from bookprint_readers.extraction import submission_of
from bookprint_readers.processes import IsolatedReader

log = structlog.get_logger()

INDEX_SECONDS = 2.0
"""Maximum seconds that a post waits for Redis before it is acknowledged as pending."""

SET_SECONDS = 30.0
"""Maximum seconds for which writing a set of books to the band index is retried."""

_SECONDS_BETWEEN_TRIES = 0.5

_SECONDS_BETWEEN_COUNTS = 5.0
_RETRY_AFTER = 60

MOST_WAITING_JOBS = 1_000_000
"""Maximum number of books that wait to be related."""


class BacklogFull(Unavailable):
    """Too many books wait to be related."""

    problem = "backlog-full"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most:,} books wait to be related, so no more are stored. Check that workers run, or start "
            "more with bookprint worker.",
            _RETRY_AFTER,
        )


class Backlog:
    """The number of waiting jobs, counted every five seconds."""

    def __init__(self, jobs: JobStore, most: int = MOST_WAITING_JOBS) -> None:
        self._jobs = jobs
        self._most = most
        self._is_full = False
        self._count_due = 0.0

    async def require_room(self) -> None:
        """Raise BacklogFull if the maximum number of jobs waits."""
        now = time.monotonic()
        if now >= self._count_due:
            self._count_due = now + _SECONDS_BETWEEN_COUNTS
            self._is_full = await self._jobs.count_waiting(self._most) >= self._most
        if self._is_full:
            raise BacklogFull(self._most)


OutcomeKind = Literal["created", "already there", "pending", "failed"]

KINDS: tuple[OutcomeKind, ...] = ("created", "already there", "pending", "failed")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one book."""

    kind: OutcomeKind
    refusal: Refusal | None = None  # why the book failed


@dataclass(slots=True)
class IngestRun:
    """The state of an ingest of many books: the number of each outcome, and a request to end early."""

    counts: dict[OutcomeKind, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    interrupted: bool = False

    @property
    def total(self) -> int:
        """Number of books that have an outcome."""
        return sum(self.counts.values())

    def interrupt(self) -> None:
        """End the run: no more books are read, but books already read are stored."""
        self.interrupted = True


@dataclass(frozen=True, slots=True, eq=False)
class StoredBatch:
    """Stored books, and the contents of the new books, not yet written to the band index."""

    stored: Sequence[Stored]
    entries: Mapping[int, NewContent]  # of the new books, by entry id


def outcome_of(stored: Stored | ExistingBook, *, indexed: bool = True) -> Outcome:
    """Return the outcome of a book that the catalogue has stored, found or refused."""
    if isinstance(stored, Conflict):
        return Outcome("failed", Refusal.of(stored))
    if isinstance(stored, UUID | ExistingBook):
        return Outcome("already there")
    return Outcome("created" if indexed else "pending")


class Ingest:
    """Writer of books to the catalogue and the band index."""

    def __init__(
        self,
        catalogue: BookStore,
        sets: BulkStore,
        entries: EntryStore,
        index: BandIndex,
        backlog: Backlog,
        extras: Extras,
    ) -> None:
        """Create with the `extras` to store for each text."""
        self.extras = extras
        self._catalogue = catalogue
        self._sets = sets
        self._entries = entries
        self._index = index
        self._backlog = backlog

    async def post(self, submission: Submission, *, actor: Actor) -> StoredBook:
        """Store a book; a book that exists already is returned instead.

        A book of an actor with a collection is stored in it. Raises `OtherCollection` if it names another.
        """
        metadata = with_normal_identifiers(submission.metadata)
        metadata = replace(metadata, collection=metadata.collection or actor.collection)
        actor.require(metadata.collection)
        return await self._store(
            submission.content,
            submission.sketch,
            submission.page_labels,
            lambda content: self._catalogue.insert(
                new_book_id(), metadata, content, submission.record, actor=actor
            ),
        )

    async def replace_content(
        self,
        book_id: UUID,
        content: Content | None,
        signatures: Sketch | None,
        if_version: int | None,
        page_labels: PageLabels = (),
        *,
        actor: Actor,
    ) -> StoredBook:
        """Replace the content of a book, and remove its old entry from the index."""
        return await self._store(
            content,
            signatures,
            page_labels,
            lambda prepared: self._catalogue.update_content(book_id, prepared, if_version, actor=actor),
        )

    async def delete(self, book_id: UUID, if_version: int | None, *, actor: Actor) -> None:
        """Delete a book; after the commit no lookup returns it."""
        await self._forget(await self._catalogue.delete(book_id, if_version, actor=actor))

    async def _store(
        self,
        content: Content | None,
        signatures: Sketch | None,
        page_labels: PageLabels,
        write: Callable[[NewContent], Awaitable[StoredBook]],
    ) -> StoredBook:
        """Compute the signatures, write them to the catalogue and then to the index."""
        await self._backlog.require_room()
        prepared = replace(await self._prepare(content, signatures), page_labels=page_labels)
        stored = await write(prepared)
        if stored.replaced is not None:
            await self._forget(stored.replaced)
        return await self._indexed(stored, prepared)

    async def _prepare(self, content: Content | None, signatures: Sketch | None) -> NewContent:
        if content is not None:
            # One thread is slower, but leaves a core free for lookups.
            return await asyncio.to_thread(computed, content, self.extras)
        if signatures is None:
            raise InvalidInput("A book needs one of text, pages or signatures.", "text")
        if signatures.pages is None:  # Hashing so few bytes is faster than changing threads.
            return signed(signatures)
        return await asyncio.to_thread(signed, signatures)

    async def _indexed(self, stored: StoredBook, content: NewContent) -> StoredBook:
        if not stored.created:
            return stored
        entry = content.sketch.to_entry(stored.book.entry_id)
        return stored.as_indexed() if await self._write_to_index([entry]) else stored

    async def known(self, key: bytes, external_id: str | None) -> Outcome | None:
        """Return the outcome of a book with this content key and external id; None if the book is new."""
        [found] = await self._sets.list_existing([(key, external_id)])
        return None if found is None else outcome_of(found)

    async def store(self, books: Sequence[NewBook], *, actor: Actor) -> StoredBatch:
        """Store a set of books with the same results as single posts; from then on lookups return them."""
        normal = (replace(book, metadata=with_normal_identifiers(book.metadata)) for book in books)
        new = dict(zip(new_book_ids(len(books)), normal, strict=True))
        stored = await self._sets.insert(new, actor=actor)
        pairs = zip(stored, books, strict=True)
        entries = {entry_id: book.content for entry_id, book in pairs if isinstance(entry_id, int)}
        return StoredBatch(stored, entries)

    async def index(self, batch: StoredBatch) -> list[Outcome]:
        """Write the new books of a stored set to the band index; return the outcome of each book."""
        entries = [content.sketch.to_entry(entry_id) for entry_id, content in batch.entries.items()]
        indexed = not entries or await self._write_to_index(entries, SET_SECONDS)
        return [outcome_of(each, indexed=indexed) for each in batch.stored]

    async def _write_to_index(self, entries: Sequence[Entry], insists_for: float | None = None) -> bool:
        """Write new entries to the band index; return False if they stay pending.

        Retries for `insists_for` seconds; None: tries once.
        """
        entry_ids = [entry.entry_id for entry in entries]
        try:
            async with asyncio.timeout(insists_for or INDEX_SECONDS):
                while True:
                    try:
                        await self._index.insert(entries)
                        break
                    except Unavailable:  # writing the same entries twice is harmless
                        if insists_for is None:
                            raise
                        await asyncio.sleep(_SECONDS_BETWEEN_TRIES)
                await self._entries.update_indexed(entry_ids)
        except (Unavailable, TimeoutError) as exc:
            log.warning("books are pending", entry_ids=entry_ids[:10], reason=str(exc) or "timeout")
            return False
        return True

    async def _forget(self, entry: Entry) -> None:
        # If Redis fails, the records stay: lookups skip them, and the next reconciliation removes them.
        try:
            async with asyncio.timeout(INDEX_SECONDS):
                await self._index.delete([entry])
        except (Unavailable, TimeoutError) as exc:
            log.warning(
                "stale entry stays in the index", entry_id=entry.entry_id, reason=str(exc) or "timeout"
            )


_DESCRIBING = ("title", "authors", "year", "volume")
"""Metadata fields that a post under a known external id may repeat with other values."""


def told_of_post(stored: StoredBook, submission: Submission, actor: Actor) -> list[str]:
    """Return warnings for a post whose book already exists with another collection or description."""
    if stored.created:
        return []
    told, sent, kept = [], submission.metadata, stored.book.metadata
    wanted, found = sent.collection or actor.collection, kept.collection
    if wanted is not None and wanted != found:
        place = "no collection" if found is None else f"the collection {found!r}"
        told.append(
            f"This book exists already, in {place}, and stays as it is. To store it in {wanted!r} as well, "
            "post it with an external_id of your own."
        )
    other = [name for name in _DESCRIBING if getattr(sent, name) not in (None, (), getattr(kept, name))]
    if sent.external_id is not None and other:
        told.append(
            f"This book exists already, with other values of {', '.join(other)}, and stays as it is. "
            f"Change it with PATCH /v1/books/{stored.book.id}."
        )
    return told


class Books(BookStore):
    """The catalogue as clients see it."""

    async def change_metadata(
        self, book_id: UUID, changes: Mapping[str, object], if_version: int | None = None, *, actor: Actor
    ) -> Book:
        """Set the named metadata fields of a book; all other fields stay."""
        if isinstance(identifiers := changes.get("identifiers"), list):
            changes = {**changes, "identifiers": list(all_normalised(identifiers))}
        return await self.update_metadata(book_id, changes, if_version, actor=actor)

    async def search(self, wanted: BookFilter, after: UUID | None, limit: int) -> list[Book]:
        """Return at most `limit` books after the id `after`, in order of ids."""
        if wanted.identifier is not None:
            wanted = replace(wanted, identifier=normalised(wanted.identifier))
        return await self.list_books(wanted, after, limit)


def new_book_id() -> UUID:
    """Return a UUID of version 7 (RFC 9562, 5.7): 48 bits of Unix time in milliseconds, then random bits."""
    return _id_of(time.time_ns() // 1_000_000)


def new_book_ids(count: int, after: UUID | None = None) -> list[UUID]:
    """Return `count` new ids, ascending and above `after`, even if `after` contains a later time."""
    now = time.time_ns() // 1_000_000
    if after is not None:
        now = max(now, (after.int >> 80) + 1)
    return sorted(_id_of(now) for _ in range(count))


def _id_of(millisecond: int) -> UUID:
    value = int.from_bytes(millisecond.to_bytes(6, "big") + os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=value)


class FileReading:
    """Reader of files that clients send, each in a separate process."""

    def __init__(self, reader: IsolatedReader) -> None:
        self._reader = reader

    async def read(
        self, descriptor: int, name: str, known: Mapping[str, Any], record: CatalogRecord | None = None
    ) -> Submission:
        """Return the book in an open file, called `name` in errors; `known` fields outrank those of the file.

        Raises InvalidInput, most often a subclass of UnusableFile.
        """
        extraction = await self._reader.read(descriptor, name)
        return await asyncio.to_thread(
            submission_of, extraction, replace(extraction.metadata, **known), record
        )
