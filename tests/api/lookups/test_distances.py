"""Exact answers over HTTP: within d and the k nearest, against brute force and page by page.

One process answers all, and then two take turns.
"""

from collections.abc import AsyncIterator
from itertools import count

import numpy as np
import pytest
from fastapi import FastAPI
from httpx import AsyncClient

from app.settings import Settings
from tests.api.conftest import asking, started, taking_turns
from tests.api.posting import Json, all_pages, distance, near, post, signatures
from tests.factories import flipped

SEEDS = count(7)

# The tests share one application and, but for the one that deletes books, one library.


@pytest.fixture(scope="module")
async def client(module_application: FastAPI, module_settings: Settings) -> AsyncIterator[AsyncClient]:
    """A client of two processes, of which now one answers and now the other."""
    async with started(module_settings) as other, asking(taking_turns(module_application, other)) as client:
        yield client


@pytest.fixture(scope="module")
async def cluster(client: AsyncClient) -> list[Json]:
    return await a_cluster(client)


async def a_cluster(client: AsyncClient) -> list[Json]:
    """Forty books at distances 0 to 39 from the first, and forty unrelated ones."""
    rng = np.random.default_rng(next(SEEDS))
    centre = rng.bytes(16)
    books = []
    for bits_turned in range(40):
        bits = flipped(centre, *rng.choice(128, bits_turned, replace=False).tolist())
        books.append(await post(client, signatures=signatures(bits, rng), title=f"at {bits_turned}"))
    for _ in range(40):
        await post(client, signatures=signatures(rng.bytes(16), rng))
    return books


@pytest.mark.parametrize("d", [0, 7, 15, 28, 128])
async def test_books_within_d_are_exactly_those_that_brute_force_finds(
    client: AsyncClient, cluster: list[Json], d: int
) -> None:
    everyone = (await client.get("/v1/books", params={"limit": 1000})).json()["items"]
    for book in cluster[::13]:
        answer = await near(client, book, d=d, limit=1000)
        expected = {
            (other["id"], distance(book, other))
            for other in everyone
            if other["id"] != book["id"] and distance(book, other) <= d
        }
        distances = [item["distance"] for item in answer["items"]]
        assert {(item["id"], item["distance"]) for item in answer["items"]} == expected
        assert distances == sorted(distances)
        assert answer["exact"] is True
        assert answer["total"] == len(expected)


@pytest.mark.parametrize("k", [1, 5, 1000])
async def test_k_nearest_are_the_k_smallest_distances(
    client: AsyncClient, cluster: list[Json], k: int
) -> None:
    everyone = (await client.get("/v1/books", params={"limit": 1000})).json()["items"]

    answer = await near(client, cluster[0], k=k, limit=1000)

    expected = sorted(distance(cluster[0], other) for other in everyone)[1 : k + 1]
    assert [item["distance"] for item in answer["items"]] == expected
    assert answer["exact"] is True
    assert answer["total"] == len(expected)
    assert answer["query"] == {"id": cluster[0]["id"], "max_distance": None, "nearest": k, "jaccard": None}


@pytest.mark.parametrize("parameters", [{"d": 40}, {"k": 30}])
@pytest.mark.parametrize("limit", [1, 7, 100])
async def test_pages_of_an_answer_show_every_item_once_in_order(
    client: AsyncClient, cluster: list[Json], parameters: Json, limit: int
) -> None:
    whole = await near(client, cluster[3], **parameters, limit=1000)

    pages = await all_pages(client, cluster[3]["links"]["near_duplicates"], **parameters, limit=limit)
    items = [item for page in pages for item in page["items"]]

    assert {page["total"] for page in pages} == {whole["total"]}
    assert max(len(page["items"]) for page in pages) <= limit
    assert items == whole["items"]
    assert len(items) >= 30


async def test_page_continues_where_it_ended_when_books_before_it_are_deleted(
    client: AsyncClient,
) -> None:
    cluster = await a_cluster(client)
    first = await near(client, cluster[0], d=20, limit=3)
    for item in first["items"]:
        await client.delete(f"/v1/books/{item['id']}")

    second = await near(client, cluster[0], d=20, limit=3, cursor=first["next_cursor"])

    assert [item["distance"] for item in second["items"]] == [4, 5, 6]
