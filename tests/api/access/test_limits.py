"""Limits of keys over HTTP: refusals, bodies of every kind, and two processes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient, Response

from app.settings import Settings
from app.stores.postgres.keys import NO_LIMITS, KeyLimits, Scope
from tests.api.access.key_holders import ADMIN_KEY, with_keys
from tests.api.conftest import asking, started
from tests.factories import ACTOR
from tests.redis_cluster import Operator
from tests.services.access.passing_time import PassingTime

TEXT = "Some words of a book that nobody has written so far. " * 40


@pytest.fixture
def keyed(settings: Settings) -> Settings:
    """Settings of a service that asks for keys, on empty servers."""
    assert settings.database_url is not None
    assert settings.redis_url is not None
    # Not as many tries as other tests have.
    return with_keys(settings.database_url, settings.redis_url).model_copy(update={"attempts_per_minute": 5})


@pytest.fixture
async def app(keyed: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FastAPI]:
    # On a busy machine Redis may take its time, and is not away.
    monkeypatch.setattr("app.services.access.limits._ANSWER_SECONDS", 60.0)
    async with started(keyed) as app:
        yield app


@pytest.fixture
async def clock(redis: Operator, monkeypatch: pytest.MonkeyPatch) -> PassingTime:
    """The time by which requests are counted, which stands still until a test lets it pass."""
    clock = PassingTime(monkeypatch, redis)
    clock.stand_at(1_800_000_000.0)
    return clock


@asynccontextmanager
async def holder(
    app: FastAPI, limits: KeyLimits = NO_LIMITS, scope: Scope = "ingest"
) -> AsyncIterator[AsyncClient]:
    made = await app.state.services.keys.create("test", [scope], limits=limits, actor=ACTOR)
    async with asking(app) as client:
        client.headers["X-API-Key"] = made.text
        yield client


def problem(answer: Response) -> dict[str, Any]:
    assert answer.headers["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    return document


async def test_a_refusal_says_which_limit_and_when_to_come_back(app: FastAPI, clock: PassingTime) -> None:
    async with holder(app, KeyLimits(3)) as client, holder(app, KeyLimits(3)) as other:
        answers = [await client.get("/v1/books") for _ in range(4)]
        refused = answers[-1]

        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert int(refused.headers["Retry-After"]) == 60
        document = problem(refused)
        assert document["type"] == "urn:bookprint:problem:quota-exceeded"
        assert document["violated-policies"] == ["requests"]
        assert "3 requests in 60 seconds" in document["detail"]
        assert (await other.get("/v1/books")).status_code == 200
        assert 'bookprint_denied_total{reason="quota-exceeded"} 1.0' in (await other.get("/metrics")).text
        await clock.go_on(61)
        assert (await client.get("/v1/books")).status_code == 200


async def test_only_lookups_count_as_lookups(app: FastAPI) -> None:
    async with holder(app, KeyLimits(lookups_per_minute=4)) as client:
        posted = await client.post("/v1/books", json={"text": TEXT})
        assert posted.status_code == 201
        near = posted.json()["links"]["near_duplicates"]
        answers = [
            await client.get(near),
            await client.post("/v1/lookups?d=7", json={"text": TEXT}),
            await client.post("/v1/lookups", files={"file": ("a.txt", TEXT.encode())}),
        ]
        assert [answer.status_code for answer in answers] == [200, 200, 200]
        assert (await client.get("/v1/books")).status_code == 200
        batch = {"queries": '{"a": {"query": "Emma"}, "b": {"query": "Persuasion"}}'}
        assert (await client.post("/reconcile", data=batch)).status_code == 429
        assert (await client.get(near)).status_code == 200
        assert (await client.get(near)).status_code == 429


async def test_a_batch_that_never_fits_is_told_so(app: FastAPI) -> None:
    async with holder(app, KeyLimits(lookups_per_minute=1)) as client:
        batch = {"queries": '{"a": {"query": "Emma"}, "b": {"query": "Persuasion"}}'}
        answer = await client.post("/reconcile", data=batch)

        assert answer.status_code == 413
        assert "1 in a minute" in problem(answer)["detail"]


async def _in_parts(body: bytes, size: int = 500) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def test_bytes_are_counted_before_or_as_they_come(app: FastAPI) -> None:
    body = b'{"text": "' + TEXT.encode() + b'"}'
    json = {"Content-Type": "application/json"}
    room = KeyLimits(bytes_per_minute=2 * len(body) + 100)
    for content in (lambda: body, lambda: _in_parts(body)):
        async with holder(app, room) as client:
            posts = [await client.post("/v1/lookups", content=content(), headers=json) for _ in range(3)]

            assert [post.status_code for post in posts] == [200, 200, 429]
            assert problem(posts[-1])["violated-policies"] == ["bytes"]
            assert (await client.get("/v1/books")).status_code == 200


async def test_a_body_that_never_fits_is_too_large(app: FastAPI) -> None:
    async with holder(app, KeyLimits(bytes_per_minute=1000)) as client:
        answer = await client.post("/v1/books", json={"text": TEXT})

        assert answer.status_code == 413
        assert "have the limit of the key raised" in problem(answer)["detail"]


async def test_lines_are_taken_no_faster_than_the_limit(
    app: FastAPI, clock: PassingTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)
        await clock.go_on(seconds + 0.01)

    monkeypatch.setattr("app.api.http.usage.asyncio", SimpleNamespace(sleep=wait))
    line = b'{"text": "' + TEXT[:1200].encode() + b'"}\n'
    lines = {"Content-Type": "application/x-ndjson"}
    async with holder(app, KeyLimits(bytes_per_minute=2 * len(line))) as client:
        answer = await client.post("/v1/books:bulk", content=_in_parts(3 * line, len(line)), headers=lines)

    assert sorted(outcome["status"] for outcome in _outcomes(answer)) == [200, 200, 201]
    assert sum(waited) > 60


def _outcomes(answer: Response) -> list[dict[str, Any]]:
    import orjson

    return [orjson.loads(line) for line in answer.content.splitlines()]


async def test_without_a_valid_key_an_address_has_few_tries(app: FastAPI, clock: PassingTime) -> None:
    async with holder(app) as known, asking(app) as client:
        assert (await known.get("/v1/books")).status_code == 200
        keys = [{}, {"X-API-Key": "bp_a"}, {"X-API-Key": "bp_b"}, {}, {}, {}, {"X-API-Key": "bp_a"}]
        answers = [await client.get("/v1/books", headers=key) for key in keys]

        assert [answer.status_code for answer in answers] == [401] * 5 + [429] * 2
        assert len({answer.content for answer in answers[:5]}) == 1
        assert {problem(answer)["violated-policies"][0] for answer in answers[5:]} == {"attempts"}
        # Keys in use stay so beside them, and health is open to all.
        assert (await known.get("/v1/books")).status_code == 200
        assert (await client.get("/v1/books", headers={"X-API-Key": ADMIN_KEY})).status_code == 200
        assert (await client.get("/health/live")).status_code == 200
        await clock.go_on(61)
        assert (await client.get("/v1/books")).status_code == 401
