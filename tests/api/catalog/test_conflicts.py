"""Metadata conflicts over HTTP."""

from typing import Any

import pytest
from httpx import AsyncClient

from tests.api.library import prose, scanned
from tests.api.posting import Json, all_pages, get, post
from tests.api.test_bad_input import assert_problem
from tests.factories import pages_of
from tests.open_services import OpenServices
from tests.paged_books import run_jobs

ISBN, OTHER_ISBN = "9780141439600", "9783161484100"
TEXT = prose(1, 3000)


async def listed(client: AsyncClient, **parameters: Any) -> Json:
    return await get(client, "/v1/conflicts", **parameters)


@pytest.fixture
async def books(client: AsyncClient, services: OpenServices) -> list[Json]:
    """A book, a copy under another ISBN, and another text under the ISBN and the title of the first."""
    made = [
        await post(client, pages=pages_of(TEXT), title="Emma", year=1815, identifiers=["isbn:0-14-143960-2"]),
        await post(
            client,
            pages=pages_of(scanned(TEXT, 1)),
            title="Emma. A novel",
            identifiers=[f"isbn:{OTHER_ISBN}"],
        ),
        await post(
            client, pages=pages_of(prose(2, 3000)), title="EMMA", volume="2", identifiers=[f"isbn:{ISBN}"]
        ),
    ]
    await run_jobs(services)
    return made


async def test_conflicts_come_in_pages_and_go_with_their_books(
    client: AsyncClient, services: OpenServices, books: list[Json]
) -> None:
    others = [
        await post(client, pages=pages_of(prose(seed, 3000)), identifiers=[f"isbn:{ISBN}"]) for seed in (3, 4)
    ]
    await run_jobs(services)
    whole = (await listed(client, by="isbn"))["items"]
    assert len(whole) == 6
    pages = await all_pages(client, "/v1/conflicts", by="isbn", limit=4)
    assert [page["items"] for page in pages] == [whole[:4], whole[4:]]
    cursor = (await listed(client, by="isbn", limit=1))["next_cursor"]
    assert_problem(await client.get(f"/v1/conflicts?by=title&cursor={cursor}"), 422, "cursor")

    await client.delete(others[0]["links"]["self"])
    page = await listed(client, by="isbn", limit=4)
    assert (len(page["items"]), page["next_cursor"]) == (3, None)
