"""Health, metrics, and what clients see of an outage."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from httpx import ASGITransport, AsyncClient
from prometheus_client.parser import text_string_to_metric_families
from redis.asyncio import Redis
from structlog.testing import capture_logs

from app.main import create_app
from app.settings import Settings
from app.stores.postgres.connections import SchemaQueries
from tests.api.library import prose, scanned
from tests.open_services import OpenServices

NOWHERE = "127.0.0.1:9"


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a part that is well may take its time."""
    monkeypatch.setattr("app.services.health._SECONDS", 60.0)


@asynccontextmanager
async def application(settings: Settings) -> AsyncIterator[AsyncClient]:
    app = create_app(settings)
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app), base_url="http://localhost", timeout=60) as client,
    ):
        yield client


async def samples(client: AsyncClient) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    response = await client.get("/metrics")
    assert response.status_code == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def labelled(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


async def test_ready_tells_of_every_part(client: AsyncClient) -> None:
    async with asyncio.timeout(60):  # on a busy machine the kernels are still being loaded
        while (response := await client.get("/health/ready")).status_code == 503:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    answer = response.json()
    assert answer["status"] == "ready"
    assert set(answer["parts"]) == {"postgres", "redis", "jobs", "kernels"}
    assert all(part["ok"] for part in answer["parts"].values())


async def test_ready_names_the_part_that_is_down(
    database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.health._SECONDS_BETWEEN_NOTICES", 0.0)
    without_redis = Settings(database_url=database_url, redis_url=f"redis://{NOWHERE}")
    without_postgres = Settings(database_url=f"postgresql://{NOWHERE}/none", redis_url=redis_url)
    for settings, down in ((without_redis, "redis"), (without_postgres, "postgres")):
        async with application(settings) as client:
            with capture_logs() as logged:
                response = await client.get("/health/ready")

            assert response.status_code == 503
            assert response.headers["content-type"] == "application/problem+json"
            assert int(response.headers["retry-after"]) >= 1
            parts = response.json()["parts"]
            assert parts[down]["ok"] is False
            assert parts[down]["detail"] in response.json()["detail"]
            assert {"event": "not ready", "log_level": "warning"}.items() <= logged[-1].items()
            assert logged[-1][down] == parts[down]["detail"]  # for the operator, with or without a key


async def test_however_many_ask_whether_it_is_ready_each_is_told_and_the_metrics_are_read(
    client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answered = asyncio.Event(), asyncio.Event()

    async def has_newest(_: SchemaQueries) -> bool:
        asked.set()
        await answered.wait()
        return False

    monkeypatch.setattr(SchemaQueries, "has_newest", has_newest)
    asking = [asyncio.create_task(client.get("/health/ready")) for _ in range(200)]
    await asked.wait()
    metrics = await client.get("/metrics")
    assert metrics.status_code == 200
    assert not any(task.done() for task in asking)
    answered.set()
    answers = await asyncio.gather(*asking)
    assert {answer.json()["type"] for answer in answers} == {"urn:bookprint:problem:not-ready"}
    assert {answer.json()["parts"]["postgres"]["ok"] for answer in answers} == {False}


async def test_flushed_index_is_not_ready_and_lookups_say_when_to_try_again(
    client: AsyncClient, redis_url: str
) -> None:
    book = (await client.post("/v1/books", json={"text": prose(1)})).json()
    async with Redis.from_url(redis_url) as redis:
        await redis.flushdb()

    ready = await client.get("/health/ready")
    near = await client.get(f"{book['links']['near_duplicates']}?d=7")
    lookup = await client.post("/v1/lookups", json={"text": prose(1)})

    assert ready.json()["parts"]["redis"]["ok"] is False
    assert "rebuilt" in ready.json()["parts"]["redis"]["detail"]
    for response in (near, lookup):
        assert response.status_code == 503
        assert response.headers["content-type"] == "application/problem+json"
        assert int(response.headers["retry-after"]) >= 1
        assert response.json()["type"] == "urn:bookprint:problem:index-rebuilding"


async def test_book_posted_while_redis_is_down_is_durable_and_pending(
    database_url: str, redis_url: str
) -> None:
    text = prose(1)
    async with application(Settings(database_url=database_url, redis_url=f"redis://{NOWHERE}")) as client:
        posted = await client.post("/v1/books", json={"text": text})
        book = posted.json()
        assert (posted.status_code, book["status"]) == (201, "pending")
        assert (await client.get(book["links"]["self"])).json()["status"] == "pending"
        assert (await client.get(book["links"]["near_duplicates"])).status_code == 503
        assert (await samples(client))[labelled("bookprint_books_pending")] == 1

    async with application(Settings(database_url=database_url, redis_url=redis_url)) as client:
        async with Redis.from_url(redis_url) as redis:
            assert await redis.dbsize() == 0
        repeated = await client.post("/v1/books", json={"text": text})
        assert (repeated.status_code, repeated.json()["id"]) == (200, book["id"])


async def test_everything_says_503_while_postgres_is_down(redis_url: str) -> None:
    settings = Settings(database_url=f"postgresql://{NOWHERE}/none", redis_url=redis_url)
    path = "/v1/books/0193508e-7a3c-7c19-9b54-2f1d6a0e4c11"
    async with application(settings) as client:
        responses = await asyncio.gather(
            client.post("/v1/books", json={"text": "Nice day."}),
            client.get("/v1/books"),
            client.get(path),
            client.patch(path, json={"title": "x"}),
            client.put(f"{path}/content", json={"text": "x"}),
            client.delete(path),
            client.get(f"{path}/near-duplicates"),
        )
        for response in responses:
            assert response.status_code == 503
            assert response.headers["content-type"] == "application/problem+json"
            assert "retry-after" in response.headers
        invalid = await client.post("/v1/books", json={})
        assert invalid.status_code == 422
        counted = await samples(client)
        assert [str(counted[labelled(f"bookprint_books{of}")]) for of in ("", "_pending")] == ["nan", "nan"]


async def test_metrics_count_requests_by_route_and_status(settings: Settings, services: OpenServices) -> None:
    async with application(settings) as client:
        text = prose(1)
        for body in ({"text": text}, {"text": text}, {"text": scanned(text, 1)}, {}):
            await client.post("/v1/books", json=body)
        [first, _] = (await client.get("/v1/books")).json()["items"]
        path = first["links"]["self"]
        for query in ("?d=7", "?d=9", "?k=3", ""):
            await client.get(f"{path}/near-duplicates{query}")
        await client.post("/v1/lookups?k=3", json={"text": text})
        await client.get("/nothing/here")
        await client.get("/v1/books/x")
        await client.request("BREW", "/v1/books")

        counted = await samples(client)

    def requests(**labels: str) -> float | None:
        return counted.get(labelled("bookprint_request_seconds_count", **labels))

    assert requests(method="POST", route="/v1/books", status="201") == 2
    assert requests(method="POST", route="/v1/books", status="200") == 1
    assert requests(method="POST", route="/v1/books", status="422") == 1
    assert requests(method="GET", route="/v1/books/{book_id}/near-duplicates", status="200") == 4
    assert requests(method="GET", route="/v1/books/{book_id}", status="404") == 1
    assert requests(method="GET", route="none", status="404") == 1
    assert requests(method="other", route="/v1/books", status="405") == 1
    assert counted[labelled("bookprint_books_posted_total", outcome="created")] == 2
    assert counted[labelled("bookprint_books_posted_total", outcome="repeated")] == 1
    assert counted[labelled("bookprint_lookups_total", kind="within")] == 2
    assert counted[labelled("bookprint_lookups_total", kind="nearest")] == 2
    assert counted[labelled("bookprint_lookups_total", kind="verified")] == 1
    assert counted[labelled("bookprint_books_pending")] == 0
    assert counted[labelled("bookprint_books")] == 2
    assert not any(first["id"] in str(key) for key in counted)
