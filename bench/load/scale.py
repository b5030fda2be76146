"""Libraries of 75 thousand, a million and ten million books: memory, build rate, latency and throughput.

    python -m bench scale --books 1000000 --data DIR --only d7 closed

measures parts of one library, loaded into DIR the first time and found there again; `python -m bench scale`
measures all. Every part of every library ends up in results/scale-LIBRARY.json, and the report in what lies
there. Everything shares the machine: API, worker, Postgres, Valkey and the driver of the load.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import redis

from app.core.signatures.json_codec import encode
from app.embedded import Servers
from bench.data.library_servers import Library, client_of, opened, reconcile
from bench.data.simulated_books import simulate
from bench.data.strangers import strangers_per_lookup
from bench.harness.redis_memory import empty_redis, used, weighed
from bench.harness.report import CannotMeasure, Section, kept_json, machine
from bench.load import scale_report
from bench.load.loaded_service import Meter, lookups, medians, served, server_processes
from bench.load.open_loop_driver import Stream, delete, drive, get, post

LIBRARIES = (
    Library(75_000, texts=True),
    Library(1_000_000, texts=True),
    Library(1_000_000, texts=False),
    Library(10_000_000, texts=False),
)
QUERIES = {"d7": "?d=7", "d15": "?d=15", "d23": "?d=23", "d40": "?d=40", "verified": "", "k10": "?k=10"}
PARTS = ("strangers", "build", "memory", "nothing", *QUERIES, "closed", "signatures")
ONLY_WITH_TEXTS = {"verified", "signatures"}

_CONNECTIONS = 8
_SIGNATURES_A_SECOND = 50.0
_SEED = 17


@dataclass(frozen=True, slots=True)
class Effort:
    """Times and rounds of the measurements."""

    seconds: float = 12.0
    warm_up: float = 2.0
    rounds: int = 3


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that no other benchmark has."""
    group = parser.add_argument_group("scale")
    group.add_argument("--fingerprints", action="store_true", help="books with fingerprints only")
    group.add_argument(
        "--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS)
    )


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Measure every library, or the one of `--books`; those in `--data` are not loaded again."""
    usual = Effort()
    effort = Effort(options.seconds or usual.seconds, rounds=options.rounds or usual.rounds)
    libraries = [Library(options.books, texts=not options.fingerprints)] if options.books else LIBRARIES
    with tempfile.TemporaryDirectory() as temporary:
        for library in libraries:
            measure(library, options.only, options.data or Path(temporary), out_dir, effort)
    return scale_report.section(out_dir)


def measure(library: Library, parts: Sequence[str], folder: Path, out_dir: Path, effort: Effort) -> None:
    """Measure parts of one library and keep the figures beside those measured before."""
    parts = [part for part in parts if library.texts or part not in ONLY_WITH_TEXTS]
    kept = scale_report.figures_file(out_dir, library)
    figures: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}

    def keep(part: str, part_figures: dict[str, Any]) -> None:
        figures[part] = part_figures | {"machine": machine()}
        shown = {name: value for name, value in part_figures.items() if name not in ("rounds", "families")}
        print(f"  {library.title}: {part} {shown}", flush=True)
        kept.write_text(kept_json(figures), encoding="utf-8")

    if "strangers" in parts:
        keep("strangers", strangers_per_lookup(library.books))
        parts = [part for part in parts if part != "strangers"]
    if not parts:
        return
    with opened(library, folder) as servers, client_of(servers) as client:
        if "build" in parts:
            keep("build", _build(servers, client, library, effort))
        else:
            print(f"  index in step after {reconcile(servers):.0f} s", flush=True)
        if "memory" in parts:
            keep("memory", weighed(client, library.books))
        asked = [part for part in parts if part not in ("build", "memory")]
        if asked:
            with served(servers, folder / library.name / "service") as service:
                roots = [service.process, *server_processes()]
                meter = Meter(service.address, roots, effort.seconds, effort.warm_up)
                meter.await_idle(lookups(library, QUERIES["d7"]))
                for part in asked:
                    keep(part, _PART[part](meter, library, effort))


def _build(servers: Servers, client: "redis.Redis", library: Library, effort: Effort) -> dict[str, Any]:
    """Books a second of a rebuild from stored signatures, and what Redis holds afterwards."""
    seconds = []
    empty = 0
    for _ in range(effort.rounds if library.books <= 1_000_000 else 1):
        empty_redis(client)
        empty = used(client)
        seconds.append(reconcile(servers))
    client.save()
    return {
        "books_a_second": round(library.books / statistics.median(seconds)),
        "seconds": [round(each, 2) for each in seconds],
        "bytes_per_book": round((used(client) - empty) / library.books, 1),
    }


def _streamed(stream_of: Callable[[Library], Stream]) -> "Part":
    def part(meter: Meter, library: Library, effort: Effort) -> dict[str, Any]:
        stream = stream_of(library)
        return medians([meter.measure(stream)[0] for _ in range(effort.rounds)])

    return part


def _nothing(library: Library) -> Stream:
    """Open loop at 100 requests a second that look nothing up: what the machine makes any answer take."""
    return replace(lookups(library, ""), requests=[get("/health/live")])


def _closed(library: Library) -> Stream:
    """Closed loop over keep-alive connections."""
    return lookups(library, QUERIES["d7"], rate=None, connections=_CONNECTIONS)


def _with_signatures(meter: Meter, library: Library, effort: Effort) -> dict[str, Any]:
    """Lookups with and without posts of signatures in turn: the ratio of their 99th percentiles matters.

    The books are deleted at the end.
    """
    each = int(_SIGNATURES_A_SECOND * (meter.seconds + meter.warm_up)) + 2
    requests = [
        post("/v1/books", orjson.dumps({"signatures": encode(batch.sketch(row))}))
        for batch in simulate(each * effort.rounds, seed=_SEED)
        for row in range(len(batch))
    ]
    asked = lookups(library, QUERIES["d7"])
    quiet, busy, ids = [], [], []
    posting: list[float] = []
    failed = 0
    for number in range(effort.rounds):
        meter.await_idle(asked)  # what was posted or deleted before is still being worked off
        quiet.append(meter.measure(asked)[0])
        own = requests[number * each : (number + 1) * each]
        seen, [posted] = meter.measure(asked, Stream("posts", own, rate=_SIGNATURES_A_SECOND, once=True))
        busy.append(seen)
        ids += posted.ids
        # Simulated books can be alike: the second one is found instead of stored.
        failed += sum(count for status, count in posted.statuses.items() if status not in (200, 201))
        failed += posted.unanswered
        posting += posted.latencies
    _delete(meter, ids)
    ratio = statistics.median(each.p99 for each in busy) / statistics.median(each.p99 for each in quiet)
    return medians(busy) | {
        "p99_without": round(statistics.median(each.p99 for each in quiet), 3),
        "p99_ratio": round(ratio, 2),
        "posted": len(ids),
        "posts_failed": failed,
        "post_median": round(1000 * statistics.median(posting), 1) if posting else None,
    }


def _delete(meter: Meter, ids: Sequence[str]) -> None:
    """Delete these books, a few at a time."""
    requests = [delete(f"/v1/books/{identifier}") for identifier in ids]
    stream = Stream("once", requests, connections=4, once=True)
    [outcome] = drive(meter.address, [stream], seconds=600, warm_up=0)
    if any(status >= 300 for status in outcome.statuses):
        raise CannotMeasure(f"The service refused requests: {dict(outcome.statuses)}")


Part = Callable[[Meter, Library, Effort], dict[str, Any]]

_PART: dict[str, Part] = {
    "nothing": _streamed(_nothing),
    **{name: _streamed(partial(lookups, query=query)) for name, query in QUERIES.items()},
    "closed": _streamed(_closed),
    "signatures": _with_signatures,
}
