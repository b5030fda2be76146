"""Clusters over HTTP: which books belong together, under which id, and which copy of them to keep."""

from collections.abc import Sequence
from typing import Any

import pytest
from httpx import AsyncClient

from app.wiring import Services
from tests.api.library import prose, scanned
from tests.api.posting import Json, post
from tests.api.test_bad_input import assert_problem
from tests.paged_books import pages_of, run_jobs

TEXT = prose(1, 3000)
OTHER = prose(2, 3000)
PAGES = pages_of(TEXT)
NOBODY = "01935090-11c2-7e0a-8d3f-b5c0a1e27f46"


async def cluster(client: AsyncClient, book: Json, **parameters: Any) -> Json:
    response = await client.get(f"{book['links']['self']}/cluster", params=parameters)
    assert response.status_code == 200, response.text
    answer: Json = response.json()
    return answer


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


@pytest.fixture
async def chain(client: AsyncClient, services: Services) -> list[Json]:
    """Two books and one that has both their texts: the first and the last share nothing."""
    volumes = [await post(client, pages=PAGES), await post(client, pages=pages_of(OTHER))]
    union = await post(client, pages=[*PAGES, *pages_of(OTHER)])
    await run_jobs(services)
    return [*volumes, union]


async def test_a_book_alone_is_a_cluster_of_one(client: AsyncClient, services: Services) -> None:
    book = await post(client, pages=PAGES, title="A book", year=1813, volume="2", external_id="s1")
    await post(client, pages=pages_of(OTHER))
    for _ in range(2):
        for by in ("same_text", "related"):
            answer = await cluster(client, book, by=by)
            assert answer == {
                "id": f"{by}-{book['id']}",
                "key": f"{by[0]}{book['id'].replace('-', '')}",
                "by": by,
                "size": 1,
                "best_copy": {"book_id": book["id"], "because": "It is the only copy of its text."},
                "weakest_link": None,
                "items": [
                    {
                        "book_id": book["id"],
                        "external_id": "s1",
                        "title": "A book",
                        "volume": "2",
                        "year": 1813,
                        "page_count": 10,
                        "word_count": 3000,
                    }
                ],
                "next_cursor": None,
                "links": {"self": f"/v1/clusters/{by}-{book['id']}"},
            }
            assert (await client.get(answer["links"]["self"])).json() == answer
        await run_jobs(services)


async def test_copies_are_one_cluster_whichever_of_them_is_asked(
    client: AsyncClient, services: Services
) -> None:
    books = await copies(client, services, [0.02] * 3)
    unrelated = await post(client, pages=pages_of(OTHER))
    await run_jobs(services)

    answers = [await cluster(client, book) for book in books]
    assert members(answers[0]) == ids(*books)
    assert (answers[0]["id"], answers[0]["size"]) == (f"same_text-{books[0]['id']}", 3)
    assert answers == [answers[0]] * 3
    assert members(await cluster(client, unrelated)) == ids(unrelated)
    assert members(await cluster(client, books[1], by="related")) == ids(*books)


async def test_what_shares_text_is_related_and_no_copy(client: AsyncClient, chain: list[Json]) -> None:
    for book in chain:
        assert members(await cluster(client, book)) == ids(book)
        answer = await cluster(client, book, by="related")
        assert members(answer) == ids(*chain)
        weakest = answer["weakest_link"]
        assert weakest["other_id"] == chain[2]["id"]
        assert weakest["book_id"] in ids(*chain[:2])
        assert (weakest["kind"], weakest["share"] > 0.9) == ("CONTIGUOUS_SUBSET", True)
        # The first two are joined by the third alone.
        assert answer["best_copy"] == {
            "book_id": chain[2]["id"],
            "because": "The fullest of 3 related books has this text. It is the only copy of its text.",
        }


async def test_a_person_may_join_what_the_machine_did_not(client: AsyncClient, services: Services) -> None:
    first, second = await post(client, pages=PAGES), await post(client, pages=pages_of(OTHER))
    await run_jobs(services)
    await decide(client, first, second, {"kind": "SAME_TEXT"})
    assert members(await cluster(client, second)) == ids(first, second)

    await decide(client, first, second, {"kind": "OVERLAPPING_TEXT"})
    assert members(await cluster(client, second)) == ids(second)
    related = await cluster(client, second, by="related")
    assert members(related) == ids(first, second)
    assert related["weakest_link"] == {
        "book_id": first["id"],
        "other_id": second["id"],
        "kind": "OVERLAPPING_TEXT",
        "share": None,
    }


async def test_clusters_that_become_one_keep_the_older_id_and_the_other_leads_there(
    client: AsyncClient, services: Services
) -> None:
    older = [await post(client, pages=pages_of(scanned(TEXT, seed))) for seed in (1, 2)]
    younger = [await post(client, pages=pages_of(scanned(OTHER, seed))) for seed in (1, 2)]
    await run_jobs(services)
    oldest, left = (f"same_text-{books[0]['id']}" for books in (older, younger))
    assert members(await by_id(client, left)) == ids(*younger)
    await decide(client, older[1], younger[1], {"kind": "SAME_TEXT"})

    moved = await client.get(f"/v1/clusters/{left}?limit=3")
    assert moved.status_code == 308
    assert moved.headers["location"] == f"/v1/clusters/{oldest}?limit=3"
    assert moved.headers["cache-control"] == "no-cache"
    assert members((await client.get(moved.headers["location"])).json()) == ids(*older, younger[0])

    await decide(client, older[1], younger[1], None)
    assert members(await by_id(client, oldest)) == ids(*older)
    assert members(await by_id(client, left)) == ids(*younger)


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
    moved = await client.get(f"/v1/clusters/{left}")
    assert (moved.status_code, moved.headers["location"]) == (308, f"/v1/clusters/same_text-{older[0]['id']}")
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


async def test_clusters_follow_a_content_that_changes(client: AsyncClient, services: Services) -> None:
    books = await copies(client, services, [0.02] * 3)
    others = [await post(client, pages=pages_of(scanned(OTHER, seed))) for seed in (1, 2)]
    await run_jobs(services)
    changed = {"pages": pages_of(scanned(OTHER, 9))}
    response = await client.put(f"{books[0]['links']['self']}/content", json=changed)
    assert response.status_code == 200

    # Until its job has run, nothing is known of what it says now.
    assert members(await cluster(client, books[0])) == ids(books[0])
    assert members(await cluster(client, books[1])) == ids(books[1], books[2])
    await run_jobs(services)
    assert members(await cluster(client, others[1])) == ids(books[0], *others)
    assert members(await cluster(client, books[2])) == ids(books[1], books[2])


async def test_members_come_in_pages(client: AsyncClient, services: Services) -> None:
    books = await copies(client, services, [0.02] * 5)
    for path in (f"{books[3]['links']['self']}/cluster", f"/v1/clusters/same_text-{books[0]['id']}"):
        member_ids, cursor = [], None
        for size in (2, 2, 1):
            page = (
                await client.get(path, params={"limit": 2} | ({"cursor": cursor} if cursor else {}))
            ).json()
            assert (page["size"], len(page["items"])) == (5, size)
            member_ids += members(page)
            cursor = page["next_cursor"]
        assert cursor is None
        assert member_ids == ids(*books)


async def test_a_cursor_of_another_query_is_refused(client: AsyncClient, services: Services) -> None:
    books = await copies(client, services, [0.02] * 3)
    path = f"{books[0]['links']['self']}/cluster"
    cursor = (await cluster(client, books[0], limit=1))["next_cursor"]

    for other in (
        f"{path}?by=related&cursor={cursor}",
        f"{books[1]['links']['self']}/cluster?cursor={cursor}",
        f"/v1/clusters/same_text-{books[0]['id']}?cursor={cursor}",
    ):
        assert_problem(await client.get(other), 422, "cursor")


async def test_unknown_books_and_clusters_are_refused(client: AsyncClient) -> None:
    book = await post(client, pages=PAGES)
    for other in (NOBODY, "nonsense"):
        assert_problem(await client.get(f"/v1/books/{other}/cluster"), 404)
    for name in (
        *(f"same_text-{NOBODY}", f"related-{NOBODY}", f"other-{book['id']}", book["id"]),
        *("nonsense", "same_text-", f"same_text-{book['id']}x", f"same_text-{book['id'].upper()}", "x" * 500),
        *(own_key(book)[1:], own_key(book)[:-1], f"x{own_key(book)[1:]}", own_key({"id": NOBODY})),
    ):
        response = await client.get(f"/v1/clusters/{name}")
        assert_problem(response, 404, "id")
        assert len(response.json()["detail"]) < 300


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("by=", "by"),
        ("by=SAME_TEXT", "by"),
        ("by=author", "by"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("cursor=x", "cursor"),
        ("kind=related", "kind"),
    ],
)
async def test_bad_query_is_refused(client: AsyncClient, query: str, field: str) -> None:
    book = await post(client, pages=PAGES)
    assert_problem(await client.get(f"{book['links']['self']}/cluster?{query}"), 422, field)


async def test_of_complete_copies_the_one_whose_pages_agree_best_is_kept(
    client: AsyncClient, services: Services
) -> None:
    books = await copies(client, services, [0.06, 0.04, 0.002, 0.05])

    answer = await cluster(client, books[0])
    assert answer["best_copy"]["book_id"] == books[2]["id"]
    assert answer["best_copy"]["because"].startswith(
        "Of 4 that are complete its pages agree best with those of other copies, by "
    )
    assert answer["best_copy"]["because"].endswith(
        ": 19,118 characters, where the fullest of 4 copies has 19,118."
    )
    # Of related books the fullest, and of its copies the best.
    more = await post(client, pages=[*PAGES, *pages_of(OTHER)], external_id="two")
    pages = pages_of(scanned(f"{TEXT} {OTHER}", 5, 0.06))
    worse = await post(client, pages=pages, external_id="one")
    await run_jobs(services)
    answer = await cluster(client, books[0], by="related")
    assert (answer["size"], answer["best_copy"]["book_id"]) == (6, more["id"])
    assert answer["best_copy"]["because"].startswith(
        "The fullest of 6 related books has this text. Of the 2 complete copies it has the smallest share "
        "of words that occur only once, as misread words do, "
    )
    await client.delete(more["links"]["self"])
    assert (await cluster(client, books[0], by="related"))["best_copy"]["book_id"] == worse["id"]
