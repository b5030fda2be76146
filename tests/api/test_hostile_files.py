"""Files made to cost much: each is refused or read within bounds, and the service lives on."""

import io
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import psutil
import pytest

from bookprint_readers.processes import ReadingLimits
from tests.api.library import prose
from tests.api.service_process import Server, longest_wait

SECONDS = 20.0
"""Seconds of processor time within which the service and its reader answer a file."""

GROWTH = ReadingLimits().memory_bytes
"""Bytes by which a reader may grow; the service holds the file beside it."""

MEGABYTE = 1 << 20


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
    "a zip bomb of text": lambda: zipped(a_txt=b"word " * 15 * MEGABYTE),
    "a zip within a zip": lambda: zipped(a_zip=zipped(a_zip=zipped(b_zip=b"x" * MEGABYTE))),
    "a page of millions of words": alto_bomb,
    "deep elements": lambda: b"<alto>" + b"<a>" * 5_000_000,
    "growing entities": lambda: (
        b'<!DOCTYPE alto [<!ENTITY a "aaaaaaaaaa">'
        + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(12))
        + b"]><alto><Page><TextLine><String CONTENT='&m;'/></TextLine></Page></alto>"
    ),
}


def processor_seconds(server: Server) -> float:
    """The processor time that the service and its children have taken, those that have ended too."""
    total = 0.0
    for process in [server.process, *server.process.children(recursive=True)]:
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def memory(server: Server) -> int:
    """Bytes that the service and its children hold; what they share counts once."""
    total = 0
    for process in [server.process, *server.process.children(recursive=True)]:
        with suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_ends_within_bounds(server: Server, name: str) -> None:
    data = HOSTILE[name]()
    before, started = memory(server), processor_seconds(server)
    with ThreadPoolExecutor(1) as thread:
        asking = thread.submit(
            httpx.post, f"{server.url}/v1/lookups", files={"file": ("book", data)}, timeout=None
        )
        most = before
        while not asking.done():
            most = max(most, memory(server))
            time.sleep(0.1)
    seconds = processor_seconds(server) - started

    response = asking.result()
    print(f"{response.status_code} after {seconds:.2f} s and {(most - before) / 1e6:.0f} MB")
    assert response.status_code in {200, 413, 415, 422}, response.text
    assert seconds < SECONDS
    assert most - before < GROWTH + 2 * len(data)
    assert httpx.get(f"{server.url}/health/ready", timeout=None).status_code == 200


@pytest.mark.slow
def test_service_stays_well_under_many_files_at_once(server: Server) -> None:
    slow = alto_bomb()

    def ask(_: int) -> int:
        files = {"file": ("book", slow)}
        return httpx.post(f"{server.url}/v1/lookups", files=files, timeout=None).status_code

    def send() -> None:
        with ThreadPoolExecutor(4) as threads:
            statuses.update(threads.map(ask, range(4)))

    statuses: set[int] = set()
    assert longest_wait(server, send) < 2
    assert statuses <= {200, 413, 503}  # more than can be read at once are told to wait
    readers = [each for each in server.process.children(recursive=True) if each.status() != "zombie"]
    assert len(readers) == 2  # the server that children are forked from, and multiprocessing's tracker
    files = {"file": ("a.txt", prose(1, 50).encode())}
    answer = httpx.post(f"{server.url}/v1/books", files=files, timeout=None)
    assert answer.status_code == 201
