"""Files made to cost much: each is refused or read in bounded time and memory, and the service lives on."""

import asyncio
import io
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import psutil
import pytest

from app.settings import Settings
from app.wiring import open_services
from tests.api.library import prose
from tests.api.service_process import Server, serving

SECONDS = 20.0
GROWTH = 1 << 30
MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def server(module_database_url: str, module_redis_url: str) -> Iterator[Server]:
    async def reconcile() -> None:
        settings = Settings(database_url=module_database_url, redis_url=module_redis_url)
        async with open_services(settings) as services:
            await services.upkeep.catch_up()

    asyncio.run(reconcile())
    with serving(module_database_url, module_redis_url, BOOKPRINT_READ_SECONDS="4") as server:
        yield server


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("_", "."), data)
    return file.getvalue()


def alto_bomb() -> bytes:
    return b"<alto><Page>" + b"<TextLine><String CONTENT='word'/></TextLine>" * 1_500_000 + b"</Page></alto>"


HOSTILE: dict[str, Callable[[], bytes]] = {
    "nothing but one byte again and again": lambda: b"a" * 60 * MEGABYTE,
    "zeros": lambda: bytes(60 * MEGABYTE),
    "line feeds": lambda: b"\n" * 60 * MEGABYTE,
    "form feeds": lambda: b"a\f" * 30 * MEGABYTE,
    "a zip bomb of text": lambda: zipped(a_txt=b"word " * 60 * MEGABYTE),
    "a zip within a zip": lambda: zipped(a_zip=zipped(a_zip=zipped(b_zip=b"x" * MEGABYTE))),
    "a page of millions of words": alto_bomb,
    "deep elements": lambda: b"<alto>" + b"<a>" * 5_000_000,
    "deep HTML": lambda: b"<!DOCTYPE html><html><body>" + b"<div>" * 2_000_000 + b"x",
    "growing entities": lambda: (
        b'<!DOCTYPE alto [<!ENTITY a "aaaaaaaaaa">'
        + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(12))
        + b"]><alto><Page><TextLine><String CONTENT='&m;'/></TextLine></Page></alto>"
    ),
    "an open PDF": lambda: b"%PDF-1.7\n" + b"1 0 obj << /Kids [1 0 R] >> endobj\n" * 500_000,
}


def memory(server: Server) -> int:
    """Bytes that the service and its children hold."""
    total = 0
    for process in [server.process, *server.process.children(recursive=True)]:
        with suppress(psutil.Error):
            total += process.memory_info().rss
    return total


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_ends_in_time_and_memory(server: Server, name: str) -> None:
    data = HOSTILE[name]()
    before = memory(server)
    with ThreadPoolExecutor(1) as thread:
        started = time.monotonic()
        asking = thread.submit(
            httpx.post, f"{server.url}/v1/lookups", files={"file": ("book", data)}, timeout=60
        )
        most = before
        while not asking.done():
            most = max(most, memory(server))
            time.sleep(0.01)
        seconds = time.monotonic() - started

    response = asking.result()
    assert response.status_code in {200, 413, 415, 422}, response.text
    assert seconds < SECONDS
    assert most - before < GROWTH
    assert httpx.get(f"{server.url}/health/ready").status_code == 200


def test_service_stays_well_under_many_files_at_once(server: Server) -> None:
    slow = alto_bomb()

    async def send() -> list[int]:
        async with httpx.AsyncClient(base_url=server.url, timeout=120) as client:
            files = [client.post("/v1/lookups", files={"file": ("book", slow)}) for _ in range(4)]
            sending = asyncio.gather(*files)
            longest = 0.0
            while not sending.done():
                started = time.monotonic()
                assert (await client.get("/health/live")).status_code == 200
                longest = max(longest, time.monotonic() - started)
                await asyncio.sleep(0.05)
            assert longest < 2
            return [response.status_code for response in await sending]

    assert set(asyncio.run(send())) <= {200, 413, 503}  # more than can be read at once are told to wait
    readers = [each for each in server.process.children(recursive=True) if each.status() != "zombie"]
    assert len(readers) == 2  # the server that children are forked from, and multiprocessing's tracker
    assert psutil.pid_exists(server.process.pid)
    answer = httpx.post(f"{server.url}/v1/books", files={"file": ("a.txt", prose(1, 50).encode())})
    assert answer.status_code == 201
