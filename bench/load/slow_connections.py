"""Slow senders: 2,000 connections that send a byte a second, and what a client beside them notices.

Half of them never end their head, half announce a body and never end it. Those that are cut off come again.
"""

import argparse
import asyncio
import resource
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from bench.data.library_servers import Library, opened, reconcile
from bench.harness.processes import processes
from bench.harness.report import CannotMeasure, Section
from bench.load.loaded_service import Lookups, Meter, beside_table, lookups, served
from bench.service.service_process import Address

_BOOKS, _ROUNDS, _SECONDS = 4_000, 3, 10.0
_SLOW = 2_000
_RATE, _CLIENTS = 50.0, 10
_OPENING_SECONDS = 10.0
_HEAD = b"POST /v1/lookups HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
_BODY = b"Content-Length: 100000\r\n\r\n"


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Ask a library of `--books` in `--rounds`, without slow senders and beside them in turn."""
    library = Library(options.books or _BOOKS, texts=True)
    rounds, seconds = options.rounds or _ROUNDS, options.seconds or _SECONDS
    stream = lookups(library, "?d=7", rate=_RATE, connections=_CLIENTS)
    without: list[Lookups] = []
    beside: list[Lookups] = []
    with tempfile.TemporaryDirectory() as folder, opened(library, Path(folder)) as servers:
        reconcile(servers)
        with served(servers, Path(folder) / "service") as service:
            meter = Meter(service.address, [service.process], seconds, 1.0)
            meter.measure(stream)
            for _ in range(rounds):
                without.append(meter.measure(stream)[0])
                with processes(1, start="spawn") as pool:
                    lasting = _OPENING_SECONDS + seconds + 5
                    slow = pool.submit(_send_slowly, service.address, lasting)
                    time.sleep(_OPENING_SECONDS)
                    beside.append(meter.measure(stream)[0])
                    if (open_at_once := slow.result(lasting + 30)) < 0.9 * _SLOW:
                        raise CannotMeasure(f"Only {open_at_once} slow connections were open at once.")
                print(f"  99 %, ms: {without[-1].p99:.1f}, beside {beside[-1].p99:.1f}", flush=True)
    return Section(
        title="Slow senders",
        command=f"python -m bench slow_connections --books {library.books} --rounds {rounds}",
        tables=[
            beside_table(
                f"{_SLOW:,} slow connections",
                without,
                beside,
                f"{library.books:,} books, {_RATE:g} lookups a second (d = 7), {rounds} rounds",
            )
        ],
    )


def _send_slowly(address: Address, seconds: float) -> int:
    """Keep connections open for so long; the number that were open in the middle of the time."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 2 * _SLOW), most))
    return asyncio.run(_all_slow(address, seconds))


async def _all_slow(address: Address, seconds: float) -> int:
    now_open: set[int] = set()

    async def send(number: int) -> None:
        begun = _HEAD + _BODY if number % 2 else _HEAD
        await asyncio.sleep(_OPENING_SECONDS / 2 * number / _SLOW)
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection(*address)
                now_open.add(number)
                writer.write(begun)
                while not writer.is_closing():
                    await asyncio.sleep(1)
                    writer.write(b"x")
                    await writer.drain()
            now_open.discard(number)

    sending = [asyncio.create_task(send(number)) for number in range(_SLOW)]
    await asyncio.sleep((seconds + _OPENING_SECONDS) / 2)
    counted = len(now_open)
    await asyncio.sleep((seconds - _OPENING_SECONDS) / 2)
    for task in sending:
        task.cancel()
    await asyncio.gather(*sending, return_exceptions=True)
    return counted
