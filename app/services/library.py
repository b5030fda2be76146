"""The library as a whole: its contents and its last changes."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app.services.changes import Change, Changes
from app.stores.postgres.connections import Database
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.library import Holdings, LibraryQueries, ValueCount
from app.stores.postgres.names import NameQueries

MOST_VALUES = 500
"""Maximum number of years, languages and collections in the answer, the most frequent of each."""

_ALL_COUNTED = 100_000
"""Maximum number of books that are all counted; larger libraries are estimated from `_SAMPLED` books."""

_SAMPLED = 30_000
_FRESH_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class LatestChanges:
    """The last changes, newest first, and the titles of their books that still exist."""

    items: Sequence[Change]
    titles: Mapping[UUID, str | None]


class WholeLibrary(LibraryQueries):
    """Service that counts the library's contents, at most every ten seconds, and reads the last changes."""

    def __init__(self, database: Database, entries: EntryStore, names: NameQueries, changes: Changes) -> None:
        super().__init__(database)
        self._entries = entries
        self._names = names
        self._changes = changes
        self._counting = asyncio.Lock()
        self._counted_at = float("-inf")  # of `time.monotonic`
        self._holdings = Holdings(0, False, [], [], [])

    async def holdings(self) -> Holdings:
        """Return the contents of the library, at most ten seconds old."""
        async with self._counting:
            if time.monotonic() - self._counted_at > _FRESH_SECONDS:
                self._holdings = await self._count()
                self._counted_at = time.monotonic()
            return self._holdings

    async def latest(self, limit: int) -> LatestChanges:
        """Return the last changes, at most `limit`."""
        items = await self._changes.latest(limit)
        ids = {book_id for item in items for book_id in (item.book_id, item.other_id) if book_id is not None}
        books = await self._names.read_books(list(ids))
        return LatestChanges(items, {book_id: book.metadata.title for book_id, book in books.items()})

    async def _count(self) -> Holdings:
        books, copies = await self._entries.count_roughly(), await self.count_copies()
        percent = 100 if books <= _ALL_COUNTED else 100 * _SAMPLED / books
        counted = await self.count_values(percent, MOST_VALUES)
        return replace(counted if books <= _ALL_COUNTED else _estimated(counted, books), copies=copies)


def _estimated(sample: Holdings, books: int) -> Holdings:
    """Return the holdings of a library of `books` books, estimated from a sample."""
    scale = books / max(sample.books, 1)

    def scaled(counts: Sequence[ValueCount]) -> list[ValueCount]:
        return [ValueCount(each.value, round(each.count * scale)) for each in counts]

    return Holdings(books, True, scaled(sample.years), scaled(sample.languages), scaled(sample.collections))
