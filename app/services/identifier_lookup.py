"""Finding the books that an identifier means, by the rule that also holds offline.

Whoever compares two identifiers without the service comes to the same verdict. The rule asks for the length
and the MinHash bits of both books. So every book within its reach is read from Postgres and compared, and so
is every book with the ISBN.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Sequence, Set
from functools import partial

import numpy as np

from app.core.index.records import Hits
from app.core.matching.identifier_comparison import compare, reach
from app.core.matching.search import near, plan_range
from app.core.matching.verification import Evidence
from app.core.model import BookSummary, Entry
from app.core.signatures.identifier import Identifier, of_signatures
from app.services.lookups import Answer, Lookup, Match, Position, Question, Verified, position_of
from app.stores.postgres.books import BookFilter, BookStore
from app.stores.postgres.entries import EntryStore
from app.stores.redis.band_index import BandIndex
from app.stores.redis.indexes import Indexes

_HOLDERS = 1_000
"""Books of one ISBN that are compared."""

_FEWEST = 0.95
"""A book's words by its length code are at least this share of its shingles."""


class IdentifierLookup:
    """Questions about the books near an identifier."""

    def __init__(self, lookup: Lookup, books: BookStore, entries: EntryStore, indexes: Indexes) -> None:
        self._lookup = lookup
        self._books = books
        self._entries = entries
        self._indexes = indexes

    async def look_up(
        self,
        query: Identifier,
        question: Question,
        after: Position | None,
        limit: int,
        collection: str | None = None,
    ) -> Answer:
        """The books near an identifier; those with the same text where no distance is asked for.

        With a `collection` those of its books alone.

        Raises `RecipeNotIndexed` for a fingerprint of a recipe in which lookups are not answered.
        """
        entry = Entry(0, query.fingerprint, None)
        if not isinstance(question, Verified):
            return await self._lookup.look_up(entry, question, after, limit, collection=collection)
        suite = await self._lookup.suite_of(entry)
        books = {book.entry.entry_id: book for book in await self._entries.read_pending(suite)}
        near_entries = await _within_reach(self._indexes.of(suite), query)
        holders = await self._read_holders(query, collection)
        wanted = holders.union(near_entries)
        if collection is not None:
            entry_ids = np.array(list(wanted.union(books)), dtype=np.uint64)
            current = await self._entries.read_hits_of_collection(
                collection, entry_ids, 0, entry_ids.size, suite
            )
            books = current.summaries
        elif wanted:
            current = await self._entries.read_current_hits(list(wanted), Hits.none().entry_ids, suite)
            books |= current.summaries
        found = await asyncio.to_thread(_same, query, list(books.values()), holders)
        return _page(found, after, limit)

    async def _read_holders(self, query: Identifier, collection: str | None) -> set[int]:
        """The entries of the books with the identifier's ISBN."""
        if query.isbn is None:
            return set()
        wanted = BookFilter(identifier=f"isbn:{query.isbn}", collection=collection)
        return {book.entry_id for book in await self._books.list_books(wanted, None, _HOLDERS)}


async def _within_reach(index: BandIndex, query: Identifier) -> list[int]:
    """The entries that may have the same text by their fingerprints.

    The index knows no word counts. A book has as many words as shingles or more, and the reach falls with
    their number, so none is missed.
    """
    reach_of = partial(reach, with_minhash=query.minhash is not None)
    [longest] = reach_of(np.ones(1, dtype=np.int64)).tolist()
    plan = plan_range(query.fingerprint, index.suite, longest, index.flat_index.latest)
    read = await index.read(plan)
    hits = near(plan, read)
    counts = read.flat.shingle_counts(read.flat.rows(hits.entry_ids)) * _FEWEST
    within = hits.distances <= reach_of(np.minimum(query.word_count, counts.astype(np.int64)))
    entry_ids: list[int] = hits.entry_ids[within].tolist()
    return entry_ids


def _same(query: Identifier, books: Sequence[BookSummary], holders: Set[int]) -> list[Match]:
    """Those of the books that are the same, nearest first; `holders` are the entries with the ISBN."""
    matches = (_match(query, book, book.entry.entry_id in holders) for book in books)
    return sorted((match for match in matches if match is not None), key=_order)


def _match(query: Identifier, book: BookSummary, has_isbn: bool) -> Match | None:
    """The book with the evidence; None where it is not the same, or has no fingerprint."""
    other = of_signatures(book.entry, book.word_count, query.isbn if has_isbn else None)
    if other is None:
        return None
    comparison = compare(query, other)
    if comparison.verdict != "same":
        return None
    shares = (comparison.jaccard, comparison.this_in_other, comparison.other_in_this)
    jaccard, inside, around = (None if share is None else share.estimate for share in shares)
    return Match(book, Evidence(comparison.distance, None, jaccard, inside, around))


def _order(match: Match) -> tuple[int, int]:
    position = position_of(match)
    return position.distance, position.entry_id


def _page(found: Sequence[Match], after: Position | None, limit: int) -> Answer:
    """Up to `limit` of the books found behind `after`."""
    start = 0 if after is None else bisect_right(found, (after.distance, after.entry_id), key=_order)
    matches = list(found[start : start + limit])
    more = start + limit < len(found)
    return Answer(False, len(found), matches, position_of(matches[-1]) if more else None)
