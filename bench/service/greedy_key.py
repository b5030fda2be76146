"""Ten keys with a limit each, of which one sends ten times its own: what the other nine notice."""

import argparse
import re
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.embedded import Servers
from bench.data.library_servers import Library, opened, reconcile
from bench.harness.checkout import ROOT, this_checkout
from bench.harness.report import CannotMeasure, Section, Table
from bench.service.loaded_service import Lookups, Meter, lookups, served
from bench.service.open_loop_driver import Stream, with_key

_BOOKS, _ROUNDS, _SECONDS = 4_000, 3, 10.0
_KEYS = 10
_A_MINUTE = 600  # requests that each key may send
_HONEST_SHARE = 0.9  # of its limit that each of the nine sends
_WARM_UP = 8.0  # until the greedy key has used its minute up
_KEY = re.compile(r"bp_\S+")


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Ask a library of `--books` with nine keys, in `--rounds`, without the tenth and beside it in turn."""
    library = Library(options.books or _BOOKS, texts=True)
    rounds, seconds = options.rounds or _ROUNDS, options.seconds or _SECONDS
    without: list[Lookups] = []
    beside: list[Lookups] = []
    answers: Counter[int] = Counter()
    with tempfile.TemporaryDirectory() as folder, opened(library, Path(folder)) as servers:
        reconcile(servers)
        keys = [_made(servers, f"bench {number}") for number in range(_KEYS)]
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
            Table(
                ["the other nine keys", "median, ms", "99 %, ms", "refused or failed"],
                [
                    [
                        name,
                        _median(figures, "median"),
                        _median(figures, "p99"),
                        sum(f.failed for f in figures),
                    ]
                    for name, figures in (("alone", without), ("beside the greedy one", beside))
                ],
                f"{library.books:,} books; {_A_MINUTE} requests a minute for each key; the 99 % grow by "
                f"{statistics.median(b.p99 / w.p99 for b, w in zip(beside, without, strict=True)):.2f}",
            ),
            Table(["answers to the greedy key", "429"], [[answers.total(), answers[429]]]),
        ],
    )


def _median(figures: Sequence[Lookups], name: str) -> float:
    return round(float(statistics.median(getattr(each, name) for each in figures)), 1)


def _made(servers: Servers, name: str) -> str:
    """A new key with the limit."""
    checkout = this_checkout()
    command: list[str | Path] = [
        *(checkout.python, "-m", "app.cli", "keys", "create"),
        "--name",
        name,
        "--scope",
        "read",
    ]
    made = subprocess.run(
        [*command, "--requests-per-minute", str(_A_MINUTE)],
        env=checkout.environment() | {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = _KEY.search(made.stdout)
    if found is None:
        raise CannotMeasure(f"No key was made: {made.stderr}")
    return found[0]


def _with_keys(stream: Stream, keys: Sequence[str]) -> Stream:
    """The same requests, with each key in turn."""
    return replace(
        stream,
        requests=[
            with_key(request, keys[number % len(keys)]) for number, request in enumerate(stream.requests)
        ],
    )
