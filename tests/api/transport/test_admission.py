"""Requests beyond what the service can work on: refused at once, and nobody else pays for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from starlette.types import Message, Receive, Scope, Send

from app.api.http.transport import admission
from app.api.http.transport.admission import Admission
from app.core.audit import Actor
from app.core.model import StoredBook, Submission
from app.settings import Settings
from app.wiring import Services
from tests.api.conftest import asking, started
from tests.api.transport.real_server import listening

TEXT = {"text": "a book of which there is one copy " * 20}


@pytest.fixture
def narrow(settings: Settings) -> Settings:
    return settings.model_copy(update={"reads_at_once": 1, "writes_at_once": 1})


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "LOOKUP_WAIT", 0.2)
    monkeypatch.setattr(admission, "UPLOAD_WAIT", 0.2)


@asynccontextmanager
async def busy_posts(services: Services, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[asyncio.Event]:
    """Posts take until the event is set."""
    done, post = asyncio.Event(), services.ingest.post

    async def slow(submission: Submission, *, actor: Actor) -> StoredBook:
        await done.wait()
        return await post(submission, actor=actor)

    monkeypatch.setattr(services.ingest, "post", slow)
    try:
        yield done
    finally:
        done.set()


async def test_uploads_beyond_what_fits_are_refused_and_lookups_are_not(
    narrow: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started(narrow) as app, asking(app) as client:
        async with busy_posts(app.state.services, monkeypatch) as done:
            first = asyncio.create_task(client.post("/v1/books", json=TEXT))
            await asyncio.sleep(0.05)
            refused = await client.post("/v1/books", json=TEXT)
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert refused.headers["x-content-type-options"] == "nosniff"
            assert refused.headers["content-type"] == "application/problem+json"
            assert refused.json()["type"] == "urn:bookprint:problem:overloaded"
            assert "Retry-After" in refused.json()["detail"]
            assert (await client.get("/v1/books")).status_code == 200
            # A master copy is computed as an upload is.
            assert (await client.get("/v1/clusters/unknown/text")).status_code == 503
            assert (await client.get("/v1/clusters/unknown")).status_code == 404
            assert (await client.get("/health/ready")).status_code in (200, 503)
            done.set()
        # What was let in is done, and nothing of what was refused.
        assert (await first).status_code == 201
        assert len((await client.get("/v1/books")).json()["items"]) == 1


async def test_a_refusal_asks_neither_postgres_nor_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none(*_: Any) -> bool:
        return False

    async def wrong(*_: Any) -> None:
        raise AssertionError("The application was asked.")

    answered: list[Message] = []

    async def send(message: Message) -> None:
        answered.append(message)

    async def refusal(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 503, "headers": []})

    monkeypatch.setattr(admission.Bulkhead, "acquire", none)
    door = Admission(wrong, 1, 1, 1, refusal)
    for method, path in (("GET", "/v1/books"), ("POST", "/v1/books"), ("GET", "/metrics")):
        await door({"type": "http", "method": method, "path": path, "headers": []}, wrong, send)
    assert [message["status"] for message in answered] == [503] * 3


async def test_whoever_is_slow_holds_no_permit(narrow: Settings) -> None:
    async with started(narrow) as app, listening(app) as port:
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(8)]
        for number, (_, writer) in enumerate(opened):
            path = ("/v1/lookups", "/v1/books", "/v1/books:bulk", "/reconcile")[number % 4]
            kind = "application/x-ndjson" if path.endswith("bulk") else "application/json"
            kind = "application/x-www-form-urlencoded" if path == "/reconcile" else kind
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
            head += "Content-Length: 10000\r\n\r\n"
            writer.write(head.encode() + b"{")
        await asyncio.sleep(0.1)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            assert (await client.get("/v1/books")).status_code == 200
            assert (await client.post("/v1/lookups", json=TEXT)).status_code == 200
            assert (await client.post("/v1/books", json=TEXT)).status_code == 201
        for _, writer in opened:
            writer.transport.abort()


async def test_an_answer_that_is_read_slowly_holds_no_permit() -> None:
    read = asyncio.Event()

    async def answers(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"long"})

    async def slow(message: Message) -> None:
        await read.wait()

    sent: list[Message] = []

    async def quick(message: Message) -> None:
        sent.append(message)

    async def nothing() -> Message:
        return {"type": "http.request"}

    door = Admission(answers, 1, 1, 1, answers)
    scope = {"type": "http", "method": "GET", "path": "/v1/books", "headers": []}
    slowly = asyncio.create_task(door(dict(scope), nothing, slow))
    await asyncio.sleep(0)
    await asyncio.wait_for(door(dict(scope), nothing, quick), 1)
    assert len(sent) == 2
    read.set()
    await slowly


async def test_who_waits_for_changes_holds_no_permit(narrow: Settings) -> None:
    async with started(narrow) as app, asking(app) as client:
        after = (await client.get("/v1/changes?after=now")).json()["next_cursor"]
        waiting = asyncio.create_task(client.get(f"/v1/changes?wait=30&after={after}"))
        await asyncio.sleep(0.1)
        posted = await client.post("/v1/books", json=TEXT)
        assert (await client.get(posted.headers["location"])).status_code == 200
        assert (await waiting).json()["items"][0]["book_id"] == posted.json()["id"]


async def test_bodies_take_no_more_memory_than_they_may(narrow: Settings) -> None:
    bounded = narrow.model_copy(update={"max_body_bytes": 60_000, "max_held_bytes": 100_500})
    async with started(bounded) as app, listening(app) as port:
        url = f"http://127.0.0.1:{port}"
        text = {"text": "word " * 11_000}

        async def begun() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(
                b"POST /v1/books HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 59000\r\n\r\n" + b" " * 50_000
            )
            await asyncio.sleep(0.1)
            return reader, writer

        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            (_, one), (_, two) = await begun(), await begun()
            refused = await client.post("/v1/books", json=text)
            assert refused.status_code == 503
            assert refused.json()["type"] == "urn:bookprint:problem:overloaded"
            assert "memory" in refused.json()["detail"]
            lines = await client.post(
                "/v1/books:bulk",
                content=b'{"text": "x y z"}\n',
                headers={"Content-Type": "application/x-ndjson"},
            )
            assert lines.json()["status"] == 201
            one.transport.abort()
            two.transport.abort()
            await asyncio.sleep(0.1)
            for _ in range(3):  # what has ended is held no more
                assert (await client.post("/v1/books", json=text)).status_code in (200, 201)


async def test_lines_wait_for_their_turn(narrow: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    async with started(narrow) as app, asking(app) as client:
        async with busy_posts(app.state.services, monkeypatch) as done:
            first = asyncio.create_task(client.post("/v1/books", json=TEXT))
            await asyncio.sleep(0.05)
            lines = asyncio.create_task(
                client.post(
                    "/v1/books:bulk",
                    content=b'{"text": "one two three"}\n',
                    headers={"Content-Type": "application/x-ndjson"},
                )
            )
            await asyncio.sleep(0.1)
            done.set()
        assert (await first).status_code == 201
        assert (await lines).json()["status"] == 201


async def test_posts_are_refused_while_too_many_jobs_wait(settings: Settings) -> None:
    few = settings.model_copy(update={"most_waiting_jobs": 2})
    async with started(few) as app, asking(app) as client:
        backlog = app.state.services.ingest._backlog
        answers = []
        for number in range(3):
            answers.append(await client.post("/v1/books", json={"text": f"book {number} " * 30}))
            backlog._count_due = 0.0
        assert [answer.status_code for answer in answers] == [201, 201, 503]
        assert answers[2].json()["type"] == "urn:bookprint:problem:backlog-full"
        assert int(answers[2].headers["retry-after"]) >= 1


async def test_a_client_with_a_page_may_read_why(client: AsyncClient, application: FastAPI) -> None:
    async def none(*_: Any, **__: Any) -> bool:
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admission.Bulkhead, "acquire", none)
        answer = await client.get("/reconcile", headers={"Origin": "http://127.0.0.1:3333"})
        assert answer.status_code == 503
        assert answer.headers["access-control-allow-origin"] == "http://127.0.0.1:3333"
        assert (await client.get("/health/live")).status_code == 200
