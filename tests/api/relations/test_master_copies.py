"""Master copies over HTTP: which books vote on them, and what comes out page by page."""

from typing import Any

from httpx import AsyncClient

from app.wiring import Services
from bookprint_core.signatures.json_codec import encode
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_pages
from tests.api.library import prose
from tests.api.posting import Json, get, post
from tests.api.relations.test_clusters import NOBODY, cluster, copies, decide
from tests.api.test_bad_input import assert_problem
from tests.factories import pages_of

TEXT = prose(1, 3000)
PAGES = pages_of(TEXT)


def path(founder: Json, by: str = "same_text") -> str:
    return f"/v1/clusters/{by}-{founder['id']}/text"


async def master_copy(client: AsyncClient, founder: Json, by: str = "same_text", **parameters: Any) -> Json:
    return await get(client, path(founder, by), **parameters)


def texts(answer: Json) -> list[str]:
    return [page["text"] for page in answer["items"]]


async def test_three_scans_make_a_text(client: AsyncClient, services: Services) -> None:
    books = await copies(client, services, (0.02, 0.02, 0.02))
    answer = await master_copy(client, books[0])
    best = (await cluster(client, books[1]))["best_copy"]
    assert answer["best_copy"] == best
    assert answer["copies"][0] == {"book_id": best["book_id"], "pages": 10}
    assert {copy["book_id"]: copy["pages"] for copy in answer["copies"]} == {book["id"]: 10 for book in books}
    assert (answer["unit"], answer["page_count"], answer["left_out"]) == ("page", 10, [])
    assert answer["links"] == {"self": path(books[0]), "cluster": path(books[0]).removesuffix("/text")}
    for page in answer["items"]:
        assert page["copies"] == 3
        assert 0.95 < page["agreement"] < 1
        assert 0 < page["changed"] < 0.25


async def test_pages_come_a_few_at_a_time(client: AsyncClient, services: Services) -> None:
    books = await copies(client, services, (0.02, 0.02, 0.02))
    whole = await master_copy(client, books[0])
    some = await master_copy(client, books[0], first=2, limit=5)
    assert [page["page"] for page in some["items"]] == [2, 3, 4, 5, 6]
    rest = await master_copy(client, books[0], first=2, limit=5, cursor=some["next_cursor"])
    assert rest["next_cursor"] is None
    assert some["items"] + rest["items"] == whole["items"][2:]
    beyond = await master_copy(client, books[0], first=10)
    assert (beyond["items"], beyond["next_cursor"]) == ([], None)
    plain = await client.get(path(books[0]), params={"limit": 6}, headers={"Accept": "text/plain"})
    assert (plain.headers["content-type"], plain.headers["vary"]) == ("text/plain; charset=utf-8", "Accept")
    last = await client.get(plain.links["next"]["url"], headers={"Accept": "text/plain"})
    assert "link" not in last.headers
    assert plain.text.split("\f") + last.text.split("\f") == texts(whole)


async def test_a_book_without_its_text_neither_votes_nor_is_the_best_copy(
    client: AsyncClient, services: Services
) -> None:
    textless = await post(client, signatures=encode(sketch(content_from_pages(PAGES))))
    assert_problem(await client.get(path(textless)), 409)
    assert (await client.get(path(textless))).json()["type"].endswith(":text-not-kept")
    books = await copies(client, services, (0.02, 0.02))
    answer = await master_copy(client, textless)
    assert (await cluster(client, textless))["best_copy"]["book_id"] == textless["id"]
    assert answer["best_copy"]["book_id"] in {book["id"] for book in books}
    assert answer["left_out"] == [{"book_id": textless["id"], "because": "Its text is not kept."}]
    assert {copy["book_id"] for copy in answer["copies"]} == {book["id"] for book in books}


async def test_a_book_joined_by_a_person_has_no_vote_where_no_page_matches(client: AsyncClient) -> None:
    book, other = await post(client, pages=PAGES), await post(client, pages=pages_of(prose(3, 3000)))
    await decide(client, book, other, {"kind": "SAME_TEXT"})
    answer = await master_copy(client, book)
    assert (len(answer["copies"]), len(answer["left_out"])) == (1, 1)
    assert "None of its pages" in answer["left_out"][0]["because"]


async def test_wrong_input(client: AsyncClient) -> None:
    book = await post(client, pages=PAGES)
    for field, value in (("limit", "51"), ("limit", "0"), ("first", "-1"), ("page", "3"), ("cursor", "AAAA")):
        assert_problem(await client.get(path(book), params={field: value}), 422, field)
    response = await client.get(path(book), headers={"Accept": "image/png"})
    assert_problem(response, 406, "Accept")
    assert "text/plain" in response.json()["detail"]
    for name in (f"same_text-{NOBODY}", "nothing"):
        assert_problem(await client.get(f"/v1/clusters/{name}/text"), 404, "id")
