"""The library as a whole: what it holds, and what changed last."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from app.services.changes import Changes, FeedItem
from app.stores.postgres.connections import Database
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.library import LibraryQueries, SampledBooks, ValueCount
from app.stores.postgres.names import NameQueries

MOST_VALUES = 500
"""Years, languages and collections that are counted, the most frequent of each."""

_ALL_COUNTED = 100_000
"""Books up to which all are counted; of more a sample of _SAMPLED, from which the rest is estimated."""

_SAMPLED = 30_000
_FRESH_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Decade:
    """The books of ten years; of those without a year `start` is None."""

    start: int | None
    count: int
    years: Sequence[ValueCount]


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the library holds, by value; None stands for books of which it is not known."""

    books: int
    estimated: bool  # from a sample of the books
    years: Sequence[ValueCount]
    languages: Sequence[ValueCount]
    collections: Sequence[ValueCount]
    copies: int = 0  # books of whose text there is another copy

    @property
    def decades(self) -> Sequence[Decade]:
        """The years by decade, the oldest first, and at the end the books without a year."""
        known = sorted((each for each in self.years if each.value is not None), key=lambda each: each.value)
        return [
            *(
                _decade(start, list(years))
                for start, years in groupby(known, lambda each: each.value // 10 * 10)
            ),
            *(_decade(None, [each]) for each in self.years if each.value is None),
        ]


@dataclass(frozen=True, slots=True)
class LatestChanges:
    """The last changes, the newest first, and the titles of their books as far as they are there."""

    items: Sequence[FeedItem]
    titles: Mapping[UUID, str | None]


class WholeLibrary(LibraryQueries):
    """Counts what there is, at most every ten seconds, and reads what changed last."""

    def __init__(self, database: Database, entries: EntryStore, names: NameQueries, changes: Changes) -> None:
        super().__init__(database)
        self._entries = entries
        self._names = names
        self._changes = changes
        self._counting = asyncio.Lock()
        self._counted_at = float("-inf")  # of `time.monotonic`
        self._holdings = Holdings(0, False, [], [], [])

    async def holdings(self) -> Holdings:
        """What there is, as of ten seconds ago at most."""
        async with self._counting:
            if time.monotonic() - self._counted_at > _FRESH_SECONDS:
                self._holdings = await self._count()
                self._counted_at = time.monotonic()
            return self._holdings

    async def latest(self, limit: int) -> LatestChanges:
        """The last changes."""
        items = await self._changes.latest(limit)
        ids = {book_id for item in items for book_id in (item.book_id, item.other_id) if book_id is not None}
        books = await self._names.read_books(list(ids))
        return LatestChanges(items, {book_id: book.metadata.title for book_id, book in books.items()})

    async def _count(self) -> Holdings:
        books, copies = await self._entries.count_roughly(), await self.count_copies()
        if books <= _ALL_COUNTED:
            return _holdings(await self.count_values(100, MOST_VALUES), None, copies)
        percent = 100 * _SAMPLED / books
        return _holdings(await self.count_values(percent, MOST_VALUES), books, copies)


def _decade(start: int | None, years: Sequence[ValueCount]) -> Decade:
    return Decade(start, sum(each.count for each in years), years)


def _holdings(sample: SampledBooks, books: int | None, copies: int) -> Holdings:
    """The holdings that a sample of so many books stands for; None: it is all of them."""
    scale = 1.0 if books is None else books / max(sample.size, 1)

    def scaled(counts: Sequence[ValueCount]) -> list[ValueCount]:
        return [ValueCount(each.value, round(each.count * scale)) for each in counts]

    return Holdings(
        books=sample.size if books is None else books,
        estimated=books is not None,
        years=scaled(sample.years),
        languages=scaled(sample.languages),
        collections=scaled(sample.collections),
        copies=copies,
    )
