"""The feed of changes over HTTP: what is told, in which order, from which cursor on, and as activities."""

import asyncio
from datetime import datetime
from typing import Any

from httpx import AsyncClient

from app.services.changes import cursor_of
from app.stores.postgres.connections import SQL
from app.wiring import Services
from tests.api.library import prose, scanned
from tests.api.posting import Json, get, post
from tests.api.test_bad_input import assert_problem
from tests.change_replica import Replica, rounded, state_of
from tests.factories import pages_of
from tests.paged_books import run_jobs

TEXT = prose(1, 3000)


async def changes(client: AsyncClient, **parameters: Any) -> Json:
    return await get(client, "/v1/changes", **parameters)


async def all_changes(client: AsyncClient) -> list[Json]:
    items: list[Json] = (await changes(client, limit=1000))["items"]
    return items


def told(items: list[Json]) -> list[tuple[str, str, str | None]]:
    return [(item["type"], item["book_id"], item["other_id"]) for item in items]


async def test_every_change_of_a_book_is_told_in_order(client: AsyncClient) -> None:
    book = await post(client, text=TEXT, external_id="one", collection="A library")
    path = book["links"]["self"]
    await client.post("/v1/books", json={"text": TEXT, "external_id": "one"})  # found, so nothing changes
    await client.patch(path, json={"year": 1813})
    await client.patch(path, json={})
    replaced = (await client.put(f"{path}/content", json={"text": prose(2)})).json()
    await client.delete(path)

    items = await all_changes(client)

    kinds = ["book.created", "book.changed", "book.content_replaced", "book.deleted"]
    assert told(items) == [(kind, book["id"], None) for kind in kinds]
    assert set(items[0]) == {"cursor", "at", "type", "book_id", "other_id", "data"}
    versions = [1, 2, 3, 3]
    identifiers = [book["identifier"]] * 2 + [replaced["identifier"]] * 2
    assert [item["data"] for item in items] == [
        {"version": version, "external_id": "one", "collection": "A library", "identifier": identifier}
        | ({"former_collection": "A library"} if version == 2 else {})
        for version, identifier in zip(versions, identifiers, strict=True)
    ]
    moments = [datetime.fromisoformat(item["at"]) for item in items]
    assert moments == sorted(set(moments))


async def test_who_applies_all_changes_has_what_the_service_answers(
    client: AsyncClient, services: Services
) -> None:
    texts = [prose(seed, 2400) for seed in range(3)]
    forms = [
        form
        for seed, text in enumerate(texts)
        for form in (pages_of(text), pages_of(scanned(text, seed)), pages_of(text)[2:5])
    ]
    books = [await post(client, pages=pages, external_id=f"{n}") for n, pages in enumerate(forms)]
    await run_jobs(services)
    await client.put(
        f"{books[0]['links']['relations']}/{books[1]['id']}/decision", json={"verdict": "rejected"}
    )
    await client.put(
        f"{books[3]['links']['relations']}/{books[6]['id']}/decision", json={"kind": "SAME_TEXT"}
    )
    await client.put(f"{books[1]['links']['self']}/content", json={"pages": pages_of(scanned(texts[2], 9))})
    await client.patch(books[4]["links"]["self"], json={"year": 1900})
    await client.delete(books[3]["links"]["self"])
    await run_jobs(services)
    await client.put(
        f"{books[7]['links']['relations']}/{books[8]['id']}/decision", json={"verdict": "confirmed"}
    )
    await client.delete(books[6]["links"]["self"])

    replica = Replica()
    for item in await all_changes(client):
        replica.apply(item)

    assert rounded(replica) == await state_of(client)


async def test_a_reader_can_wait_for_the_next_change(client: AsyncClient) -> None:
    cursor = (await changes(client))["next_cursor"]
    assert (await changes(client, after=cursor, wait=0.3))["items"] == []

    waiting = asyncio.create_task(changes(client, after=cursor, wait=60))
    await asyncio.sleep(0.2)
    book = await post(client, text=TEXT)

    assert [item["book_id"] for item in (await waiting)["items"]] == [book["id"]]


async def test_old_changes_are_swept_and_cursors_before_them_are_gone(
    client: AsyncClient, services: Services
) -> None:
    for seed in range(4):
        await post(client, text=prose(seed, 100))
    items = await all_changes(client)
    await services.database.rows(SQL("UPDATE changes SET at = at - interval '31 days' WHERE position <= 3"))
    assert await services.changes.sweep() == 3

    response = await client.get("/v1/changes", params={"after": items[1]["cursor"]})

    assert_problem(response, 410)
    assert "after=now" in response.json()["detail"]
    assert told((await changes(client, after=items[2]["cursor"]))["items"]) == told(items[3:])
    assert told((await changes(client))["items"]) == told(items[3:])
    assert_problem(await client.get("/v1/changes", params={"after": cursor_of(5)}), 410)


async def test_the_collection_is_what_iiif_change_discovery_says(
    client: AsyncClient, services: Services
) -> None:
    book = await post(client, pages=pages_of(TEXT))
    scan = await post(client, pages=pages_of(scanned(TEXT, 1)))
    await run_jobs(services)
    await client.patch(book["links"]["self"], json={"year": 1813})
    await client.delete(scan["links"]["self"])
    base = "http://localhost"

    response = await client.get("/changes/collection")
    page = (await client.get(response.json()["last"]["id"])).json()

    context = "http://iiif.io/api/discovery/1/context.json"
    assert response.headers["content-type"] == f'application/ld+json;profile="{context}"'
    link = {"id": f"{base}/changes/pages/0", "type": "OrderedCollectionPage"}
    items = await all_changes(client)
    assert response.json() == {
        "@context": context,
        "id": f"{base}/changes/collection",
        "type": "OrderedCollection",
        "totalItems": len(items),
        "first": link,
        "last": link,
    }
    assert next(iter(response.json())) == next(iter(page)) == "@context"
    activities = page.pop("orderedItems")
    assert page == {
        "@context": context,
        **link,
        "partOf": {"id": f"{base}/changes/collection", "type": "OrderedCollection"},
    }
    assert [activity["endTime"] for activity in activities] == [item["at"] for item in items]
    of_books = [
        (activity["type"], activity["object"]["id"])
        for activity in activities
        if activity["object"]["type"] == "Book"
    ]
    first, second = (f"{base}{each['links']['self']}" for each in (book, scan))
    assert of_books == [("Create", first), ("Create", second), ("Update", first), ("Delete", second)]
    relations = [each for each in activities if each["object"]["type"] == "Relation"]
    assert [each["type"] for each in relations] == ["Update", "Delete"]
    assert relations[0]["object"]["id"] == f"{first}/relations/{scan['id']}"
    for activity in activities:
        assert activity["object"]["id"].startswith("http")


async def test_pages_of_the_collection_are_linked_and_stay(client: AsyncClient, services: Services) -> None:
    await post(client, text=TEXT)
    await all_changes(client)
    # Positions 1 and 2,500 alone: pages are numbered by positions.
    await services.database.rows(
        SQL("""
            INSERT INTO changes (position, at, type, book_id, data)
            SELECT position, at + position * interval '1 second', type, book_id, data
            FROM (SELECT at, type, book_id, data FROM changes) AS first, generate_series(2, 2500) AS position
        """)
    )
    collection = (await client.get("/changes/collection")).json()
    assert collection["totalItems"] == 2500

    sizes, link = [], collection["last"]
    while link is not None:
        page = (await client.get(link["id"])).json()
        sizes.append(len(page["orderedItems"]))
        last, link = link, page.get("prev")

    assert sizes == [500, 1000, 1000]
    assert last == collection["first"]
    assert page["next"]["id"].endswith("/changes/pages/1")
    assert_problem(await client.get("/changes/pages/3"), 404)
    assert_problem(await client.get("/changes/pages/x"), 404)
