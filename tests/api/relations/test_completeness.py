"""Completeness over HTTP: what scans lack, and why it cannot be told."""

from uuid import uuid4

from httpx import AsyncClient

from tests.api.library import prose
from tests.api.posting import Json, post
from tests.paged_books import pages_of

PAGES = pages_of(prose(31, 9000))


def path(book: Json) -> str:
    return f"/v1/books/{book['id']}/completeness"


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
