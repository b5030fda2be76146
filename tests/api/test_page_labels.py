"""Page labels over HTTP: sent with pages, shown beside the page map, and no part of the content."""

from typing import Any

from httpx import AsyncClient

from app.wiring import Services
from tests.api.library import prose, scanned
from tests.api.posting import Json, post
from tests.factories import pages_of
from tests.paged_books import run_jobs

TEXT = prose(1, 3000)
PAGES = pages_of(TEXT)
LABELS = ["xi", "xii", None, *map(str, range(1, len(PAGES) - 2))]


async def labels(client: AsyncClient, book: Json, other: Json) -> Any:
    response = await client.get(f"{book['links']['relations']}/{other['id']}")
    assert response.status_code == 200, response.text
    return response.json()["page_labels"]


async def test_labels_are_shown_beside_the_page_map(client: AsyncClient, services: Services) -> None:
    book = await post(client, pages=PAGES, page_labels=LABELS)
    scan = await post(client, pages=pages_of(scanned(TEXT, 1)))
    await run_jobs(services)
    assert await labels(client, book, scan) == {"this": LABELS, "other": None}
    assert await labels(client, scan, book) == {"this": None, "other": LABELS}


async def test_put_replaces_the_labels(client: AsyncClient, services: Services) -> None:
    book = await post(client, pages=PAGES, page_labels=LABELS)
    scan = await post(client, pages=pages_of(scanned(TEXT, 1)))
    await run_jobs(services)

    async def put(body: Json, version: int) -> Any:
        response = await client.put(f"{book['links']['self']}/content", json=body)
        assert (response.status_code, response.json()["version"]) == (200, version), response.text
        await run_jobs(services)
        return (await labels(client, book, scan))["this"]

    assert await put({"pages": PAGES, "page_labels": LABELS}, 1) == LABELS
    assert await put({"pages": PAGES, "page_labels": LABELS[::-1]}, 2) == LABELS[::-1]
    assert await put({"pages": PAGES}, 3) is None
    other = {"pages": [*PAGES, "a new last page"], "page_labels": [*LABELS, "end"]}
    assert await put(other, 4) == [*LABELS, "end"]
    assert await put({"text": f"{TEXT} and more"}, 5) is None
