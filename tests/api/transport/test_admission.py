"""Requests beyond what the service can work on: refused at once, and nobody else pays for them."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from app.api.http.admission import MOST_WAITING, Capacity, Overloaded, Permits
from app.api.http.connections import READ_PERMITS
from app.api.http.routes import ScopedRoute
from app.settings import Settings
from app.stores.postgres.audit import Actor
from app.wiring import Services
from bookprint_core.model import StoredBook, Submission
from tests.api.conftest import asking, started
from tests.api.transport.real_server import listening
from tests.api.transport.skipped_time import in_skipped_time
from tests.waiting import until

TEXT = {"text": "a book of which there is one copy " * 20}


ONE = Capacity(reads=1, writes=1, longest_wait=0.2)


def permits_of(count: int, longest_wait: float) -> Permits:
    return Permits(count, longest_wait, lambda: None)


async def visit(permits: Permits, seconds: float) -> float:
    """Be let in for so many seconds; the seconds of waiting. Raises Overloaded."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await permits.take()
    waited = loop.time() - begun
    await asyncio.sleep(seconds)
    permits.give_back()
    return waited


@in_skipped_time
async def test_requests_are_let_in_in_their_order_and_never_too_many() -> None:
    permits, inside, most = permits_of(2, 5.0), 0, 0
    order: list[int] = []

    async def stay(number: int) -> None:
        nonlocal inside, most
        await permits.take()
        order.append(number)
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.01)
        inside -= 1
        permits.give_back()

    await asyncio.gather(*map(stay, range(20)))
    assert most == 2
    assert order == list(range(20))


@in_skipped_time
async def test_nobody_waits_longer_than_the_longest_wait() -> None:
    permits, loop = permits_of(1, 0.2), asyncio.get_running_loop()
    staying = asyncio.create_task(visit(permits, 0.5))
    await asyncio.sleep(0)
    begun = loop.time()
    with pytest.raises(Overloaded):
        await permits.take()
    assert loop.time() - begun == pytest.approx(0.2)
    await staying
    assert await visit(permits, 0) == 0


@in_skipped_time
async def test_clients_that_ask_again_when_they_are_answered_are_not_refused() -> None:
    permits, loop = permits_of(4, 1.0), asyncio.get_running_loop()
    waits: list[float] = []
    numbers = itertools.count()

    async def ask(seconds: float) -> None:
        end = loop.time() + seconds
        while loop.time() < end:
            slowly = next(numbers) in {0, 1, 2, 3, 500}
            waits.append(await visit(permits, 0.2 if slowly else 0.005))

    for _ in range(2):  # the second time after a pause, when the rate was low last
        await asyncio.gather(*(ask(1.5) for _ in range(200)))
        await asyncio.gather(*(visit(permits, 0.2) for _ in range(8)))
        await asyncio.sleep(0.1)
    assert len(waits) > 800
    assert max(waits) > 0.25  # they do wait for each other


@in_skipped_time
async def test_of_a_flood_what_fits_is_let_in_and_the_rest_is_refused_at_once() -> None:
    permits, loop = permits_of(2, 0.3), asyncio.get_running_loop()
    waits: list[float] = []
    refusals: list[tuple[float, int]] = []

    async def ask() -> None:
        begun = loop.time()
        try:
            waits.append(await visit(permits, 0.01))
        except Overloaded as error:
            refusals.append((loop.time() - begun, error.retry_after))

    asking, begun = [], loop.time()
    while loop.time() - begun < 3:  # twice as many as can be let in
        asking += [asyncio.create_task(ask()) for _ in range(4)]
        await asyncio.sleep(0.01)
    await asyncio.gather(*asking)
    assert len(refusals) > 0.2 * len(asking)
    assert len(waits) > 0.3 * len(asking)
    assert sum(not seconds for seconds, _ in refusals) > 0.4 * len(refusals)
    assert {retry_after for _, retry_after in refusals} == {1}
    assert max(waits) < 1  # it would be 3 s if all were let in
    assert await visit(permits, 0) == 0


@in_skipped_time
async def test_who_is_let_in_amid_a_flood_waits_a_part_of_the_longest_wait() -> None:
    permits, loop = permits_of(8, 5.0), asyncio.get_running_loop()
    waits: list[tuple[float, float]] = []

    async def ask() -> None:
        begun = loop.time()
        with suppress(Overloaded):
            waits.append((begun, await visit(permits, 0.02)))

    tasks, begun = [asyncio.create_task(ask()) for _ in range(2 * MOST_WAITING)], loop.time()
    await asyncio.sleep(0)
    assert permits.is_hopeless()
    while loop.time() - begun < 12:
        tasks += [asyncio.create_task(ask()) for _ in range(8)]
        await asyncio.sleep(0.01)
    await asyncio.gather(*tasks)
    late = [wait for asked, wait in waits if asked - begun > 6]
    assert len(late) > 0.9 * 6 * 400  # as many as can be let in
    assert max(late) < 0.6
    assert not permits.is_hopeless()


@in_skipped_time
async def test_who_goes_away_while_it_waits_takes_no_permit() -> None:
    permits = permits_of(1, 5.0)
    await permits.take()
    waiting = [asyncio.create_task(permits.take()) for _ in range(3)]
    await asyncio.sleep(0)
    permits.give_back()
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert await visit(permits, 0) == 0


@asynccontextmanager
async def busy_posts(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[asyncio.Event, asyncio.Event]]:
    """Posts set the first event when they begin, and take until the second is set."""
    begun, done, post = asyncio.Event(), asyncio.Event(), services.ingest.post

    async def slow(submission: Submission, *, actor: Actor) -> StoredBook:
        begun.set()
        await done.wait()
        return await post(submission, actor=actor)

    monkeypatch.setattr(services.ingest, "post", slow)
    try:
        yield begun, done
    finally:
        done.set()


async def test_uploads_beyond_what_fits_are_refused_and_lookups_are_not(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started(settings, ONE) as app, asking(app) as client:
        async with busy_posts(app.state.services, monkeypatch) as (begun, done):
            first = asyncio.create_task(client.post("/v1/books", json=TEXT))
            await begun.wait()
            refused = await client.post("/v1/books", json=TEXT)
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert refused.headers["x-content-type-options"] == "nosniff"
            assert refused.headers["content-type"] == "application/problem+json"
            assert refused.json()["type"] == "urn:bookprint:problem:overloaded"
            assert "Retry-After" in refused.json()["detail"]
            assert (await client.get("/v1/books")).status_code == 200
            # A master copy is computed as an upload is, and so is what a scan lacks.
            assert (await client.get("/v1/clusters/unknown/text")).status_code == 503
            assert (await client.get(f"/v1/books/{UUID(int=0)}/completeness")).status_code == 503
            assert (await client.get("/v1/clusters/unknown")).status_code == 404
            assert (await client.get("/health/ready")).status_code in (200, 503)
            done.set()
        # What was let in is done, and nothing of what was refused.
        assert (await first).status_code == 201
        assert len((await client.get("/v1/books")).json()["items"]) == 1


async def test_whoever_is_slow_holds_no_permit(settings: Settings) -> None:
    async with started(settings, ONE) as app, listening(app) as port:
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


async def test_an_answer_that_is_read_slowly_holds_no_permit(settings: Settings) -> None:
    async with started(settings, ONE) as app, asking(app) as client:
        read, begun = asyncio.Event(), asyncio.Event()

        async def slow(message: Message) -> None:
            begun.set()
            await read.wait()

        async def nothing() -> Message:
            return {"type": "http.request"}

        scope = {"type": "http", "method": "GET", "path": "/v1/books", "headers": [], "query_string": b""}
        slowly = asyncio.create_task(app(scope, nothing, slow))
        await begun.wait()
        assert (await client.get("/v1/books")).status_code == 200
        read.set()
        await slowly


async def test_who_waits_for_changes_holds_no_permit(settings: Settings) -> None:
    async with started(settings, ONE) as app, asking(app) as client:
        after = (await client.get("/v1/changes?after=now")).json()["next_cursor"]
        waiting = asyncio.create_task(client.get(f"/v1/changes?wait=30&after={after}"))
        await asyncio.sleep(0.1)
        posted = await client.post("/v1/books", json=TEXT)
        assert (await client.get(posted.headers["location"])).status_code == 200
        assert (await waiting).json()["items"][0]["book_id"] == posted.json()["id"]


async def test_bodies_take_no_more_memory_than_they_may(settings: Settings) -> None:
    bounded = settings.model_copy(update={"max_body_bytes": 60_000})
    async with started(bounded, replace(ONE, held_bytes=100_500)) as app, listening(app) as port:
        url = f"http://127.0.0.1:{port}"
        text, room = {"text": "word " * 11_000}, app.state.admission.memory

        async def begun() -> asyncio.StreamWriter:
            taken = room.taken
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(
                b"POST /v1/books HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 59000\r\n\r\n" + b" " * 50_000
            )
            await until(lambda: room.taken >= taken + 50_000)
            return writer

        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            one, two = await begun(), await begun()
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
            await until(lambda: not room.taken)
            for _ in range(3):  # what has ended is held no more
                assert (await client.post("/v1/books", json=text)).status_code in (200, 201)


async def test_lines_wait_for_their_turn(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    async with started(settings, ONE) as app, asking(app) as client:
        async with busy_posts(app.state.services, monkeypatch) as (begun, done):
            first = asyncio.create_task(client.post("/v1/books", json=TEXT))
            await begun.wait()
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
    async with started(settings) as app, asking(app) as client:
        backlog = app.state.services.ingest._backlog
        backlog._most = 2
        answers = []
        for number in range(3):
            answers.append(await client.post("/v1/books", json={"text": f"book {number} " * 30}))
            backlog._count_due = 0.0
        assert [answer.status_code for answer in answers] == [201, 201, 503]
        assert answers[2].json()["type"] == "urn:bookprint:problem:backlog-full"
        assert int(answers[2].headers["retry-after"]) >= 1


@asynccontextmanager
async def hopeless_reads(app: FastAPI) -> AsyncIterator[None]:
    """Have a permit to read taken, and no hope for another."""
    reads = app.state.admission.reads
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Permits, "is_hopeless", lambda self, share=1.0: self is reads)
        await reads.take()
        yield
    reads.give_back()


async def test_a_client_with_a_page_may_read_why(settings: Settings) -> None:
    async with started(settings, ONE) as app, asking(app) as client, hopeless_reads(app):
        answer = await client.get("/reconcile", headers={"Origin": "http://127.0.0.1:3333"})
        assert answer.status_code == 503
        assert answer.headers["access-control-allow-origin"] == "http://127.0.0.1:3333"
        assert (await client.get("/health/live")).status_code == 200


async def test_hopeless_reads_are_refused_unparsed_and_with_the_same_answer(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        started(settings, ONE) as app,
        listening(app, {READ_PERMITS: app.state.admission.reads}) as port,
        asking(app) as inside,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        async with hopeless_reads(app):
            parsed = await inside.get("/v1/books")
            assert parsed.headers["retry-after"] == "1"
            with monkeypatch.context() as patch:
                patch.setattr(ScopedRoute, "handle", None)  # no request may get so far
                for _ in range(2):  # over one connection
                    refused = await client.get("/v1/books?title=x")
                    assert refused.status_code == 503
                    assert refused.json() == parsed.json()
                    assert refused.headers.items() >= parsed.headers.items()
            # What is no simple read is parsed.
            assert (await client.get("/health/live")).status_code == 200
            assert (await client.get("/v1/clusters/unknown/text")).status_code == 404
            assert (await client.get(f"/v1/books/{UUID(int=0)}/completeness")).status_code == 404
            assert (await client.post("/v1/books", json=TEXT)).status_code == 201
            smuggled = b"GET /v1/books HTTP/1.1\r\n\r\n"
            typed = {"Content-Type": "application/json"}
            answer = await client.request("GET", "/v1/books", content=smuggled, headers=typed)
            assert answer.status_code == 503
            closed = await client.get("/v1/books", headers={"Connection": "close"})
            assert (closed.status_code, closed.headers["connection"]) == (503, "close")
        assert (await client.get("/v1/books")).status_code == 200
        assert "bookprint_refused_total 5.0" in (await client.get("/metrics")).text
