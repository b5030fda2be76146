"""Lists of clusters over HTTP: sizes at once, the rest when workers have measured it."""

from typing import Any

from httpx import AsyncClient

from app.wiring import Services
from tests.api.library import prose, scanned
from tests.api.posting import Json, get, post
from tests.api.relations.test_clusters import decide
from tests.factories import pages_of
from tests.paged_books import run_jobs


async def listed(client: AsyncClient, **query: Any) -> Json:
    return await get(client, "/v1/clusters", **query)


def sizes(answer: Json) -> list[int]:
    return [item["size"] for item in answer["items"]]


async def copies(client: AsyncClient, seed: int, count: int, noise: float, **metadata: Any) -> list[Json]:
    text = prose(seed, 3000)
    return [
        await post(
            client, pages=pages_of(scanned(text, 10 * seed + copy, noise)), title=f"{seed}.{copy}", **metadata
        )
        for copy in range(count)
    ]


async def test_clusters_are_listed_by_size_and_by_agreement(client: AsyncClient, services: Services) -> None:
    pair = await copies(client, 1, 2, 0.03, collection="north")
    three = await copies(client, 2, 3, 0.0005, collection="south")
    await copies(client, 3, 1, 0)
    await run_jobs(services)
    unmeasured = await listed(client)
    assert (sizes(unmeasured), unmeasured["pending"]) == ([3, 2], 2)
    assert [item["measured"] for item in unmeasured["items"]] == [False, False]
    assert unmeasured["items"][0]["agreement"] is unmeasured["items"][0]["kinds"] is None
    while await services.clusters.measure():
        pass
    answer = await listed(client)
    assert answer["pending"] == 0
    for item, books in zip(answer["items"], (three, pair), strict=True):
        assert item["founder"] == {"book_id": books[0]["id"], "title": books[0]["title"]}
        cluster = (await client.get(item["links"]["self"])).json()
        assert [cluster[name] for name in ("id", "key", "size")] == [
            item[name] for name in ("id", "key", "size")
        ]
        assert cluster["weakest_link"]["share"] == item["agreement"]
        assert cluster["best_copy"]["book_id"] == item["best_copy"]["book_id"]
        assert item["best_copy"]["title"] in [book["title"] for book in books]
    assert answer["items"][0]["kinds"] == {"SAME_PAGINATION": 3}
    by_agreement = await listed(client, order="agreement")
    assert sizes(by_agreement) == [2, 3]
    assert sizes(await listed(client, min_size=3)) == [3]
    assert sizes(await listed(client, max_size=2)) == [2]
    assert sizes(await listed(client, collection="south")) == [3]
    assert sizes(await listed(client, collection="nowhere")) == []
    assert sizes(await listed(client, by="related")) == [3, 2]


async def test_what_changes_is_measured_anew_and_what_goes_is_gone(
    client: AsyncClient, services: Services
) -> None:
    first, second = await copies(client, 20, 2, 0.001)
    await run_jobs(services)
    await services.clusters.measure()
    assert (await listed(client))["items"][0]["kinds"] == {"SAME_PAGINATION": 1}
    await decide(client, first, second, {"kind": "SAME_TEXT"})
    assert (await listed(client))["pending"] == 1
    await services.clusters.measure()
    [item] = (await listed(client))["items"]
    assert (item["kinds"], item["size"]) == ({"SAME_TEXT": 1}, 2)
    await decide(client, first, second, "rejected")
    for by in ("same_text", "related"):
        answer = await listed(client, by=by)
        assert (answer["items"], answer["pending"]) == ([], 0)
