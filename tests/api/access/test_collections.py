"""Keys that are bound to a collection: every operation that writes, on books outside it and inside."""

from collections.abc import AsyncIterator
from itertools import count

import pytest
from httpx import AsyncClient, Response

from app.services.access.keys import Keys
from bookprint_core.errors import InvalidInput
from tests.api.access.key_holders import Holders, holders
from tests.api.access.test_audit import WRITES
from tests.api.conftest import asking
from tests.api.example_requests import operations
from tests.api.library import prose
from tests.api.posting import Json, post, send_lines
from tests.api.test_bad_input import assert_problem
from tests.factories import ACTOR
from tests.secret_search import ADMIN_KEY

OURS, THEIRS = "Harbour Library", "Hill Library"
SEEDS = count(31_000)
BOOK, CONTENT = "/v1/books/{book_id}", "/v1/books/{book_id}/content"
DECISION = "/v1/books/{book_id}/relations/{other_id}/decision"
DECISIONS = "/v1/decisions"


def text() -> Json:
    return {"text": prose(next(SEEDS), 60)}


OUTSIDE: dict[tuple[str, str], list[Json]] = {
    ("POST", "/v1/books"): [{"json": {"collection": THEIRS}}],
    ("POST", "/v1/books:bulk"): [{"json": {"collection": THEIRS}}],
    ("PATCH", BOOK): [{"json": {"title": "Another"}}, {"json": {"collection": OURS}}, {"json": {}}],
    ("PUT", CONTENT): [{"json": {}}],
    ("DELETE", BOOK): [{}],
    ("PUT", DECISION): [{"json": {"kind": "SAME_TEXT"}}, {"json": "rejected"}],
    ("DELETE", DECISION): [{}],
    ("POST", DECISIONS): [{"verdict": "rejected"}, {"kind": "SAME_TEXT"}, {"verdict": "withdrawn"}],
}
"""What each operation that writes is asked outside the collection, but for those of administrators."""


@pytest.fixture(scope="module")
async def held(module_database_url: str, module_redis_url: str) -> AsyncIterator[Holders]:
    async with holders(module_database_url, module_redis_url) as held:
        yield held


@pytest.fixture(scope="module")
async def client(held: Holders) -> AsyncIterator[AsyncClient]:
    """A client with a key that is bound to our collection."""
    keys: Keys = held.app.state.services.keys
    made = await keys.create("harbour", ["ingest", "decide"], collection=f" {OURS} ", actor=ACTOR)
    async with asking(held.app) as client:
        client.headers["X-API-Key"] = made.text
        yield client


@pytest.fixture(scope="module")
async def anyone(held: Holders) -> AsyncIterator[AsyncClient]:
    """A client with the key of the environment, which is bound to nothing."""
    async with asking(held.app) as client:
        client.headers["X-API-Key"] = ADMIN_KEY
        yield client


def problem(answer: Response, status: int) -> Json:
    assert_problem(answer, status)
    document: Json = answer.json()
    return document


async def state(anyone: AsyncClient, *books: Json) -> list[object]:
    """All that could tell that something was written."""
    read = [(await anyone.get(book["links"]["self"])).json() for book in books]
    related = [(await anyone.get(book["links"]["relations"])).json()["items"] for book in books]
    changes = (await anyone.get("/v1/changes", params={"limit": 1000})).json()["items"]
    audit = (await anyone.get("/v1/audit", params={"limit": 1000})).json()["items"]
    return [read, related, changes, audit]


async def test_every_operation_that_writes_is_refused_outside_the_collection(
    client: AsyncClient, anyone: AsyncClient
) -> None:
    writes = set(WRITES)
    for_admins = {key for key in writes if operations("keys")[key]["x-scope"] == "admin"}
    assert writes == for_admins | OUTSIDE.keys()
    ours = await post(client, **text())
    theirs, nobodys = await post(anyone, **text(), collection=THEIRS), await post(anyone, **text())
    others = [await post(anyone, **text(), collection=THEIRS) for _ in range(2)]
    path = DECISION.format(book_id=theirs["id"], other_id=others[0]["id"])
    assert (await anyone.put(path, json={"kind": "SAME_TEXT"})).status_code == 200
    path = DECISION.format(book_id=ours["id"], other_id=theirs["id"])
    assert (await anyone.put(path, json={"kind": "SAME_TEXT"})).status_code == 200
    books = [ours, theirs, nobodys, *others]
    before = await state(anyone, *books)

    for (method, path), requests in OUTSIDE.items():
        for request in requests:
            if path in {"/v1/books", "/v1/books:bulk", CONTENT}:
                request = {"json": request["json"] | text()}
            if path == "/v1/books:bulk":
                [line] = await send_lines(client, "/v1/books:bulk", request["json"])
                assert (line["status"], line["problem"]["status"]) == (403, 403)
                continue
            for pair in [(theirs, others[0]), (theirs, others[1]), (theirs, ours), (nobodys, ours)]:
                for one, other in (pair, pair[::-1]):
                    if one is ours and path not in {DECISION, DECISIONS}:
                        continue
                    if path == DECISIONS:
                        item = request | {"left": one["id"], "right": other["id"]}
                        answer = await client.post(path, json={"items": [item]})
                        assert [each["status"] for each in answer.json()["items"]] == [403], answer.text
                        alone = {"items": [item], "all_or_none": True}
                        assert (await client.post(path, json=alone)).status_code == 403
                        continue
                    named = path.format(book_id=one["id"], other_id=other["id"])
                    refused = problem(await client.request(method, named, **request), 403)
                    assert refused["type"] == "urn:bookprint:problem:other-collection"
                    assert OURS in refused["detail"]
    for method, path in for_admins:
        refused = await client.request(method, path.format(webhook_id=ours["id"]))
        assert refused.status_code == 403

    assert await state(anyone, *books) == before


async def test_a_book_stays_in_the_collection_of_the_key(client: AsyncClient) -> None:
    book = await post(client, **text())
    for outside in (None, THEIRS):
        answer = await client.patch(book["links"]["self"], json={"collection": outside, "year": 1813})
        assert_problem(answer, 403)

    kept = (await client.get(book["links"]["self"])).json()

    assert (kept["collection"], kept["year"], kept["version"]) == (OURS, None, 1)


async def test_a_book_of_others_is_found_and_untouched(client: AsyncClient, anyone: AsyncClient) -> None:
    for collection, place in ((THEIRS, THEIRS), (None, "no collection")):
        sent = text()
        theirs = await post(anyone, **sent, collection=collection, title="Theirs")

        found = await client.post("/v1/books", json=sent | {"title": "Ours"})
        [line] = await send_lines(client, "/v1/books:bulk", sent)
        own = await post(client, **sent, external_id=f"ours {place}")

        answer = found.json()
        assert (found.status_code, answer["id"], answer["created"]) == (200, theirs["id"], False)
        assert (answer["title"], answer["collection"]) == ("Theirs", collection)
        assert [place in warning for warning in answer["warnings"]] == [True]
        assert "external_id" in answer["warnings"][0]
        assert (line["status"], line["created"], line["warnings"]) == (200, False, answer["warnings"])
        assert (own["collection"], own["warnings"]) == (OURS, [])
        assert (await anyone.get(theirs["links"]["self"])).json()["version"] == 1


async def test_an_external_id_of_others_is_no_way_to_overwrite(
    client: AsyncClient, anyone: AsyncClient
) -> None:
    theirs = await post(anyone, **text(), external_id="shelf 1", collection=THEIRS)
    own = await post(client, **text())

    conflict = problem(await client.post("/v1/books", json=text() | {"external_id": "shelf 1"}), 409)
    renamed = await client.patch(own["links"]["self"], json={"external_id": "shelf 1"})
    path = f"/v1/books/{conflict['book_id']}/content"

    assert conflict["book_id"] == theirs["id"]
    assert_problem(renamed, 409)
    assert_problem(await client.put(path, json=text()), 403)
    kept = (await anyone.get(theirs["links"]["self"])).json()
    assert (kept["identifier"], kept["version"]) == (theirs["identifier"], 1)


@pytest.mark.parametrize(("scope", "collection"), [("admin", OURS), ("ingest", " "), ("ingest", "x" * 101)])
async def test_a_key_that_cannot_be_bound_is_refused(held: Holders, scope: str, collection: str) -> None:
    keys: Keys = held.app.state.services.keys
    with pytest.raises(InvalidInput):
        await keys.create("a", [scope], collection=collection, actor=ACTOR)  # type: ignore[list-item]
