"""API keys over HTTP: what they and their limits add to a lookup, and whether times tell why one is refused.

Two services run on the same servers, one of which asks for keys. Requests to both alternate in random order.
"""

import argparse
import asyncio
import http.client
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.embedded import Servers
from app.settings import Settings
from app.stores.postgres.audit import Actor
from app.stores.postgres.connections import open_database
from app.stores.postgres.keys import KeyLimits, key_hash
from app.wiring import open_services
from bench.data.bulk_load import book_id
from bench.data.library_servers import Library, opened, reconcile
from bench.harness.report import Cell, Section, Table
from bench.service.service_process import running

_ACTOR = Actor("command", "bench")
_SEED = 7
_BOOKS = 10_000
_ROUNDS = 5
_PAIRS = 1_000
_TRIES = 2_000
_WARM_UP = 200
_SETTINGS = {"BOOKPRINT_ATTEMPTS_PER_MINUTE": "1000000"}
_PATHS = {"d = 7": "?d=7", "verified": ""}

_Asked = tuple[http.client.HTTPConnection, dict[str, str]]
"""The service that is asked, and with which headers."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A key that may read, and what is sent where no valid key is."""

    valid: str
    limited: str  # of requests and lookups
    refused: dict[str, dict[str, str]]  # headers by the reason


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Ask a library of `--books` with keys and without, `--rounds` times; then with keys that are refused."""
    size, rounds = options.books or _BOOKS, options.rounds or _ROUNDS
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = stack.enter_context(opened(Library(size, texts=True), folder))
        reconcile(servers)
        made = asyncio.run(_keys(servers))
        urls = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}
        plain, guarded = (
            http.client.HTTPConnection(*stack.enter_context(service).address)
            for service in (
                running(
                    folder / auth, "--workers", "0", environment=urls | _SETTINGS | {"BOOKPRINT_AUTH": auth}
                )
                for auth in ("off", "keys")
            )
        )
        header, limited = ({"Authorization": f"Bearer {key}"} for key in (made.valid, made.limited))
        costs: list[list[Cell]] = []
        for name, query in _PATHS.items():
            for what, former, latter in (
                ("with a key in lookups without", (plain, {}), (guarded, header)),
                ("with limits in lookups with a key", (guarded, header), (guarded, limited)),
            ):
                ratios = [_ratio(former, latter, size, query, number) for number in range(rounds)]
                costs.append([f"lookup {name}, {what}", *_spread(ratios)])
        refusals = _refusals(guarded, made.refused)
    return Section(
        title="API keys: what a check and limits cost, and what the time of a refusal tells",
        command="python -m bench keys",
        tables=[
            Table(
                ["", "median", "lowest", "highest"],
                costs,
                f"{size:,} books; {rounds} rounds of {_PAIRS:,} pairs, ratio of the medians",
            ),
            Table(
                ["a key that is", "median, ms", "p99, ms", "slower than an unknown one"],
                refusals,
                f"{_TRIES:,} refusals of each kind, in random order",
            ),
        ],
        notes=[
            "The last column is the share of pairs of tries in which the refusal took longer than that of an "
            "unknown key: .5 where time tells nothing. Between equal kinds it is .5 give or take .02."
        ],
    )


async def _keys(servers: Servers) -> _Made:
    settings = Settings(DATABASE_URL=servers.database_url, REDIS_URL=servers.redis_url)
    async with open_services(settings) as services, open_database(servers.database_url, 1) as database:
        valid, revoked, expired = [
            await services.keys.create("bench", ["read"], actor=_ACTOR) for _ in range(3)
        ]
        limits = KeyLimits(requests_per_minute=100_000, lookups_per_minute=100_000)
        limited = await services.keys.create("bench", ["read"], limits=limits, actor=_ACTOR)
        await services.keys.revoke(revoked.key.id, actor=_ACTOR)
        async with database.transaction() as connection:
            await connection.execute(
                "UPDATE keys SET expires_at = $1 WHERE hash = $2",
                datetime.now(UTC) - timedelta(seconds=1),
                key_hash(expired.text),
            )
    unknown = f"bp_{'A' * 43}"
    altered = valid.text[:-1] + ("A" if valid.text[-1] != "A" else "B")
    sent = {"unknown": unknown, "altered": altered, "revoked": revoked.text, "expired": expired.text}
    return _Made(
        valid.text,
        limited.text,
        {"missing": {}} | {kind: {"Authorization": f"Bearer {key}"} for kind, key in sent.items()},
    )


def _ratio(former: _Asked, latter: _Asked, size: int, query: str, seed: int) -> float:
    """The median time of a lookup in the latter way, in that of one in the former."""
    rng = random.Random(seed)
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(-_WARM_UP, _PAIRS):
        path = f"/v1/books/{book_id(rng.randint(1, size))}/near-duplicates{query}"
        asked = [(*former, times[0]), (*latter, times[1])]
        rng.shuffle(asked)
        for connection, headers, taken in asked:
            seconds = _ask(connection, path, headers, 200)
            if number >= 0:
                taken.append(seconds)
    return statistics.median(times[1]) / statistics.median(times[0])


def _refusals(guarded: http.client.HTTPConnection, refused: dict[str, dict[str, str]]) -> list[list[Cell]]:
    rng = random.Random(_SEED)
    times: dict[str, list[float]] = {kind: [] for kind in refused}
    for number in range(-_WARM_UP, _TRIES):
        for kind in rng.sample(list(refused), len(refused)):
            seconds = _ask(guarded, "/v1/books", refused[kind], 401)
            if number >= 0:
                times[kind].append(1000 * seconds)
    measured = {kind: np.array(each) for kind, each in times.items()}
    return [
        [
            kind,
            round(float(np.median(each)), 3),
            round(float(np.quantile(each, 0.99)), 3),
            None if kind == "unknown" else round(_share_slower(each, measured["unknown"]), 3),
        ]
        for kind, each in measured.items()
    ]


def _share_slower(times: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """The share of pairs in which the first takes longer: the area under the curve of Mann and Whitney."""
    return float(np.searchsorted(np.sort(others), times).mean() / len(others))


def _ask(connection: http.client.HTTPConnection, path: str, headers: dict[str, str], status: int) -> float:
    started = time.perf_counter()
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    written = response.read()
    seconds = time.perf_counter() - started
    assert response.status == status, written[:1_000]
    return seconds


def _spread(values: Sequence[float]) -> list[float]:
    return [round(each, 3) for each in (statistics.median(values), min(values), max(values))]
