"""Senders that take their time: cut off, and nobody waits behind them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from app.api.http import bodies, connections, lines
from app.api.http.bodies import BodyTooSlow, paced
from tests.api.transport.real_server import listening
from tests.api.transport.skipped_time import in_skipped_time

HEAD = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
OWN_FORM = "Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n"
PART_HEAD = b'--b\r\nContent-Disposition: form-data; name="file"; filename="book.txt"\r\n\r\n'


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers without a look at the body."""
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    taken = bytearray()
    # Data that came before a reset counts.
    with suppress(ConnectionResetError):
        while part := await reader.read(1 << 16):
            taken += part
    return bytes(taken)


async def drip(writer: asyncio.StreamWriter, data: bytes, pause: float) -> None:
    """Send byte by byte until the other side has gone."""
    with suppress(ConnectionError):
        for byte in data:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(pause)


@pytest.mark.parametrize(
    ("before", "head"),
    [
        (b"", b""),
        *((before, head) for before in (b"", HEAD) for head in (b"GET /", b"GET / HTTP/1.1\r\nHost: ")),
        *((before, b"\r\n" * 40) for before in (b"", HEAD)),
    ],
)
async def test_a_head_that_comes_byte_by_byte_is_cut_off(
    before: bytes, head: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.4)
    async with listening(hello) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(before)
        dripping = asyncio.create_task(drip(writer, head and head + b"a" * 400, 0.02))
        await until_closed(reader)
        dripping.cancel()
        writer.close()


async def test_a_head_without_end_is_refused() -> None:
    async with listening(hello) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with suppress(ConnectionError):
            writer.write(b"GET / HTTP/1.1\r\nX-Long: ")
            for _ in range(200):
                writer.write(b"a" * 10_000)
                await writer.drain()
        with suppress(ConnectionResetError):
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 400 ")
        writer.close()


@pytest.mark.parametrize(
    ("size", "status"), [(connections.MAX_HEAD_BYTES - 100, 200), (connections.MAX_HEAD_BYTES, 400)]
)
@pytest.mark.parametrize("part", ["/?%s", "/ HTTP/1.1\r\nX-Long: %s"])
async def test_a_head_that_is_too_long_is_refused_though_it_comes_at_once(
    part: str, size: int, status: int
) -> None:
    line = "GET " + part % ("a" * size) + ("" if "HTTP" in part else " HTTP/1.1")
    async with listening(hello) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{line}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert (await until_closed(reader)).startswith(f"HTTP/1.1 {status} ".encode())
        writer.close()


async def test_a_body_that_nobody_reads_is_not_taken_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.4)
    async with listening(hello) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
        dripping = asyncio.create_task(drip(writer, b"a" * 1000, 0.02))
        answer = await until_closed(reader)
        assert answer.startswith(b"HTTP/1.1 200 ")
        dripping.cancel()
        writer.close()


async def test_an_honest_connection_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    async with listening(hello) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3):
            writer.write(HEAD)
            assert b"200 OK" in await reader.readuntil(b"ok")
            await asyncio.sleep(0.5)
        writer.close()


@in_skipped_time
async def test_the_pace_counts_waiting_and_what_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "monotonic", asyncio.get_running_loop().time)

    async def parts(pauses: list[float], size: int) -> AsyncIterator[bytes]:
        for pause in pauses:
            await asyncio.sleep(pause)
            yield b"a" * size

    with pytest.raises(BodyTooSlow):
        async for _ in paced(parts([0.05] * 20, 1), 0.2):
            pass
    earning = bodies.MIN_BYTES_A_SECOND
    assert len([part async for part in paced(parts([0.05] * 10, earning), 0.2)]) == 10

    async def taken_slowly() -> int:
        count = 0
        async for _ in paced(parts([0.0] * 10, 1), 0.2):
            await asyncio.sleep(0.05)
            count += 1
        return count

    assert await taken_slowly() == 10


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/v1/lookups", "application/json"),
        ("/v1/lookups", "multipart/form-data; boundary=b"),
        ("/reconcile", "application/x-www-form-urlencoded"),
        ("/sign-in", "application/x-www-form-urlencoded"),
    ],
)
async def test_a_body_that_comes_byte_by_byte_is_answered_with_408(
    path: str, media_type: str, application: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "GRACE_SECONDS", 0.4)
    async with listening(application) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\n{OWN_FORM}"
        writer.write(head.encode() + b"Content-Length: 10000\r\n\r\n" + PART_HEAD)
        dripping = asyncio.create_task(drip(writer, b" " * 9000, 0.15))
        answer = await until_closed(reader)
        dripping.cancel()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"body-too-slow" in answer or (path == "/sign-in" and b"arrives too slowly" in answer)
    assert b"connection: close" in answer.lower()


async def test_lines_that_come_byte_by_byte_end_the_answer(
    application: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BULK_GRACE_SECONDS", 0.4)
    async with listening(application) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /v1/books:bulk HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
            b"Content-Length: 10000\r\n\r\n"
        )
        dripping = asyncio.create_task(drip(writer, b" " * 9000, 0.15))
        await until_closed(reader)
        dripping.cancel()
        writer.close()
