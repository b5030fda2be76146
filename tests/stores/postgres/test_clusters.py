"""Clusters on real Postgres: after any changes the same as if computed from nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import combinations, pairwise
from uuid import UUID

from hypothesis import given, settings, strategies as st

from app.stores.postgres.cluster_queries import ClusterQueries
from app.stores.postgres.connections import Connection, Database, open_database
from bookprint_core.clusters.clustering import KINDS, Clustering, Pair
from tests.stores.postgres.cluster_rows import (
    Library,
    add_books,
    book_id,
    decide,
    delete_book,
    relate,
    stored,
)

BOOKS = [book_id(number) for number in range(1, 8)]
A, B, C, D, E, F, G = BOOKS
SAME = ("SAME_PAGINATION", 0.9)

pairs = st.sampled_from(list(combinations(BOOKS, 2)))
strengths = st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.9])
same = st.tuples(st.sampled_from(["SAME_PAGINATION", "SAME_TEXT"]), strengths)
other = st.tuples(st.sampled_from(["OVERLAPPING_TEXT", "UNRELATED"]), strengths)
verdicts = st.sampled_from(
    [("confirmed", None), ("kind", "SAME_TEXT"), ("kind", "OVERLAPPING_TEXT"), ("kind", "UNRELATED")]
)
changes = st.one_of(
    st.tuples(st.just("relate"), st.dictionaries(pairs, same, min_size=1, max_size=4)),
    st.tuples(st.just("relate"), st.dictionaries(pairs, same | other | st.none(), min_size=1, max_size=4)),
    st.tuples(st.just("relate"), st.dictionaries(pairs, st.none(), min_size=1, max_size=4)),
    st.tuples(st.just("decide"), pairs, st.just(("rejected", None))),
    st.tuples(st.just("decide"), pairs, st.just(("rejected", None)) | verdicts | st.none()),
    st.tuples(st.just("delete"), st.sampled_from(BOOKS)),
)
begun = st.dictionaries(pairs, same, min_size=4, max_size=12)


@settings(max_examples=12)
@given(begun=begun, changes=st.lists(changes, min_size=4, max_size=12))
def test_after_any_events_clusters_are_as_computed_from_nothing(
    module_database_url: str, begun: dict[Pair, tuple[str, float]], changes: list[tuple[object, ...]]
) -> None:
    asyncio.run(follow(module_database_url, begun, changes))


async def follow(
    database_url: str, begun: dict[Pair, tuple[str, float]], changes: list[tuple[object, ...]]
) -> None:
    async with open_database(database_url, 1) as database, database.session() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await add_books(connection, BOOKS)
        library = Library()
        for change in [("relate", begun), *changes]:
            await apply(connection, library, change)
            for by in KINDS:
                assert await stored(connection, by) == library.clusters(by)
        await transaction.rollback()


async def apply(connection: Connection, library: Library, change: tuple[object, ...]) -> None:
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
            # Ids are never given again; here they are, so that something is left to change.
            await connection.execute("DELETE FROM cluster_heirs")
            await add_books(connection, [book])


async def in_one_transaction(database: Database, work: Callable[[Connection], Awaitable[None]]) -> None:
    async with database.transaction() as connection:
        await work(connection)


async def test_a_rejection_separates_books_that_others_join_and_its_withdrawal_joins_them(
    database: Database,
) -> None:
    async with database.transaction() as connection:
        await add_books(connection, BOOKS)
        kinds = {(A, B): ("SAME_PAGINATION", 0.9), (B, C): ("SAME_TEXT", 0.8), (A, C): ("SAME_TEXT", 0.7)}
        await relate(connection, kinds)
        assert (await stored(connection, "same_text")).founders == dict.fromkeys((A, B, C), A)

        await decide(connection, (A, C), ("rejected", None))
        # C goes, since B is more surely the same as A.
        assert await stored(connection, "same_text") == Clustering({A: A, B: A}, frozenset({(A, C)}))

        await decide(connection, (B, C), ("confirmed", None))
        assert await stored(connection, "same_text") == Clustering({B: B, C: B}, frozenset({(A, B)}))

        await decide(connection, (A, C), None)
        assert (await stored(connection, "same_text")).founders == dict.fromkeys((A, B, C), A)


async def test_only_clusters_that_change_are_written(database: Database) -> None:
    async def versions(connection: Connection) -> dict[UUID, str]:
        stored = await connection.fetch(
            "SELECT book_id, ctid::text FROM cluster_members WHERE by = 'same_text'"
        )
        return {row["book_id"]: row["ctid"] for row in stored}

    async with database.transaction() as connection:
        await add_books(connection, BOOKS)
        await relate(connection, {(A, B): SAME, (B, C): SAME, (D, E): SAME})
        before = await versions(connection)
        await relate(connection, {(C, D): SAME, (A, F): SAME})
        after = await versions(connection)
    assert {book for book in before if before[book] == after[book]} >= {B, C}
    assert after.keys() == {A, B, C, D, E, F}


async def test_two_transactions_that_join_clusters_wait_for_each_other(database: Database) -> None:
    await in_one_transaction(database, lambda connection: add_books(connection, BOOKS))
    async with database.transaction() as first:
        await relate(first, {(A, B): SAME})
        second = asyncio.create_task(
            in_one_transaction(database, lambda connection: relate(connection, {(B, C): SAME}))
        )
        await asyncio.sleep(0.2)
        assert not second.done()
    await second
    async with database.transaction() as connection:
        assert (await stored(connection, "same_text")).founders == dict.fromkeys((A, B, C), A)


async def test_many_transactions_at_once_end_in_the_same_clusters_and_none_is_given_up(
    database: Database,
) -> None:
    await in_one_transaction(database, lambda connection: add_books(connection, BOOKS))
    chain = list(pairwise(BOOKS))
    await asyncio.gather(
        *(in_one_transaction(database, partial(relate, kinds={pair: SAME, (A, G): SAME})) for pair in chain)
    )
    await asyncio.gather(
        in_one_transaction(database, partial(decide, pair=(F, G), decision=("rejected", None))),
        in_one_transaction(database, partial(delete_book, book=C)),
        in_one_transaction(database, partial(relate, kinds={(D, E): None, (D, F): SAME})),
        in_one_transaction(database, partial(delete_book, book=A)),
    )
    async with database.transaction() as connection:
        assert (await stored(connection, "same_text")).founders == dict.fromkeys((D, E, F), D)


async def test_names_lead_to_the_present_cluster_over_merges_splits_and_deletions(
    database: Database,
) -> None:
    records = ClusterQueries(database)

    async def present(*names: UUID) -> list[UUID | None]:
        async with records.snapshot() as snapshot:
            return [await snapshot.read_founder("same_text", name) for name in names]

    async with database.transaction() as connection:
        await add_books(connection, BOOKS)
        await relate(connection, {(B, C): SAME, (D, E): SAME, (E, F): SAME})
    assert await present(A, B, C, D, F) == [A, B, B, D, D]
    await in_one_transaction(database, partial(relate, kinds={(C, D): SAME}))
    assert await present(B, D, F) == [B, B, B]
    await in_one_transaction(database, partial(delete_book, book=B))
    assert await present(B, F) == [C, C]
    await in_one_transaction(database, partial(delete_book, book=C))
    assert await present(B, C, F) == [D, D, D]
    await in_one_transaction(database, partial(relate, kinds={(D, E): None}))
    assert await present(B, C, D, E, F) == [D, D, D, E, E]
    await in_one_transaction(database, partial(delete_book, book=D))
    assert await present(B, C, D, E) == [None, None, None, E]
