"""Finding the books that an identifier means, by the rule that also holds offline.

Whoever compares two identifiers without the service comes to the same verdict. The rule asks for the length
and the MinHash bits of both books. So every book within its reach is read from Postgres and compared, and so
is every book with the ISBN.
"""

from bisect import bisect_right
from collections.abc import Sequence

from app.core.matching.search import Plan, within_reach
from app.core.model import Entry
from app.core.signatures.identifier import Identifier
from app.services.lookups import Answer, Lookup, Match, Position, Question, Verified, position_of
from app.stores.postgres.books import BookFilter, BookStore
from app.stores.postgres.entries import EntryStore
from app.stores.redis.indexes import Indexes

_HOLDERS = 1_000
"""Books of one ISBN that are compared."""


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
        pending = await self._entries.read_pending(suite)
        flat = (await self._indexes.of(suite).read(Plan())).flat
        holders = await self._read_holders(query, collection)
        wanted = holders.union(within_reach(query, flat, identified=False))
        found = await self._lookup.same_by_identifiers(query, suite, wanted, pending, holders, collection)
        return _page(sorted(found.values(), key=_order), after, limit)

    async def _read_holders(self, query: Identifier, collection: str | None) -> set[int]:
        """The entries of the books with the identifier's ISBN."""
        if query.isbn is None:
            return set()
        wanted = BookFilter(identifier=f"isbn:{query.isbn}", collection=collection)
        return {book.entry_id for book in await self._books.list_books(wanted, None, _HOLDERS)}


def _order(match: Match) -> tuple[int, int]:
    position = position_of(match)
    return position.distance, position.entry_id


def _page(found: Sequence[Match], after: Position | None, limit: int) -> Answer:
    """Up to `limit` of the books found behind `after`."""
    start = 0 if after is None else bisect_right(found, (after.distance, after.entry_id), key=_order)
    matches = list(found[start : start + limit])
    more = start + limit < len(found)
    return Answer(False, len(found), matches, position_of(matches[-1]) if more else None)
