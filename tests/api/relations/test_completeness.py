"""Completeness over HTTP: what scans lack, and why it cannot be told."""

from uuid import uuid4

from httpx import AsyncClient

from app.wiring import Services
from tests.api.library import prose, scanned
from tests.api.posting import Json, post
from tests.factories import pages_of
from tests.paged_books import run_jobs

PAGES = pages_of(prose(31, 9000))
LABELS = [str(number) for number in range(1, len(PAGES) + 1)]


def noisy(seed: int, pages: list[str]) -> list[str]:
    return [scanned(page, 100 * seed + place, 0.02) for place, page in enumerate(pages)]


def path(book: Json) -> str:
    return f"/v1/books/{book['id']}/completeness"


async def test_a_missing_leaf_is_told_with_its_copy_and_labels(
    client: AsyncClient, services: Services
) -> None:
    lacking = await post(
        client, pages=noisy(1, PAGES[:12] + PAGES[14:]), page_labels=[*LABELS[:12], *LABELS[14:]]
    )
    whole = await post(client, pages=noisy(2, PAGES), page_labels=LABELS)
    await run_jobs(services)
    answer = (await client.get(path(lacking))).json()
    assert answer["compared_with"] == [whole["id"]]
    [fault] = answer["findings"]
    assert fault["confidence"] > 0.99
    assert {name: fault[name] for name in ("kind", "pages", "between", "labels", "in")} == {
        "kind": "missing",
        "pages": None,
        "between": [11, 12],
        "labels": ["13", "14"],
        "in": [{"book_id": whole["id"], "pages": [12, 14]}],
    }
    assert "the page numbers of the scan jump there" in fault["because"]
    assert (await client.get(path(whole))).json() == {"compared_with": [lacking["id"]], "findings": []}


async def test_what_is_lacking_is_said(client: AsyncClient) -> None:
    alone = await post(client, pages=PAGES)
    unpaged = await post(client, text=prose(32, 500))
    for book, said in (
        (alone, "No other scan of the printing"),
        (unpaged, "Send it as `pages`"),
    ):
        response = await client.get(path(book))
        assert response.status_code == 409
        assert said in response.json()["detail"]
    assert (await client.get(f"/v1/books/{uuid4()}/completeness")).status_code == 404
