"""The report of `bench.load.scale`: tables of the figures that lie in the results folder."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.data.library_servers import Library
from bench.data.strangers import WITHIN
from bench.harness.report import Cell, Section, Table

_LOOKUPS = {
    "nothing": "no lookup, `/health/live`",
    "d7": "d = 7",
    "d15": "d = 15",
    "d23": "d = 23",
    "d40": "d = 40",
    "k10": "k = 10",
    "verified": "verified",
}

Figures = dict[str, Any]


def figures_file(out_dir: Path, library: Library) -> Path:
    """The file of the figures of a library."""
    return out_dir / f"scale-{library.name}.json"


def section(out_dir: Path) -> Section:
    """All that lies in the results folder."""
    measured: list[tuple[Library, Figures]] = []
    for file in out_dir.glob("scale-*-*.json"):
        _, books, kind = file.stem.split("-")
        library = Library(int(books), texts=kind == "all")
        measured.append((library, json.loads(file.read_text(encoding="utf-8"))))
    measured.sort(key=lambda pair: (not pair[0].texts, pair[0].books))
    return Section(
        title="Scale: simulated libraries over HTTP",
        command="python -m bench scale",
        tables=[
            _lookup_table(measured),
            _build_table(measured),
            _memory_table(measured),
            _posts_table(measured),
            _strangers_table(measured),
        ],
        notes=[
            "One API process, a worker for each core, Postgres, Valkey and the driver share the machine. "
            "Open loop: requests fall due at a constant rate, and latency counts from then, so waiting is "
            "charged; 32 connections. Posts fall due at random moments of their turns, the driver goes first "
            "where the system lets it, and before each round without posts the service is at rest. Every "
            "figure is the median of the rounds, the spread the lowest and highest round. "
            "A lookup answers the first 100 hits and counts all of them. At 100 requests a second processor "
            "and processes sleep between two of them, so every latency holds what it takes this machine to "
            "wake and to fill its caches anew; a request that looks nothing up tells how much that is. Books "
            "are simulated, so hits show the model and not how many copies a library has.",
        ],
        machine="; ".join(sorted({part["machine"] for _, figures in measured for part in figures.values()})),
    )


def _lookup_table(measured: Sequence[tuple[Library, Figures]]) -> Table:
    rows: list[list[Cell]] = []
    for library, figures in measured:
        for part, name in {**_LOOKUPS, "closed": "d = 7, closed loop of 8"}.items():
            if part in figures:
                lookups = figures[part]
                rounds = lookups["rounds"]
                rows.append(
                    [
                        library.title,
                        name,
                        *(lookups[each] for each in ("median", "p95", "p99", "highest")),
                        f"{min(rounds):.2f}–{max(rounds):.2f}",
                        lookups["rate"],
                        lookups["hits"],
                        lookups["failed"],
                    ]
                )
    headers = ["books", "lookup", "median, ms", "95 %", "99 %", "highest", "spread of the median"]
    return Table(
        [*headers, "lookups/s", "hits", "failed"],
        rows,
        "Lookups over HTTP, 100 a second in open loop unless said otherwise",
    )


def _build_table(measured: Sequence[tuple[Library, Figures]]) -> Table:
    rows: list[list[Cell]] = [
        [library.title, build["books_a_second"], min(build["seconds"]), max(build["seconds"])]
        for library, figures in measured
        if (build := figures.get("build"))
    ]
    return Table(
        ["books", "books/s", "shortest, s", "longest, s"],
        rows,
        "Building a lost index from stored signatures",
    )


def _memory_table(measured: Sequence[tuple[Library, Figures]]) -> Table:
    rows: list[list[Cell]] = []
    for library, figures in measured:
        if memory := figures.get("memory"):
            for family, keys in memory["families"].items():
                rows.append([library.title, family, keys["keys"], keys["bytes_per_book"]])
            rows.append([library.title, "all that Redis uses", None, memory["bytes_per_book"]])
            rows.append([library.title, "resident", None, memory["resident_bytes_per_book"]])
    return Table(["books", "keys", "how many", "bytes per book"], rows, "Memory of Redis")


def _posts_table(measured: Sequence[tuple[Library, Figures]]) -> Table:
    names = ("median", "p99", "p99_without", "p99_ratio", "hits", "failed")
    rows: list[list[Cell]] = [
        [library.title, *(posts[name] for name in names)]
        for library, figures in measured
        if (posts := figures.get("signatures"))
    ]
    headers = ["books", "median, ms", "99 %, ms", "99 % without, ms", "ratio", "hits", "failed"]
    return Table(headers, rows, "Lookups (d = 7) while 50 signatures are posted a second")


def _strangers_table(measured: Sequence[tuple[Library, Figures]]) -> Table:
    rows: list[list[Cell]] = [
        [library.title, name, *(strangers[f"{prefix}d{within}"] for within in WITHIN)]
        for library, figures in measured
        if (strangers := figures.get("strangers"))
        for name, prefix in (("a book", ""), ("a volume of a journal: its other volumes", "journal_"))
    ]
    headers = ["works", "lookup of", *(f"d ≤ {within}" for within in WITHIN)]
    return Table(
        headers,
        rows,
        "Strangers a lookup, by distance alone, in simulated works; a million are drawn at most",
    )
