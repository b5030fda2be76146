"""Positions in the feed: in the order of commits, without holes, whoever numbers and whenever."""

import asyncio
from collections import defaultdict
from contextlib import suppress
from itertools import pairwise
from uuid import uuid4

import numpy as np
import pytest

from app.services.books import new_book_id
from app.stores.postgres.books import BookStore
from app.stores.postgres.changes import Change, ChangeFeed
from app.stores.postgres.connections import SQL, Connection, Database, rows
from bookprint_core.model import Metadata
from tests.factories import ACTOR, a_sketch, new_content

RNG = np.random.default_rng(22)
WRITE = SQL("INSERT INTO unnumbered_changes (type, book_id, data) VALUES ('book.created', $id, $data)")


async def write(connection: Connection, name: str) -> None:
    await rows(connection, WRITE, id=uuid4(), data={"name": name})


async def numbered(feed: ChangeFeed, after: int = 0) -> list[Change]:
    await feed.update_numbers()
    return list((await feed.read(after, 10_000)).changes)


@pytest.fixture
def feed(database: Database) -> ChangeFeed:
    return ChangeFeed(database)


async def test_who_began_first_and_commits_last_comes_last(database: Database, feed: ChangeFeed) -> None:
    async with database.transaction() as slow:
        await write(slow, "slow")
        async with database.transaction() as quick:
            await write(quick, "quick")
        [first] = await numbered(feed)
        assert (first.position, first.data) == (1, {"name": "quick"})
    [second] = await numbered(feed, after=first.position)

    assert (second.position, second.data) == (2, {"name": "slow"})
    assert second.at > first.at


async def test_what_is_rolled_back_is_not_told_and_leaves_no_hole(
    database: Database, feed: ChangeFeed
) -> None:
    async with database.transaction() as connection:
        await write(connection, "one")
    with suppress(ZeroDivisionError):
        async with database.transaction() as connection:
            await write(connection, "none")
            raise ZeroDivisionError
    async with database.transaction() as connection:
        await write(connection, "two")

    assert [(change.position, change.data["name"]) for change in await numbered(feed)] == [
        (1, "one"),
        (2, "two"),
    ]


async def test_many_writers_and_readers_agree_on_one_order(
    catalogue: BookStore, database: Database, feed: ChangeFeed
) -> None:
    books = [
        (await catalogue.insert(new_book_id(), Metadata(), new_content(a_sketch(RNG)), actor=ACTOR)).book.id
        for _ in range(4)
    ]
    done = asyncio.Event()

    async def change(number: int) -> None:
        for year in range(15):
            await catalogue.update_metadata(
                books[(number + year) % len(books)], {"year": year}, None, actor=ACTOR
            )

    async def follow() -> list[Change]:
        seen: list[Change] = []
        while not done.is_set():
            seen += await numbered(feed, seen[-1].position if seen else 0)
        return seen + await numbered(feed, seen[-1].position if seen else 0)

    readers = [asyncio.create_task(follow()) for _ in range(3)]
    await asyncio.gather(*(change(number) for number in range(6)))
    done.set()
    first, *others = [await reader for reader in readers]

    assert all(other == first for other in others)
    assert [each.position for each in first] == list(range(1, len(books) + 6 * 15 + 1))
    assert all(earlier.at < later.at for earlier, later in pairwise(first))
    versions = defaultdict(list)
    for each in first:
        versions[each.book_id].append(each.data["version"])
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in versions.values())


async def test_moments_grow_though_clocks_do_not(database: Database, feed: ChangeFeed) -> None:
    for shift in ("1 hour", "-1 hour", "0"):
        async with database.transaction() as connection:
            await write(connection, shift)
            await rows(connection, SQL(f"UPDATE unnumbered_changes SET at = at + interval '{shift}'"))
        if shift == "1 hour":
            await feed.update_numbers()

    moments = [change.at for change in await numbered(feed)]
    assert moments == sorted(set(moments))


async def test_the_feed_is_read_in_stretches(database: Database, feed: ChangeFeed) -> None:
    async with database.transaction() as connection:
        for number in range(5):
            await write(connection, str(number))
    await feed.update_numbers()

    page = await feed.read(None, 2)
    assert ([change.position for change in page.changes], page.reached) == ([1, 2], 2)
    rest = await feed.read(2, 10)
    assert ([change.position for change in rest.changes], rest.reached) == ([3, 4, 5], 5)
    none = await feed.read(2, 10, ["book.deleted"])
    assert (none.changes, none.reached) == ([], 5)
