"""Taking in JSON Lines of 600 KB books: in bulk and over HTTP.

The commands are run as a user runs them, start included, each against a service of its own with its workers.
They take turns, so that a change of the machine's pace meets all of them.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from app.synthesis.library import synthetic_library
from bench.harness.checkout import Checkout, other_checkout, this_checkout
from bench.harness.report import Cell, Section, Table
from bench.service.service_process import processor_seconds, running

_BOOKS = 1_000
_ROUNDS = 3
_CHARACTERS = 600_000
_SEED = 17
_SECONDS = 900.0


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Measure each way in turn; `--other` names the commit whose HTTP ingest is measured."""
    books, rounds = options.books or _BOOKS, options.rounds or _ROUNDS
    other = f" --other {options.other}" if options.other else ""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        file = folder / "books.jsonl"
        _write(file, books)
        this = this_checkout()
        old = other_checkout(options.other, folder / "other") if options.other else this
        ways: dict[str, Callable[[int], float]] = {
            "in bulk": lambda turn: _ingested(this, file, books, folder / f"bulk{turn}", over_http=False),
            f"over HTTP, {old.commit}": lambda turn: _ingested(
                old, file, books, folder / f"http{turn}", over_http=True
            ),
        }
        rates: dict[str, list[float]] = {way: [] for way in ways}
        for turn in range(rounds):
            for way, measure in ways.items():
                rates[way].append(measure(turn))
                print(f"  {way}: {rates[way][-1]:.1f} books/s", flush=True)
    bulk = rates["in bulk"]
    rows: list[list[Cell]] = [
        [
            way,
            statistics.median(figures),
            min(figures),
            max(figures),
            statistics.median(ours / theirs for ours, theirs in zip(bulk, figures, strict=True)),
        ]
        for way, figures in rates.items()
    ]
    return Section(
        title="Taking in books of 600 KB",
        command=f"python -m bench ingest --books {books} --rounds {rounds}" + other,
        tables=[
            Table(
                ["way", "books/s, median", "lowest", "highest", "bulk is faster, times"],
                rows,
                f"{books:,} made-up books of {_CHARACTERS:,} characters, {rounds} rounds",
            )
        ],
        notes=["The start of the commands is included."],
    )


def _write(file: Path, count: int) -> None:
    library = synthetic_library(_SEED, count, copies=(1, 1), characters=(_CHARACTERS, _CHARACTERS))
    with file.open("w", encoding="utf-8") as lines:
        for book in islice(library, count):
            lines.write(json.dumps({"id": book.id, "title": book.title, "pages": list(book.pages)}) + "\n")


def _ingested(checkout: Checkout, file: Path, books: int, data_dir: Path, *, over_http: bool) -> float:
    """Books a second of the command `ingest`."""
    with running(data_dir) as service:
        target = ["--url", service.url] if over_http else ["--data-dir", str(data_dir)]
        command: list[str | Path] = [checkout.python, "-m", "app.cli", "ingest", str(file), *target]
        started = time.perf_counter()
        checkout.run(command, data_dir / "ingest.log", seconds=_SECONDS)
        seconds = time.perf_counter() - started
        print(f"    processor seconds: {processor_seconds(service.process)}", flush=True)
    return books / seconds
