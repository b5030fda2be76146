"""The feed of changes, which clients read from a cursor on."""

from base64 import b64decode
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from app.services.pairs.relations import Waiting, nothing
from app.stores.postgres.changes import (
    CURSOR_MARK,
    Change as Change,
    ChangeFeed,
    ChangeType as ChangeType,
    FeedBounds,
    FeedPage,
    cursor_of as cursor_of,
)
from bookprint_core.errors import BookprintError, InvalidInput


class ChangesGone(BookprintError):
    """The requested changes are deleted, or belong to another catalogue."""

    status = 410
    title = "The changes are not kept any more"
    remedy = "Read the books again, and continue from a new cursor."
    field = "after"
    tells_remedy = True

    def __init__(self) -> None:
        super().__init__(
            "The changes after this cursor are not kept any more. Get a new cursor with after=now, then "
            "read the books again, and continue from that cursor."
        )


class UnknownPage(BookprintError):
    """The collection of changes has no page of this number yet."""

    status = 404
    title = "No such page"
    remedy = "Begin with a page that the collection lists."
    field = "number"
    tells_remedy = True

    def __init__(self, number: int | str) -> None:
        super().__init__(f"There is no page {number} yet. The collection lists its last page.")


KEPT_DAYS = 30

NOW = "now"
"""Value that replaces a cursor: the present end of the feed."""

NUMBERED_PAGE = 1000
"""Number of changes on each page of the collection."""

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class FeedItems:
    """Some items, and the cursor of the next items."""

    items: Sequence[Change]
    next_cursor: str


@dataclass(frozen=True, slots=True)
class NumberedPages:
    """The pages of the collection of all stored changes."""

    first: int
    last: int
    total: int  # number of changes


@dataclass(frozen=True, slots=True)
class NumberedPage:
    """A page of the collection of all stored changes."""

    number: int
    pages: NumberedPages
    items: Sequence[Change]


class Changes:
    """Service that reads the feed and deletes old changes."""

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed = feed
        self._waiting = Waiting()

    async def read(
        self,
        after: str | None,
        types: Collection[ChangeType] | None,
        limit: int,
        wait: float = 0,
        waiting_begins: Callable[[], None] = nothing,
        collection: str | None = None,
    ) -> FeedItems:
        """Return at most `limit` changes after a cursor; wait at most `wait` seconds for the first change.

        With a `collection`, returns only changes of its books. Without a cursor, begins with the oldest
        change. Raises `InvalidInput` and `ChangesGone`.
        """
        if after == NOW:
            return FeedItems([], cursor_of((await self._bounds()).newest))
        position = None if after is None else position_of(after)

        async def go_on() -> FeedPage:
            nonlocal position
            page = await self._page(position, types, limit, collection)
            if not page.changes:
                position = page.reached
            return page

        page = await self._waiting.until(go_on, lambda page: bool(page.changes), wait, waiting_begins)
        return FeedItems(page.changes, cursor_of(page.reached))

    async def latest(self, limit: int) -> Sequence[Change]:
        """Return at most `limit` of the last changes, newest first."""
        bounds = await self._bounds()
        page = await self._feed.read(max(bounds.newest - limit, bounds.oldest - 1), limit)
        return page.changes[::-1]

    async def pages(self) -> NumberedPages:
        """Return the pages of the collection, which has at least one page."""
        return _pages(await self._bounds())

    async def page(self, number: int) -> NumberedPage:
        """Return the page with this number, counted from 0; raises `UnknownPage` and `ChangesGone`."""
        bounds = await self._bounds()
        pages = _pages(bounds)
        if number > pages.last:
            raise UnknownPage(number)
        if number < pages.first:
            raise ChangesGone
        start, end = number * NUMBERED_PAGE, (number + 1) * NUMBERED_PAGE
        read = await self._feed.read(max(start, bounds.oldest - 1), NUMBERED_PAGE)
        items = [change for change in read.changes if change.position <= end]
        return NumberedPage(number, pages, items)

    async def number(self) -> None:
        """Assign positions to all committed changes."""
        await self._bounds()

    async def sweep(self) -> int:
        """Delete changes older than `KEPT_DAYS`; return their number."""
        return await self._feed.delete_old(timedelta(days=KEPT_DAYS))

    async def _bounds(self) -> FeedBounds:
        bounds = await self._feed.read_bounds()
        if bounds.unnumbered:
            await self._feed.update_numbers()
            bounds = await self._feed.read_bounds()
        return bounds

    async def _page(
        self,
        after: int | None,
        types: Collection[ChangeType] | None,
        limit: int,
        collection: str | None,
    ) -> FeedPage:
        """Read until a change of these types is found, or the end is reached."""
        page = await self._feed.read(after, limit, types, collection)
        if page.bounds.unnumbered and len(page.changes) < limit:
            await self._feed.update_numbers()
            page = await self._feed.read(after, limit, types, collection)
        if after is not None and not page.bounds.oldest - 1 <= after <= page.bounds.newest:
            raise ChangesGone
        while not page.changes and page.reached < page.bounds.newest:
            page = await self._feed.read(page.reached, limit, types, collection)
        return page


def position_of(cursor: str) -> int:
    """Return the position in a cursor; raises `InvalidInput` for a cursor of another list."""
    try:
        data = b64decode(cursor, altchars=b"-_", validate=True)
    except ValueError:
        data = b""
    position = int.from_bytes(data[len(CURSOR_MARK) :], "big")
    if len(data) != len(CURSOR_MARK) + 8 or not data.startswith(CURSOR_MARK) or position > _LARGEST:
        raise InvalidInput(
            "This is not a cursor of the feed of changes. Send the cursor of an item or the next_cursor of "
            "an answer, or send no cursor to begin with the oldest change.",
            field="after",
        )
    return position


def _pages(bounds: FeedBounds) -> NumberedPages:
    return NumberedPages(
        first=(bounds.oldest - 1) // NUMBERED_PAGE,
        last=max(bounds.newest - 1, 0) // NUMBERED_PAGE,
        total=bounds.newest - bounds.oldest + 1,
    )
