"""Page labels over HTTP: sent with pages, shown beside the page map, and no part of the content."""

import json
from typing import Any

import pytest
from httpx import AsyncClient

from app.core.signatures.json_codec import encode
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_pages
from app.wiring import Services
from tests.api.library import prose, scanned
from tests.api.posting import Json, post
from tests.api.test_bad_input import assert_problem
from tests.paged_books import pages_of, run_jobs

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


async def test_windows_have_no_labels(client: AsyncClient, services: Services) -> None:
    book = await post(client, pages=PAGES, page_labels=LABELS)
    text = await post(client, text=TEXT)
    await run_jobs(services)
    assert await labels(client, book, text) == {"this": None, "other": None}


async def test_labels_are_no_part_of_the_content(client: AsyncClient) -> None:
    book = await post(client, pages=PAGES, page_labels=LABELS)
    again = await client.post("/v1/books", json={"pages": PAGES, "page_labels": LABELS[::-1]})
    assert (again.status_code, again.json()["id"]) == (200, book["id"])
    assert again.json()["identifier"] == book["identifier"]


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


async def test_labels_come_with_signatures_and_files(client: AsyncClient, services: Services) -> None:
    signed = encode(sketch(content_from_pages(PAGES)))
    book = await post(client, signatures=signed, page_labels=LABELS)
    marked = "".join(
        f"<Page{'' if label is None else f' PRINTED_IMG_NR={json.dumps(label)}'}>"
        + "".join(f'<TextLine><String CONTENT="{word}"/></TextLine>' for word in page.split())
        + "</Page>"
        for page, label in zip(pages_of(scanned(TEXT, 1)), LABELS, strict=True)
    )
    sent = await client.post("/v1/books", files={"file": ("book.xml", f"<alto>{marked}</alto>".encode())})
    assert sent.status_code == 201, sent.text
    await run_jobs(services)
    assert await labels(client, book, sent.json()) == {"this": LABELS, "other": LABELS}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": "a text", "page_labels": ["1"]}, "page_labels"),
        ({"text": "a\fb", "page_labels": ["1", "2"]}, "page_labels"),
        ({"pages": ["one", "two"], "page_labels": ["1"]}, "page_labels"),
        ({"pages": ["one"], "page_labels": []}, "page_labels"),
        ({"pages": ["one"], "page_labels": ["x" * 33]}, "page_labels[0]"),
        ({"pages": ["one"], "page_labels": [""]}, "page_labels[0]"),
        ({"pages": ["one", "two"], "page_labels": [None, "a\0b"]}, "page_labels[1]"),
        ({"pages": ["one"], "page_labels": ["\x1b[2J"]}, "page_labels[0]"),
        ({"pages": ["one"], "page_labels": [1]}, "page_labels[0]"),
        (
            {"signatures": encode(sketch(content_from_pages(["one"] * 9))), "page_labels": ["1"]},
            "page_labels",
        ),
    ],
)
async def test_wrong_labels_are_refused(client: AsyncClient, body: Json, field: str) -> None:
    response = await client.post("/v1/books", json=body)
    assert_problem(response, 422)
    assert [error["field"] for error in response.json()["errors"]] == [field]
