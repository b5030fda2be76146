"""Ten keys with a limit each, of which one sends ten times its own: what the other nine notice."""

import argparse
import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.embedded import Servers
from app.settings import Settings
from app.stores.postgres.audit import Actor
from app.stores.postgres.keys import KeyLimits
from app.wiring import open_services
from bench.data.library_servers import Library, opened, reconcile
from bench.harness.report import CannotMeasure, Section, Table
from bench.load.loaded_service import Lookups, Meter, beside_table, lookups, served
from bench.load.open_loop_driver import Stream, with_key

_BOOKS, _ROUNDS, _SECONDS = 4_000, 3, 10.0
_KEYS = 10
_A_MINUTE = 600  # requests that each key may send
_HONEST_SHARE = 0.9  # of its limit that each of the nine sends
_WARM_UP = 8.0  # until the greedy key has used its minute up
_ACTOR = Actor("command", "bench")


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Ask a library of `--books` with nine keys, in `--rounds`, without the tenth and beside it in turn."""
    library = Library(options.books or _BOOKS, texts=True)
    rounds, seconds = options.rounds or _ROUNDS, options.seconds or _SECONDS
    without: list[Lookups] = []
    beside: list[Lookups] = []
    answers: Counter[int] = Counter()
    with tempfile.TemporaryDirectory() as folder, opened(library, Path(folder)) as servers:
        reconcile(servers)
        keys = asyncio.run(_keys(servers))
        with served(servers, Path(folder) / "service", {"BOOKPRINT_AUTH": "keys"}) as service:
            meter = Meter(service.address, [service.process], seconds, _WARM_UP)
            each = _A_MINUTE / 60
            honest = _with_keys(lookups(library, "?d=7", rate=(_KEYS - 1) * _HONEST_SHARE * each), keys[1:])
            greedy = _with_keys(lookups(library, "?d=7", rate=10 * each), keys[:1])
            for _ in range(rounds):
                without.append(meter.measure(honest)[0])
                seen, [refused] = meter.measure(honest, greedy)
                beside.append(seen)
                answers += refused.statuses
                print(f"  99 %, ms: {without[-1].p99:.1f}, beside {beside[-1].p99:.1f}", flush=True)
    if not answers[429]:
        raise CannotMeasure(f"The greedy key was not refused: {dict(answers)}")
    return Section(
        title="A key that sends ten times its limit",
        command=f"python -m bench greedy_key --books {library.books} --rounds {rounds}",
        tables=[
            beside_table(
                "the greedy key",
                without,
                beside,
                f"With the other nine keys: {library.books:,} books, {_A_MINUTE} requests a minute each",
            ),
            Table(["answers to the greedy key", "429"], [[answers.total(), answers[429]]]),
        ],
    )


async def _keys(servers: Servers) -> list[str]:
    """New keys with the limit."""
    settings = Settings(DATABASE_URL=servers.database_url, REDIS_URL=servers.redis_url)
    limits = KeyLimits(requests_per_minute=_A_MINUTE)
    async with open_services(settings) as services:
        made = [
            await services.keys.create(f"bench {number}", ["read"], limits=limits, actor=_ACTOR)
            for number in range(_KEYS)
        ]
    return [each.text for each in made]


def _with_keys(stream: Stream, keys: Sequence[str]) -> Stream:
    """The same requests, with each key in turn."""
    return replace(
        stream,
        requests=[
            with_key(request, keys[number % len(keys)]) for number, request in enumerate(stream.requests)
        ],
    )
