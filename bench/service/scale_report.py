"""The report of `bench.service.scale`: tables and plots of the figures that lie in the results folder."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.core.recipe import DEFAULT_FINGERPRINT
from bench.data.library_servers import Library
from bench.harness.plot import Line, Plot
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
    """Where the figures of a library are kept."""
    return out_dir / f"scale-{library.name}.json"


def section(out_dir: Path) -> Section:
    """Everything measured, and the plots beside it."""
    found: list[tuple[Library, Figures]] = []
    for file in out_dir.glob("scale-*-*.json"):
        _, books, kind = file.stem.split("-")
        library = Library(int(books), texts=kind == "all")
        found.append((library, json.loads(file.read_text(encoding="utf-8"))))
    found.sort(key=lambda one: (not one[0].texts, one[0].books))
    plots = _plots(found, out_dir)
    return Section(
        title="Scale: simulated libraries over HTTP",
        command="python -m bench scale",
        tables=[
            _demands_table(found),
            _lookup_table(found),
            _build_table(found),
            _memory_table(found),
            *_skew_tables(found),
        ],
        notes=[
            "One API process, a worker for each core, Postgres, Valkey and the driver share the machine. "
            "Open loop: requests fall due at a constant rate, and latency counts from then, so waiting is "
            "charged; 32 connections. Posts fall due at random moments of their turns, the driver goes first "
            "where the system lets it, and before each round without posts the service is at rest. Every "
            "figure is the median of the rounds, the spread the lowest and highest round. "
            "A lookup answers the first 100 hits and counts all of them. At 100 requests a second processor "
            "and processes sleep between two of them, so every latency holds what it takes this machine to "
            "wake and to fill its caches anew; a request that looks nothing up tells how much that is.",
            *(f"![{name}](results/{file})" for name, file in plots),
        ],
    )


def _demands_table(found: Sequence[tuple[Library, Figures]]) -> Table:
    """What was demanded of a million books (and of ten million), and what was measured."""
    million = _of(found, Library(1_000_000, texts=True))
    bare = _of(found, Library(1_000_000, texts=False))
    ten = _of(found, Library(10_000_000, texts=False))
    rows: list[list[Cell]] = []

    def demand(what: str, bound: str, part: Figures, name: str, limit: float, most: bool = True) -> None:
        value = part.get(name)
        if value is not None:
            held = value <= limit if most else value >= limit
            rows.append([what, bound, value, "yes" if held else "no"])

    d7 = million.get("d7", {})
    demand("d = 7, median ms", "≤ 3", d7, "median", 3)
    demand("d = 7, 99th percentile ms", "≤ 15", d7, "p99", 15)
    for name, limit in (("d15", 5), ("d23", 10), ("d40", 15), ("verified", 10)):
        part = million.get(name, {})
        demand(f"{_LOOKUPS[name]}, median ms", f"≤ {limit}", part, "median", limit)
    demand("d = 7, closed loop of 8, lookups/s", "≥ 600", million.get("closed", {}), "rate", 600, most=False)
    for name, what in (("signatures", "50 signature posts/s"), ("texts", "5 text posts/s")):
        part = million.get(name, {})
        demand(f"99th percentile with {what}, times that without", "≤ 2", part, "p99_ratio", 2)
    skew = million.get("skew", {})
    demand("99th percentile with 5,000 identical books, times that without", "≤ 3", skew, "p99_ratio", 3)
    for name, what in (("d7", "d = 7"), ("verified", "verified")):
        part = skew.get(f"of_a_copy_{name}", {})
        demand(f"the same, when one of the 5,000 is asked for, {what}", "≤ 3", part, "p99_ratio", 3)
    refused = [part["posts_failed"] for name in ("signatures", "texts") if (part := million.get(name))]
    demand("posts that failed meanwhile", "0", {"failed": sum(refused)} if refused else {}, "failed", 0)
    demand("10 million: d = 7, median ms", "≤ 5", ten.get("d7", {}), "median", 5)
    bands = {"bytes": _bytes(million, DEFAULT_FINGERPRINT)} if million.get("memory") else {}
    demand("Redis, fingerprint bands, bytes per book", "≤ 300", bands, "bytes", 300)
    demand("Redis, everything, bytes per book", "≤ 2,000", million.get("memory", {}), "bytes_per_book", 2000)
    demand(
        "rebuild, fingerprints only, books/s",
        "≥ 50,000",
        bare.get("build", {}),
        "books_a_second",
        50_000,
        False,
    )
    demand(
        "rebuild, everything, books/s", "≥ 10,000", million.get("build", {}), "books_a_second", 10_000, False
    )
    return Table(["a million books, one API process", "demanded", "measured", "held"], rows, "What must hold")


def _lookup_table(found: Sequence[tuple[Library, Figures]]) -> Table:
    rows: list[list[Cell]] = []
    for library, figures in found:
        for part, name in {**_LOOKUPS, "closed": "d = 7, closed loop of 8"}.items():
            if part in figures:
                one = figures[part]
                rounds = [each["median"] for each in one["rounds"]]
                rows.append(
                    [
                        library.title,
                        name,
                        *(one[each] for each in ("median", "p95", "p99", "highest")),
                        f"{min(rounds):.2f}–{max(rounds):.2f}",
                        one["rate"],
                        one["hits"],
                        one["failed"],
                    ]
                )
    headers = ["books", "lookup", "median, ms", "95 %", "99 %", "highest", "spread of the median"]
    return Table(
        [*headers, "lookups/s", "hits", "failed"],
        rows,
        "Lookups over HTTP, 100 a second in open loop unless said otherwise",
    )


def _build_table(found: Sequence[tuple[Library, Figures]]) -> Table:
    rows: list[list[Cell]] = [
        [library.title, build["books_a_second"], min(build["seconds"]), max(build["seconds"])]
        for library, figures in found
        if (build := figures.get("build"))
    ]
    return Table(
        ["books", "books/s", "shortest, s", "longest, s"],
        rows,
        "Building a lost index from stored signatures",
    )


def _memory_table(found: Sequence[tuple[Library, Figures]]) -> Table:
    rows: list[list[Cell]] = []
    for library, figures in found:
        if memory := figures.get("memory"):
            for family, one in memory["families"].items():
                rows.append([library.title, family, one["keys"], one["bytes_per_book"]])
            rows.append([library.title, "all that Redis uses", None, memory["bytes_per_book"]])
            rows.append([library.title, "resident", None, memory["resident_bytes_per_book"]])
    return Table(["books", "keys", "how many", "bytes per book"], rows, "Memory of Redis")


def _skew_tables(found: Sequence[tuple[Library, Figures]]) -> list[Table]:
    rows: list[list[Cell]] = []
    names = {"signatures": "50 signature posts/s", "texts": "5 text posts/s", "skew": "5,000 identical books"}
    for library, figures in found:
        for part, name in names.items():
            if part in figures:
                rows.append([library.title, name, *_pair(figures[part])])
        for part, name in (("of_a_copy_d7", "d = 7"), ("of_a_copy_verified", "verified")):
            if part in figures.get("skew", {}):
                rows.append(
                    [library.title, f"one of the 5,000 asked for, {name}", *_pair(figures["skew"][part])]
                )
    headers = [
        "books",
        "while there are",
        "median, ms",
        "99 %, ms",
        "99 % without, ms",
        "ratio",
        "hits",
        "failed",
    ]
    return (
        [Table(headers, rows, "Lookups (d = 7 unless said otherwise) under posts and skew")] if rows else []
    )


def _pair(one: Figures) -> list[Cell]:
    return [one[name] for name in ("median", "p99", "p99_without", "p99_ratio", "hits", "failed")]


def _plots(found: Sequence[tuple[Library, Figures]], out_dir: Path) -> list[tuple[str, str]]:
    """Write the plots; their names and files."""
    kinds = {"all": True, "fingerprints only": False}

    def line(part: str, name: str, texts: bool, label: str) -> Line:
        points = [
            (float(library.books), float(figures[part][name]))
            for library, figures in found
            if library.texts == texts and part in figures
        ]
        return Line(label, points, dashed=not texts)

    plots = {
        "scale-latency": Plot(
            "Median latency over HTTP, 100 lookups/s",
            "books",
            "ms",
            [
                line(part, "median", texts, name if texts else f"{name}, fingerprints only")
                for part, name in _LOOKUPS.items()
                for texts in ((True, False) if part in ("d7", "d40") else (True,))
            ],
            log_x=True,
            log_y=True,
        ),
        "scale-throughput": Plot(
            "Closed loop of 8 connections, d = 7",
            "books",
            "lookups/s",
            [line("closed", "rate", texts, name) for name, texts in kinds.items()],
            log_x=True,
        ),
        "scale-memory": Plot(
            "Memory of Redis",
            "books",
            "bytes per book",
            [line("memory", "bytes_per_book", texts, name) for name, texts in kinds.items()],
            log_x=True,
        ),
        "scale-build": Plot(
            "Building the index from stored signatures",
            "books",
            "books/s",
            [line("build", "books_a_second", texts, name) for name, texts in kinds.items()],
            log_x=True,
            log_y=True,
        ),
    }
    for name, plot in plots.items():
        plot.save(out_dir / f"{name}.svg")
    return [(plot.title, f"{name}.svg") for name, plot in plots.items()]


def _of(found: Sequence[tuple[Library, Figures]], library: Library) -> Figures:
    return next((figures for one, figures in found if one == library), {})


def _bytes(figures: Figures, word: str) -> float:
    """What the keys take that have this word."""
    families = figures["memory"]["families"]
    return float(sum(one["bytes_per_book"] for family, one in families.items() if word in family.split(":")))
