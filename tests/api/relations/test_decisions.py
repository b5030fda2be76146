"""The queue of relations to look at, decisions on many pairs at once, and their history."""

import asyncio
from typing import Any

import pytest
from httpx import AsyncClient

from app.stores.postgres.connections import SQL
from app.stores.postgres.pairs import reviews as queue
from tests.api.library import prose, scanned
from tests.api.posting import Json, get, post
from tests.api.test_bad_input import assert_problem
from tests.factories import pages_of
from tests.open_services import OpenServices
from tests.paged_books import run_jobs

TEXT = prose(41, 3000)
NOBODY = "01935090-11c2-7e0a-8d3f-b5c0a1e27f46"


@pytest.fixture
async def books(client: AsyncClient, services: OpenServices, monkeypatch: pytest.MonkeyPatch) -> list[Json]:
    """Three copies, of which the last is said to be another book; all their relations are in the queue."""
    monkeypatch.setattr(queue, "LEAST_REVIEWED", 0.0)
    posted = [
        await post(client, pages=pages_of(scanned(TEXT, seed)), title=title, authors=[author], year=year)
        for seed, (title, author, year) in enumerate(
            [
                ("The Salt Road", "Jane Moor", 1898),
                ("The Salt Road", "J. Moor", 1898),
                ("Ferry", "A. Ames", 1913),
            ]
        )
    ]
    await run_jobs(services)
    return posted


def pairs(items: list[Json]) -> list[frozenset[str]]:
    return [frozenset(book["id"] for book in item["books"]) for item in items]


async def reviews(client: AsyncClient, **query: Any) -> Json:
    return await get(client, "/v1/reviews", **query)


async def decided(client: AsyncClient, *items: Json, **others: Any) -> list[Json]:
    response = await client.post("/v1/decisions", json={"items": items, **others})
    assert response.status_code == 200, response.text
    answered: list[Json] = response.json()["items"]
    return answered


async def test_the_queue_has_the_doubtful_first_and_pages_stay_while_others_decide(
    client: AsyncClient, books: list[Json], services: OpenServices
) -> None:
    first, second, strange = (book["id"] for book in books)
    answer = await reviews(client)
    doubtful = SQL("SELECT left_id, right_id FROM relations ORDER BY doubt DESC LIMIT 1")
    [most] = await services.database.rows(doubtful)
    assert pairs(answer["items"])[0] == {str(most["left_id"]), str(most["right_id"])}
    assert {*pairs(answer["items"])} == {
        frozenset(pair) for pair in ((first, second), (first, strange), (second, strange))
    }
    assert "%" in answer["items"][0]["because"]
    assert answer["next_cursor"] is None

    page = await reviews(client, limit=1)
    assert page["items"] == answer["items"][:1]
    left, right = pairs(answer["items"])[0]
    await decided(client, {"left": left, "right": right, "verdict": "rejected"})
    behind = await reviews(client, limit=2, cursor=page["next_cursor"])
    assert behind["items"] == answer["items"][1:]
    assert pairs((await reviews(client))["items"]) == pairs(answer["items"])[1:]

    of_1913 = [item for item in answer["items"][1:] if 1913 in [book["year"] for book in item["books"]]]
    assert (await reviews(client, kind="SAME_PAGINATION", year=1913))["items"] == of_1913
    assert (await reviews(client, language="de"))["items"] == []
    await client.delete(f"/v1/books/{strange}")
    assert len((await reviews(client))["items"]) <= 1


async def test_relations_without_doubt_are_left_out_of_the_queue(
    client: AsyncClient, services: OpenServices
) -> None:
    text = pages_of(TEXT)
    for seed, pages in enumerate([text, text, [*text[: len(text) * 11 // 20], *pages_of(prose(42, 3000))]]):
        await post(client, pages=[scanned(page, seed) for page in pages])
    await run_jobs(services)
    stored = await services.database.rows(SQL("SELECT left_id, right_id, doubt FROM relations"))
    doubtful = [{str(row["left_id"]), str(row["right_id"])} for row in stored if row["doubt"] >= 0.05]
    assert len(stored) == 3
    assert sorted(map(sorted, pairs((await reviews(client))["items"]))) == sorted(map(sorted, doubtful))
    assert len(doubtful) < 3


async def test_decisions_are_made_each_or_all_and_withdrawn(client: AsyncClient, books: list[Json]) -> None:
    first, second, strange = (book["id"] for book in books)
    good = {"left": first, "right": second, "verdict": "confirmed", "note": "the same plates"}
    bad = {"left": first, "right": NOBODY, "verdict": "rejected"}
    refused = await client.post("/v1/decisions", json={"items": [good, bad], "all_or_none": True})
    assert_problem(refused, 404)
    assert (await client.get("/v1/decisions")).json()["items"] == []

    answered = await decided(client, good, bad, {"left": strange, "right": first, "kind": "SAME_TEXT"})
    assert [(each["status"], each["outcome"]) for each in answered] == [
        *((200, "counts"), (404, None), (200, "counts"))
    ]
    assert answered[1]["problem"]["type"].endswith("unknown-book")
    withdrawn = {"left": second, "right": first, "verdict": "withdrawn"}
    assert [each["status"] for each in await decided(client, withdrawn, withdrawn)] == [200, 404]
    assert len((await reviews(client))["items"]) == 2

    history = (
        await client.get("/v1/decisions", params={"by": "anyone", "after": "2020-01-01T00:00:00Z"})
    ).json()
    assert [item["verdict"] for item in history["items"]] == ["withdrawn", "kind", "confirmed"]
    assert history["items"][0]["before"] == {
        "verdict": "confirmed",
        "kind": "SAME_PAGINATION",
        "by": "anyone",
    }
    assert history["items"][2]["note"] == "the same plates"
    page = (await client.get("/v1/decisions", params={"limit": 1})).json()
    rest = (await client.get("/v1/decisions", params={"cursor": page["next_cursor"]})).json()
    assert page["items"] + rest["items"] == history["items"]
    both = {"left": first, "right": second, "verdict": "rejected", "kind": "SAME_TEXT"}
    assert_problem(await client.post("/v1/decisions", json={"items": [both]}), 422)


async def test_who_is_unsure_decides_nothing_and_nobody_is_overruled_unseen(
    client: AsyncClient, books: list[Json]
) -> None:
    first, second, _ = (book["id"] for book in books)
    pair = {"left": first, "right": second}
    [answered] = await decided(client, {**pair, "verdict": "unsure", "note": "plates?"})
    assert answered["outcome"] == "unsure"
    assert len((await reviews(client))["items"]) == 2
    await decided(client, {**pair, "verdict": "withdrawn"})
    assert len((await reviews(client))["items"]) == 3

    [answered] = await decided(client, {**pair, "verdict": "confirmed", "instead_of": "nothing"})
    assert answered["outcome"] == "counts"
    [late] = await decided(client, {**pair, "verdict": "rejected", "instead_of": "nothing"})
    assert (late["status"], late["problem"]["type"]) == (409, "urn:bookprint:problem:decided-meanwhile")
    at = (await client.get("/v1/decisions")).json()["items"][0]["at"]
    [answered] = await decided(client, {**pair, "verdict": "rejected", "instead_of": at})
    assert answered["outcome"] == "counts"


async def test_two_people_at_the_same_time_lose_no_decision(client: AsyncClient, books: list[Json]) -> None:
    ids = [book["id"] for book in books]
    couples = [(ids[0], ids[1]), (ids[1], ids[2]), (ids[0], ids[2])]

    async def person(name: str, order: list[tuple[str, str]]) -> None:
        for number in range(4):
            items = [
                {"left": a, "right": b, "kind": "SAME_TEXT", "note": f"{name}{number}"} for a, b in order
            ]
            assert {
                each["status"] for each in await decided(client, *items, all_or_none=bool(number % 2))
            } == {200}

    await asyncio.gather(person("a", couples), person("b", couples[::-1]), person("c", couples[1:]))
    history = (await client.get("/v1/decisions")).json()["items"]
    assert len(history) == 4 * (3 + 3 + 2)
    for left, right in couples:
        own = [item for item in history[::-1] if {item["left"], item["right"]} == {left, right}]
        # Each says what was there before: the one that was made before it.
        assert [item["before"] is None for item in own] == [True] + [False] * (len(own) - 1)


async def test_each_undo_brings_back_what_counted_before(client: AsyncClient, books: list[Json]) -> None:
    pair = {"left": books[0]["id"], "right": books[1]["id"]}
    path = f"{books[0]['links']['relations']}/{books[1]['id']}"

    async def say(*verdicts: str, **more: str) -> list[Json]:
        items = [pair | {"verdict": verdict} | more for verdict in verdicts]
        answer = await client.post("/v1/decisions", json={"items": items, "all_or_none": True})
        found: list[Json] = answer.json().get("items", [answer.json()])
        return found

    async def counting() -> str | None:
        decision = (await get(client, path))["decision"]
        return decision and str(decision["verdict"])

    await say("confirmed")
    await say("rejected", "rejected", "confirmed")  # in one transaction
    for left in ("rejected", "rejected", "confirmed", None):
        [undone] = await say("undone")
        assert (undone["outcome"], await counting()) == ("undone", left)
    assert (await say("undone"))[0]["type"].endswith("no-decision")

    await say("confirmed")
    await say("rejected")
    late = (await say("undone", instead_of="2027-01-31T18:00:00Z"))[0]
    assert late["type"].endswith("decided-meanwhile")
    assert (await client.delete(f"{path}/decision")).status_code == 204
    assert await counting() is None
