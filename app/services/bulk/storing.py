"""Taking many books in at once: stored in batches, then written to the band index, with the same outcome as
one post after the other.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

import structlog

from app.catalog.identifiers import with_normal_identifiers
from app.core.errors import Conflict, Refusal, Unavailable
from app.core.model import CatalogRecord, Entry, Metadata, NewContent
from app.services.books import new_book_id
from app.services.signing import Extras
from app.stores.postgres.audit import Actor
from app.stores.postgres.bulk import BulkStore, NewBook, Stored
from app.stores.postgres.entries import EntryStore
from app.stores.redis.band_index import BandIndex

log = structlog.get_logger()

INDEX_SECONDS = 30.0
"""Seconds that a batch waits for Redis before its books are left pending."""


_SECONDS_BETWEEN_TRIES = 0.5


OutcomeKind = Literal["created", "already there", "pending", "failed"]

KINDS: tuple[OutcomeKind, ...] = ("created", "already there", "pending", "failed")


@dataclass(frozen=True, slots=True, eq=False)
class PreparedBook:
    """A book whose signatures are computed."""

    metadata: Metadata
    content: NewContent
    record: CatalogRecord | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one book."""

    kind: OutcomeKind
    refusal: Refusal | None = None  # why it failed


@dataclass(slots=True)
class IngestRun:
    """A run through many books: how many had which outcome, and whether to end early."""

    counts: dict[OutcomeKind, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    interrupted: bool = False

    @property
    def total(self) -> int:
        """Books that have an outcome."""
        return sum(self.counts.values())

    def interrupt(self) -> None:
        """Read no further books; those that were read are still stored."""
        self.interrupted = True


@dataclass(frozen=True, slots=True, eq=False)
class StoredBatch:
    """Books that are stored, of which the new ones are yet to be written to the band index."""

    stored: Sequence[Stored]
    entries: Mapping[int, NewContent]  # of the new ones


class Bulk:
    """The way of many books into the catalogue and the band index."""

    def __init__(self, catalogue: BulkStore, entries: EntryStore, index: BandIndex, extras: Extras) -> None:
        """`extras` are those that books are to be prepared with."""
        self.extras = extras
        self._catalogue = catalogue
        self._entries = entries
        self._band_index = index

    async def known(self, key: bytes, external_id: str | None) -> Outcome | None:
        """What would become of a book with this content key and external id; None where it is new."""
        found = await self._catalogue.read_existing(key, external_id)
        return None if found is None else outcome_of(found)

    async def store(self, books: Sequence[PreparedBook], *, actor: Actor) -> StoredBatch:
        """Store a batch; from now on every lookup finds it."""
        new = [
            NewBook(new_book_id(), with_normal_identifiers(book.metadata), book.content, book.record)
            for book in books
        ]
        stored = await self._catalogue.insert(new, actor=actor)
        pairs = zip(stored, books, strict=True)
        entries = {entry_id: book.content for entry_id, book in pairs if isinstance(entry_id, int)}
        return StoredBatch(stored, entries)

    async def index(self, batch: StoredBatch) -> list[Outcome]:
        """Write a batch that was stored to the band index; an outcome for each book."""
        indexed = not batch.entries or await self._index(batch.entries)
        return [outcome_of(each, indexed=indexed) for each in batch.stored]

    async def _index(self, entries: Mapping[int, NewContent]) -> bool:
        """Write the entries into the index; False where they are left pending."""
        written = [content.sketch.to_entry(entry_id) for entry_id, content in entries.items()]
        try:
            async with asyncio.timeout(INDEX_SECONDS):
                await self._insert(written)
                await self._entries.update_indexed(list(entries))
        except (Unavailable, TimeoutError) as exc:
            log.warning("books are pending", books=len(entries), reason=str(exc) or "timeout")
            return False
        return True

    async def _insert(self, entries: Sequence[Entry]) -> None:
        while True:
            try:
                return await self._band_index.insert(entries)
            except Unavailable:  # nothing is lost by writing the same again
                await asyncio.sleep(_SECONDS_BETWEEN_TRIES)


def outcome_of(stored: Stored, *, indexed: bool = True) -> Outcome:
    """What became of a book that the catalogue has taken in or refused."""
    if isinstance(stored, Conflict):
        return Outcome("failed", Refusal.of(stored))
    if isinstance(stored, UUID):
        return Outcome("already there")
    return Outcome("created" if indexed else "pending")
