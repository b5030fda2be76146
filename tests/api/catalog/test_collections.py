"""Collections over HTTP: in books, in lists of them, in relations, clusters, conflicts and changes."""

import pytest
from httpx import AsyncClient

from app.wiring import Services
from tests.api.library import prose, scanned
from tests.api.posting import Json, get, post
from tests.factories import pages_of
from tests.paged_books import run_jobs

TEXT = prose(1, 3000)
HARBOUR, HILL = "Harbour Library", "Hill Library"


def ids(answer: Json, name: str = "id") -> list[str]:
    return [item[name] for item in answer["items"]]


@pytest.fixture
async def copies(client: AsyncClient, services: Services) -> list[Json]:
    """Copies of one book: one of each library, and one of none."""
    posted = [
        await post(client, pages=pages_of(scanned(TEXT, seed)), title="Emma", collection=collection)
        for seed, collection in enumerate((HARBOUR, HILL, None))
    ]
    await run_jobs(services)
    return posted


async def test_relations_and_clusters_show_the_books_of_a_collection(
    client: AsyncClient, copies: list[Json]
) -> None:
    harbour, hill, _ = copies
    related = await get(client, harbour["links"]["relations"], collection=HILL)
    of_book = await get(client, f"{harbour['links']['self']}/cluster", collection=HILL)
    by_id = await get(client, f"/v1/clusters/{of_book['id']}", collection=HILL)

    assert ids(related, "book_id") == [hill["id"]]
    assert len((await get(client, harbour["links"]["relations"]))["items"]) == 2
    assert ids(of_book, "book_id") == ids(by_id, "book_id") == [hill["id"]]
    assert of_book["size"] == by_id["size"] == 3
    assert ids(await get(client, f"/v1/clusters/{of_book['id']}", collection="none"), "book_id") == []


async def test_changes_of_a_collection_are_told_apart(client: AsyncClient, services: Services) -> None:
    books = [
        await post(client, pages=pages_of(scanned(TEXT, seed)), collection=collection)
        for seed, collection in enumerate((HARBOUR, HILL))
    ]
    await run_jobs(services)
    other = await post(client, text=prose(9, 100))
    await client.patch(other["links"]["self"], json={"collection": HILL})
    await client.patch(other["links"]["self"], json={"collection": None})
    await client.delete(books[1]["links"]["self"])

    everything = (await get(client, "/v1/changes", limit=1000))["items"]
    assert {"book.created", "relation.found", "cluster.changed"} <= {each["type"] for each in everything}
    harbour = await get(client, "/v1/changes", collection=HARBOUR, limit=1000)
    hill = await get(client, "/v1/changes", collection=HILL, limit=1000)
    own, others = books[0]["id"], [(item["type"], item["book_id"]) for item in hill["items"]]

    assert all(own in str(item) for item in harbour["items"])
    assert {item["type"] for item in harbour["items"]} >= {"relation.found", "cluster.changed"}
    assert others == [
        ("book.created", books[1]["id"]),
        ("book.changed", other["id"]),
        ("book.changed", other["id"]),
        ("book.deleted", books[1]["id"]),
    ]
    moves = [item["data"] for item in hill["items"] if item["type"] == "book.changed"]
    assert [(each["former_collection"], each["collection"]) for each in moves] == [(None, HILL), (HILL, None)]
    later = await get(client, "/v1/changes", collection="none", after=hill["items"][0]["cursor"])
    assert (later["items"], later["next_cursor"]) == ([], everything[-1]["cursor"])
