"""Metadata conflicts over HTTP."""

from typing import Any

from httpx import AsyncClient

from tests.api.library import prose
from tests.api.posting import Json, all_pages, get, post
from tests.api.test_bad_input import assert_problem
from tests.factories import pages_of
from tests.open_services import OpenServices
from tests.paged_books import run_jobs


async def listed(client: AsyncClient, **parameters: Any) -> Json:
    return await get(client, "/v1/conflicts", **parameters)


async def test_conflicts_come_in_pages_and_go_with_their_books(
    client: AsyncClient, services: OpenServices
) -> None:
    books = [
        await post(client, pages=pages_of(prose(seed, 3000)), identifiers=["isbn:9780141439600"])
        for seed in range(4)
    ]
    await run_jobs(services)
    whole = (await listed(client, by="isbn"))["items"]
    assert len(whole) == 6
    pages = await all_pages(client, "/v1/conflicts", by="isbn", limit=4)
    assert [page["items"] for page in pages] == [whole[:4], whole[4:]]
    cursor = (await listed(client, by="isbn", limit=1))["next_cursor"]
    assert_problem(await client.get(f"/v1/conflicts?by=title&cursor={cursor}"), 422, "cursor")

    await client.delete(books[0]["links"]["self"])
    page = await listed(client, by="isbn", limit=4)
    assert (len(page["items"]), page["next_cursor"]) == (3, None)
