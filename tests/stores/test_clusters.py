"""Clusters on real Postgres: after any changes the same as if computed from nothing."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from app.core.clusters import KINDS
from tests.stores.clustering import (
    Library,
    add_books,
    book_id,
    decide,
    delete_book,
    relate,
    stored,
)

BOOKS = [book_id(number) for number in range(1, 9)]
A, B, C, D, E, F, G, H = BOOKS
SAME = ("SAME_PAGINATION", 0.9)

numbers = st.integers(0, len(BOOKS) - 1)
pairs = (
    st.tuples(numbers, numbers)
    .filter(lambda two: two[0] < two[1])
    .map(lambda two: (BOOKS[two[0]], BOOKS[two[1]]))
)
told = st.none() | st.tuples(
    st.sampled_from(["SAME_PAGINATION", "SAME_TEXT", "OVERLAPPING_TEXT", "UNRELATED"]),
    st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.9]),
)
verdicts = st.none() | st.sampled_from(
    [
        ("rejected", None),
        ("rejected", None),
        ("confirmed", None),
        ("kind", "SAME_TEXT"),
        ("kind", "OVERLAPPING_TEXT"),
        ("kind", "UNRELATED"),
    ]
)
changes = st.one_of(
    st.tuples(st.just("relate"), st.dictionaries(pairs, told, min_size=1, max_size=6)),
    st.tuples(st.just("relate"), st.dictionaries(pairs, st.just(SAME), min_size=1, max_size=6)),
    st.tuples(st.just("decide"), pairs, verdicts),
    st.tuples(st.just("delete"), st.sampled_from(BOOKS)),
)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(changes, min_size=1, max_size=14))
def test_whatever_happens_clusters_are_as_computed_from_nothing(
    module_database_url: str, runner: asyncio.Runner, changes: list[tuple[object, ...]]
) -> None:
    async def follow() -> None:
        engine = create_async_engine(module_database_url)
        try:
            async with engine.connect() as connection:
                await add_books(connection, BOOKS)
                library = Library()
                for change in changes:
                    await apply(connection, library, change)
                    for by in KINDS:
                        assert await stored(connection, by) == library.clusters(by)
                await connection.rollback()
        finally:
            await engine.dispose()

    runner.run(follow())


async def apply(connection: AsyncConnection, library: Library, change: tuple[object, ...]) -> None:
    match change:
        case ("relate", dict(kinds)):
            for pair, kind in kinds.items():
                if kind is None:
                    library.kinds.pop(pair, None)
                else:
                    library.kinds[pair] = kind
            await relate(connection, kinds)
        case ("decide", tuple(pair), decision):
            if decision is None:
                library.decisions.pop(pair, None)
            else:
                library.decisions[pair] = decision
            await decide(connection, pair, decision)
        case ("delete", book):
            library.forget(book)
            await delete_book(connection, book)
            await add_books(connection, [book])
