"""Collections over HTTP: in books, in lists of them, in relations, clusters, conflicts and changes."""

from typing import Any

import pytest
from httpx import AsyncClient

from app.wiring import Services
from tests.api.library import prose, scanned
from tests.api.posting import Json, post
from tests.paged_books import pages_of, run_jobs

TEXT = prose(1, 3000)
HARBOUR, HILL = "Harbour Library", "Hill Library"


async def get(client: AsyncClient, path: str, **parameters: Any) -> Json:
    response = await client.get(path, params=parameters)
    assert response.status_code == 200, response.text
    answer: Json = response.json()
    return answer


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


async def test_a_collection_is_set_changed_kept_and_taken_off(client: AsyncClient) -> None:
    book = await post(client, text=TEXT, collection=f"  {HARBOUR} ")
    path = book["links"]["self"]
    renamed = (await client.patch(path, json={"title": "Emma"})).json()
    replaced = (await client.put(f"{path}/content", json={"text": prose(2)})).json()
    moved = (await client.patch(path, json={"collection": HILL})).json()
    without = (await client.patch(path, json={"collection": None})).json()

    each = [book, renamed, replaced, moved, without, await get(client, path)]
    assert [book["collection"] for book in each] == [HARBOUR, HARBOUR, HARBOUR, HILL, None, None]


async def test_metadata_beside_a_file_name_its_collection(client: AsyncClient) -> None:
    parts = {"file": ("a.txt", TEXT), "metadata": (None, f'{{"collection": "{HILL}"}}')}
    answer = await client.post("/v1/books", files=parts)

    assert (answer.status_code, answer.json()["collection"]) == (201, HILL)


async def test_books_of_a_collection_are_listed_page_by_page(client: AsyncClient) -> None:
    books = [
        await post(client, text=prose(seed, 50), title="A title", collection=(HARBOUR, HILL)[seed % 2])
        for seed in range(6)
    ]
    listed, cursor = [], {}
    for _ in range(2):
        page = await get(client, "/v1/books", collection=HARBOUR, limit=2, **cursor)
        listed += ids(page)
        cursor = {"cursor": page["next_cursor"]}

    assert listed == [book["id"] for book in books[::2]]
    assert cursor == {"cursor": None}
    assert ids(await get(client, "/v1/books", collection=HILL, title="title")) == [
        book["id"] for book in books[1::2]
    ]
    assert ids(await get(client, "/v1/books", collection="harbour library")) == []


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


async def test_books_known_over_others_are_those_of_a_collection(
    client: AsyncClient, copies: list[Json]
) -> None:
    book = await post(client, pages=pages_of(prose(5, 3000)))
    decision = f"{book['links']['relations']}/{copies[0]['id']}/decision"
    assert (await client.put(decision, json={"kind": "OVERLAPPING_TEXT"})).status_code == 200

    answer = await get(client, book["links"]["relations"], collection=HILL)

    assert [(item["book_id"], item["via"]) for item in answer["items"]] == [
        (copies[1]["id"], copies[0]["id"])
    ]


async def test_conflicts_concern_a_book_of_the_collection(client: AsyncClient, services: Services) -> None:
    isbn = {"identifiers": ["isbn:9780141439600"]}
    books = [
        await post(client, pages=pages_of(prose(seed, 3000)), collection=collection, **isbn)
        for seed, collection in ((1, HARBOUR), (2, HILL), (3, None))
    ]
    await run_jobs(services)

    async def pairs(**parameters: str) -> set[frozenset[int]]:
        found = await get(client, "/v1/conflicts", by="isbn", **parameters)
        order = [book["id"] for book in books]
        return {frozenset(order.index(book["id"]) for book in each["books"]) for each in found["items"]}

    assert len(await pairs()) == 3
    assert await pairs(collection=HILL) == {frozenset({0, 1}), frozenset({1, 2})}
    assert await pairs(collection="none") == set()


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
