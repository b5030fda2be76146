"""Lookups that one API process answers and those that several do, and the processor time of each.

Services with 1, 2, 4 ... API processes, as many as there are cores and 8 at most, share Postgres and Valkey.
In each round each of them answers the same clients, one service after the other.
"""

import argparse
import os
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.data.library_servers import Library, opened, reconcile
from bench.harness.report import Cell, Section, Table
from bench.load.loaded_service import Lookups, Meter, lookups, served, server_processes

_BOOKS, _ROUNDS, _SECONDS, _WARM_UP = 4_000, 5, 4.0, 1.5
_QUERIES = {"d = 7": "?d=7", "verified": ""}
_COUNTS = (1, 2, 4, 8)
_CLIENTS_EACH = 8  # for each process of the largest service


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Measure a library of `--books` in `--rounds`; each load lasts `--seconds`."""
    library = Library(options.books or _BOOKS, texts=True)
    rounds, seconds = options.rounds or _ROUNDS, options.seconds or _SECONDS
    cores = len(os.sched_getaffinity(0))
    counts = [count for count in _COUNTS if count <= max(2, cores)]
    clients = _CLIENTS_EACH * counts[-1]
    seen: dict[str, dict[int, list[Lookups]]] = {kind: {count: [] for count in counts} for kind in _QUERIES}
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = stack.enter_context(opened(library, folder))
        reconcile(servers)
        meters = {}
        for count in counts:
            data_dir = folder / library.name / f"{count} processes"
            service = stack.enter_context(
                served(servers, data_dir, {"BOOKPRINT_PROCESSES": str(count), "BOOKPRINT_WORKERS": "1"})
            )
            roots = [service.process, *server_processes()]
            meters[count] = Meter(service.address, roots, seconds, _WARM_UP)
            meters[count].await_idle(lookups(library, _QUERIES["verified"]))
        for _ in range(rounds):
            for kind, query in _QUERIES.items():
                for count, meter in meters.items():
                    measured, _ = meter.measure(lookups(library, query, rate=None, connections=clients))
                    seen[kind][count].append(measured)
                    print(f"  {kind}, {count}: {measured.rate:.0f}/s, {_spent(measured):.3f} ms", flush=True)
    return Section(
        title="Lookups of several API processes",
        command=f"python -m bench processes --books {library.books} --rounds {rounds}",
        tables=[
            Table(
                [
                    *("lookups", "API processes", "answered a second", "to those of one"),
                    *("processor time of a lookup, ms", "to that of one", "99 %, ms", "failed"),
                ],
                [_row(kind, count, seen[kind]) for kind in _QUERIES for count in counts],
                f"{library.books:,} books, {clients} clients in a closed loop, medians of {rounds} rounds of "
                f"{seconds:g} s, all services in turn; ratios with their spread",
            ),
            _parts(seen),
        ],
        notes=[
            f"The load comes from the same machine, {cores} cores for it, API, worker, Postgres and Valkey. "
            "Processor time is that of all processes of the service and of its servers."
        ],
    )


def _row(kind: str, count: int, of_counts: dict[int, list[Lookups]]) -> list[Cell]:
    rounds, of_one = of_counts[count], of_counts[1]
    return [
        kind,
        count,
        round(statistics.median(each.rate for each in rounds)),
        _ratio([each.rate for each in rounds], [each.rate for each in of_one]),
        round(statistics.median(map(_spent, rounds)), 3),
        _ratio([*map(_spent, rounds)], [*map(_spent, of_one)]),
        round(statistics.median(each.p99 for each in rounds), 1),
        sum(each.failed for each in rounds),
    ]


def _ratio(values: Sequence[float], of_one: Sequence[float]) -> str:
    ratios = [value / other for value, other in zip(values, of_one, strict=True)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _parts(seen: dict[str, dict[int, list[Lookups]]]) -> Table:
    """The processor time of a lookup by kind of process."""
    parts = ("API", "Postgres", "Valkey", "worker")
    rows: list[list[Cell]] = [
        [
            kind,
            count,
            *(
                round(statistics.median(each.processor.get(part, 0.0) for each in rounds), 3)
                for part in parts
            ),
        ]
        for kind, of_counts in seen.items()
        for count, rounds in of_counts.items()
    ]
    return Table(["lookups", "API processes", *parts], rows, "Processor time of a lookup by its parts, ms")


def _spent(measured: Lookups) -> float:
    return sum(measured.processor.values())
