"""Files that are sent: they take no more of the disk than they may, and none once nobody waits for them."""

import asyncio
import gzip
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from app.api.http import bodies
from app.api.http.admission import Capacity
from app.settings import Settings
from bookprint_readers.package import EXPANSION, FREE_EXPANSION
from tests.api.conftest import started
from tests.api.transport.real_server import listening
from tests.readers.children import children
from tests.waiting import until

MOST = 20 << 20
UPLOAD = 3 << 20
PART_HEAD = b'--b\r\nContent-Disposition: form-data; name="file"; filename="book.txt"\r\n\r\n'
HEAD = (
    b"POST /v1/lookups HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
    b"Content-Length: 100000000\r\n\r\n"
) + PART_HEAD


class Spools:
    """The files without a name that this process and the readers have opened since the test began."""

    def __init__(self) -> None:
        self._before: frozenset[tuple[int, int]] = frozenset()
        self._before = frozenset(self._sizes())  # as those that capture the output

    def bytes_on_disk(self) -> int:
        return sum(self._sizes().values())

    def _sizes(self) -> dict[tuple[int, int], int]:
        found = {}
        for process in (os.getpid(), *(each.pid for each in children())):
            with suppress(OSError):
                for file in Path(f"/proc/{process}/fd").iterdir():
                    with suppress(OSError):
                        state = file.stat()
                        if stat.S_ISREG(state.st_mode) and not state.st_nlink:
                            found[state.st_dev, state.st_ino] = state.st_blocks * 512
        return {file: size for file, size in found.items() if file not in self._before}


@pytest.fixture
def spools() -> Spools:
    return Spools()


@pytest.fixture
async def bounded(settings: Settings) -> AsyncIterator[FastAPI]:
    async with started(settings, Capacity(writes=4, spooled_bytes=MOST)) as app:
        yield app


@asynccontextmanager
async def unfinished_uploads(port: int, count: int) -> AsyncIterator[list[asyncio.StreamReader]]:
    """Uploads that stay where they are, until the block ends; then their senders are gone."""
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
    for _, writer in opened:
        writer.write(HEAD + bytes(UPLOAD))
    try:
        yield [reader for reader, _ in opened]
    finally:
        for _, writer in opened:
            writer.transport.abort()


async def test_unfinished_uploads_stay_within_what_they_may_take(bounded: FastAPI, spools: Spools) -> None:
    async with (
        listening(bounded) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        async with unfinished_uploads(port, 14) as readers:
            answers = [asyncio.create_task(reader.readline()) for reader in readers]
            await until(lambda: sum(answer.done() for answer in answers) == 14 - MOST // UPLOAD)
            refused = [answer.result() for answer in answers if answer.done()]
            standing = [answer for answer in answers if not answer.done()]
            assert refused == [b"HTTP/1.1 503 Service Unavailable\r\n"] * (14 - MOST // UPLOAD)
            assert len(standing) == MOST // UPLOAD
            assert UPLOAD < spools.bytes_on_disk() <= MOST
            text = await client.post("/v1/lookups", json={"text": "a book of words " * 50})
            assert text.status_code == 200
            late = await client.post("/v1/lookups", files={"file": ("b.txt", b"word " * (1 << 20))})
            assert late.status_code == 503
            assert "disk" in late.json()["detail"]
            for answer in standing:
                answer.cancel()
        await until(lambda: not spools.bytes_on_disk())
        late = await client.post("/v1/lookups", files={"file": ("b.txt", b"some words " * 1000)})
        assert late.status_code == 200
        assert bounded.state.admission.disk.taken == 0


async def test_upload_that_is_too_slow_leaves_nothing(
    bounded: FastAPI, spools: Spools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "GRACE_SECONDS", 1.0)
    monkeypatch.setattr(bodies, "MIN_BYTES_A_SECOND", 1 << 30)
    async with listening(bounded) as port, unfinished_uploads(port, 3) as readers:
        for reader in readers:
            assert await reader.readline() == b"HTTP/1.1 408 Request Timeout\r\n"
        await until(lambda: not spools.bytes_on_disk())
        assert bounded.state.admission.disk.taken == 0


@pytest.mark.slow
async def test_expanded_files_stay_within_what_they_may_take(bounded: FastAPI, spools: Spools) -> None:
    bomb = gzip.compress(bytes(1 << 24)) * 24
    most = 0
    async with (
        listening(bounded) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        async with unfinished_uploads(port, 4):
            sending = asyncio.gather(
                *(client.post("/v1/lookups", files={"file": ("b.gz", bomb)}, timeout=60) for _ in range(3))
            )
            while not sending.done():
                most = max(most, spools.bytes_on_disk())
                await asyncio.sleep(0.01)
            assert [answer.status_code for answer in await sending] == [413] * 3
            at_once = os.cpu_count() or 1
            assert FREE_EXPANSION < most <= MOST + at_once * (FREE_EXPANSION + EXPANSION * len(bomb))
        await until(lambda: not spools.bytes_on_disk())
