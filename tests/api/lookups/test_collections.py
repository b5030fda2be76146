"""Lookups among the books of a collection, against brute force, however few or many it has."""

from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from httpx import AsyncClient

from app.services import lookups
from app.settings import Settings
from app.stores.postgres import entries
from tests.api.conftest import asking, started, taking_turns
from tests.api.library import prose, scanned
from tests.api.posting import Json, all_pages, distance, look_up, near, post, signatures
from tests.api.test_bad_input import assert_problem
from tests.factories import flipped
from tests.index_buckets import let_redis_fail

MANY, FEW = "many of them", "few, far away"


@pytest.fixture(scope="module")
async def client(module_application: FastAPI, module_settings: Settings) -> AsyncIterator[AsyncClient]:
    """A client of two processes, of which now one answers and now the other."""
    async with started(module_settings) as other, asking(taking_turns(module_application, other)) as client:
        yield client


@pytest.fixture(scope="module")
async def books(client: AsyncClient) -> list[Json]:
    """180 books ever farther from the first; every third of `MANY`, the five last ones of `FEW`."""
    rng = np.random.default_rng(5)
    centre, books = rng.bytes(16), []
    for number in range(180):
        bits = flipped(centre, *rng.choice(128, number // 3, replace=False).tolist())
        collection = FEW if number >= 175 else MANY if number % 3 == 0 else None
        books.append(await post(client, signatures=signatures(bits, rng), collection=collection))
    return books


def expected(books: list[Json], query: Json, collection: str) -> list[tuple[int, str]]:
    others = (book for book in books if book["id"] != query["id"] and book["collection"] == collection)
    return sorted((distance(query, book), book["id"]) for book in others)


def found(answer: Json) -> list[tuple[int, str]]:
    return sorted((item["distance"], item["id"]) for item in answer["items"])


@pytest.fixture(params=["as in use", "of many members", "of many members and hits"])
def _bounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that this small library crosses."""
    if request.param != "as in use":
        monkeypatch.setattr(entries, "FEW_MEMBERS", 2)
    if request.param == "of many members and hits":
        monkeypatch.setattr(lookups, "_MOST_SINGLE", 3)


@pytest.mark.usefixtures("_bounds")
@pytest.mark.parametrize("collection", [MANY, FEW, "of nobody"])
@pytest.mark.parametrize("d", [7, 60])
async def test_all_books_of_the_collection_within_d_are_found(
    client: AsyncClient, books: list[Json], collection: str, d: int
) -> None:
    for query in books[::89]:
        answer = await near(client, query, d=d, collection=collection, limit=1000)
        wanted = [each for each in expected(books, query, collection) if each[0] <= d]
        assert found(answer) == wanted
        assert (answer["exact"], answer["total"]) == (True, len(wanted))


@pytest.mark.usefixtures("_bounds")
@pytest.mark.parametrize("collection", [MANY, FEW, "of nobody"])
@pytest.mark.parametrize("k", [3, 1000])
async def test_the_k_nearest_are_those_of_the_collection(
    client: AsyncClient, books: list[Json], collection: str, k: int
) -> None:
    for query in books[::89]:
        answer = await near(client, query, k=k, collection=collection, limit=1000)
        wanted = expected(books, query, collection)[:k]
        assert [each for each, _ in found(answer)] == [each for each, _ in wanted]
        assert set(found(answer)) <= set(expected(books, query, collection))
        assert (answer["exact"], answer["total"]) == (True, len(wanted))
        body = {"fingerprint": query["fingerprint"]}
        asked = await look_up(client, body, k=k, collection=collection, limit=1000)
        wanted = sorted([*expected(books, query, collection), *own(query, collection)])[:k]
        assert [each for each, _ in found(asked)] == [each for each, _ in wanted]


def own(query: Json, collection: str) -> list[tuple[int, str]]:
    return [(0, query["id"])] if query["collection"] == collection else []


@pytest.mark.usefixtures("_bounds")
@pytest.mark.parametrize("parameters", [{"d": 50}, {"k": 50}])
async def test_pages_show_every_book_of_the_collection_once(
    client: AsyncClient, books: list[Json], parameters: Json
) -> None:
    parameters = parameters | {"collection": MANY}
    whole = await near(client, books[0], **parameters, limit=1000)
    pages = await all_pages(client, books[0]["links"]["near_duplicates"], **parameters, limit=7)
    items = [item for page in pages for item in page["items"]]
    assert {page["total"] for page in pages} == {whole["total"]}
    assert items == whole["items"]
    assert len(items) == 50 or "d" in parameters


async def test_a_cursor_belongs_to_its_collection(client: AsyncClient, books: list[Json]) -> None:
    cursor = (await near(client, books[0], d=60, collection=MANY, limit=1))["next_cursor"]
    for more in ({}, {"collection": FEW}):
        params: Any = {"d": 60, "limit": 1, "cursor": cursor} | more
        assert_problem(await client.get(books[0]["links"]["near_duplicates"], params=params), 422)


async def test_texts_and_identifiers_are_looked_up_in_a_collection(client: AsyncClient) -> None:
    text = prose(77)
    in_one = await post(client, text=scanned(text, 1), collection="one", identifiers=["isbn:9780141439600"])
    in_other = await post(client, text=scanned(text, 2), collection="other", external_id="b")
    moved = await post(client, text=scanned(text, 3), collection="other", external_id="c")
    changed = await client.patch(moved["links"]["self"], json={"collection": "one"})
    assert changed.json()["collection"] == "one"
    composite = f"{in_other['identifier']}.9780141439600"

    async def ids(body: Json, collection: str | None, **parameters: Any) -> set[str]:
        asked = {"collection": collection} if collection else {}
        return {item["id"] for item in (await look_up(client, body, **asked, **parameters))["items"]}

    for body in ({"text": text}, {"identifier": in_other["long_identifier"]}, {"identifier": composite}):
        assert await ids(body, None) == {in_one["id"], in_other["id"], moved["id"]}
        assert await ids(body, "one") == {in_one["id"], moved["id"]}
        assert await ids(body, " other ") == {in_other["id"]}
        assert await ids(body, "third") == set()
    assert await ids({"identifier": in_other["identifier"]}, "one", k=1) < {in_one["id"], moved["id"]}
    answer = await client.post("/v1/lookups", files={"file": ("a.txt", text)}, params={"collection": "other"})
    assert [item["id"] for item in answer.json()["items"]] == [in_other["id"]]


async def test_pending_books_are_found_in_their_collection(
    client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(6)
    bits = rng.bytes(16)
    query = await post(client, signatures=signatures(bits, rng))

    let_redis_fail(monkeypatch)
    pending = [
        await post(client, signatures=signatures(flipped(bits, 5), rng), collection=name)
        for name in ("waiting", "waiting too")
    ]
    assert {book["status"] for book in pending} == {"pending"}
    for parameters in ({"d": 3}, {"k": 1}, {"k": 1}, {"k": 1}):  # the processes remember small collections
        for book in pending:
            answer = await near(client, query, **parameters, collection=book["collection"])
            assert [item["id"] for item in answer["items"]] == [book["id"]]
