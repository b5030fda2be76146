"""Clusters over HTTP: which books belong together, under which id, and which copy of them to keep."""

from collections.abc import Sequence
from typing import Any

from httpx import AsyncClient

from app.wiring import Services
from tests.api.library import prose, scanned
from tests.api.posting import Json, all_pages, get, post
from tests.api.test_bad_input import assert_problem
from tests.factories import pages_of
from tests.paged_books import run_jobs

TEXT = prose(1, 3000)
OTHER = prose(2, 3000)
NOBODY = "01935090-11c2-7e0a-8d3f-b5c0a1e27f46"


async def cluster(client: AsyncClient, book: Json, **parameters: Any) -> Json:
    return await get(client, f"{book['links']['self']}/cluster", **parameters)


async def by_id(client: AsyncClient, cluster_id: str) -> Json:
    """The cluster that an id leads to."""
    response = await client.get(f"/v1/clusters/{cluster_id}", follow_redirects=True)
    assert response.status_code == 200, response.text
    answer: Json = response.json()
    return answer


async def decide(client: AsyncClient, book: Json, other: Json, verdict: Any) -> None:
    """Record a person's verdict on two books; None withdraws it."""
    path = f"{book['links']['relations']}/{other['id']}/decision"
    response = await (client.delete(path) if verdict is None else client.put(path, json=verdict))
    assert response.status_code in (200, 204), response.text


def members(answer: Json) -> list[str]:
    return [item["book_id"] for item in answer["items"]]


def ids(*books: Json) -> list[str]:
    return [book["id"] for book in books]


def own_key(book: Json) -> str:
    """The key of a cluster that this book has founded."""
    return f"s{book['id'].replace('-', '')}"


async def keys(client: AsyncClient) -> list[str]:
    """The keys of the books, oldest first, as the list and each book show them."""
    books = (await client.get("/v1/books")).json()["items"]
    for book in books:
        assert (await client.get(book["links"]["self"])).json()["cluster"] == book["cluster"]
        named = await cluster(client, book)
        assert {name: named[name] for name in ("id", "key")} == book["cluster"]
    return [book["cluster"]["key"] for book in books]


async def copies(client: AsyncClient, services: Services, errors: Sequence[float]) -> list[Json]:
    """Copies of one book, scanned with these shares of wrong letters, and related."""
    posted = [
        await post(client, pages=pages_of(scanned(TEXT, seed, rate)), title=f"Copy {seed}")
        for seed, rate in enumerate(errors)
    ]
    await run_jobs(services)
    return posted


async def test_the_key_comes_with_the_book_and_leads_to_the_cluster_as_its_id_does(
    client: AsyncClient, services: Services
) -> None:
    older = [await post(client, pages=pages_of(scanned(TEXT, seed))) for seed in (1, 2)]
    younger = [await post(client, pages=pages_of(scanned(OTHER, seed))) for seed in (1, 2)]
    assert await keys(client) == [own_key(book) for book in (*older, *younger)]
    await run_jobs(services)
    kept, left = own_key(older[0]), own_key(younger[0])
    assert await keys(client) == [kept, kept, left, left]
    assert (await client.get(f"/v1/clusters/{left}")).json() == await cluster(client, younger[1])

    await decide(client, older[1], younger[1], {"kind": "SAME_TEXT"})
    assert await keys(client) == [kept] * 4
    moved = await client.get(f"/v1/clusters/{left}?limit=3")
    assert (moved.status_code, moved.headers["cache-control"]) == (308, "no-cache")
    assert moved.headers["location"] == f"/v1/clusters/same_text-{older[0]['id']}?limit=3"
    assert (await by_id(client, left))["key"] == kept
    again = await client.post("/v1/books", json={"pages": pages_of(scanned(OTHER, 2))})
    assert (again.status_code, again.json()["cluster"]["key"]) == (200, kept)

    await decide(client, older[1], younger[1], None)
    assert await keys(client) == [kept, kept, left, left]
    await client.delete(older[0]["links"]["self"])
    assert await keys(client) == [own_key(older[1]), left, left]
    assert (await by_id(client, kept))["key"] == own_key(older[1])


async def test_a_deleted_member_leaves_and_a_deleted_founder_leaves_the_id_leading_on(
    client: AsyncClient, services: Services
) -> None:
    books = await copies(client, services, [0.02] * 4)
    former = f"same_text-{books[0]['id']}"
    await client.delete(books[2]["links"]["self"])
    assert members(await by_id(client, former)) == ids(books[0], books[1], books[3])

    await client.delete(books[0]["links"]["self"])
    for name in (former, f"same_text-{books[2]['id']}"):
        moved = await client.get(f"/v1/clusters/{name}")
        assert (moved.status_code, moved.headers["location"]) == (
            308,
            f"/v1/clusters/same_text-{books[1]['id']}",
        )
    assert members(await by_id(client, former)) == ids(books[1], books[3])
    for gone in (books[0], books[2]):
        assert_problem(await client.get(f"{gone['links']['self']}/cluster"), 404, "id")

    for book in (books[1], books[3]):
        await client.delete(book["links"]["self"])
    assert_problem(await client.get(f"/v1/clusters/{former}"), 404, "id")


async def test_members_come_in_pages(client: AsyncClient, services: Services) -> None:
    books = await copies(client, services, [0.02] * 5)
    for path in (f"{books[3]['links']['self']}/cluster", f"/v1/clusters/same_text-{books[0]['id']}"):
        pages = await all_pages(client, path, limit=2)
        assert [members(page) for page in pages] == [ids(*books[:2]), ids(*books[2:4]), ids(*books[4:])]
        assert {page["size"] for page in pages} == {5}
