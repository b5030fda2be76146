"""A whole collection by `corpus run` and `load`, beside `ingest` in bulk of the same books.

The commands are run as a user runs them, start included; the service has one worker. A load brings relations,
page maps and clusters; after an ingest the worker still has to find them.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from app.synthesis.library import synthetic_library
from bench.harness.checkout import this_checkout
from bench.harness.report import Cell, Section, Table
from bench.service.service_process import await_jobs, running

_WORKS, _COPIES = 400, 2
_CHARACTERS = 60_000
_SEED = 29
_SECONDS = 3_000.0


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Compute a corpus of about `--books` made-up books and load it; take the same books in in bulk."""
    works = options.books // (1 + _COPIES) if options.books else _WORKS
    rows: list[list[Cell]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        file, corpus = folder / "books.jsonl", folder / "corpus"
        books = _write(file, works)
        rows.append(_row("corpus run", books, _seconds(folder, "corpus", "run", file, "--out", corpus)))
        for command, source in (("load", corpus), ("ingest", file)):
            data_dir = folder / command
            with running(data_dir, "--workers", "1") as service, service.client() as client:
                started = time.perf_counter()
                rows.append(_row(command, books, _seconds(folder, command, source, "--data-dir", data_dir)))
                await_jobs(client)
                rows.append(_row(f"{command}, until no job is left", books, time.perf_counter() - started))
    return Section(
        title="A corpus, computed and loaded",
        command=f"python -m bench corpus_load --books {books}",
        tables=[
            Table(
                ["way", "s", "books/s"],
                rows,
                f"{books:,} made-up books of {_CHARACTERS:,} characters, {works:,} works",
            )
        ],
        notes=[f"The start of the commands is included (seed {_SEED})."],
    )


def _write(file: Path, works: int) -> int:
    """Write the books as JSON Lines; how many they are."""
    size = (_CHARACTERS, _CHARACTERS)
    library = synthetic_library(_SEED, works=works, copies=(_COPIES, _COPIES), characters=size)
    written = 0
    with file.open("w", encoding="utf-8") as lines:
        for book in library:
            lines.write(json.dumps({"id": book.id, "title": book.title, "pages": list(book.pages)}) + "\n")
            written += 1
    return written


def _seconds(folder: Path, *arguments: str | Path) -> float:
    checkout = this_checkout()
    started = time.perf_counter()
    checkout.run([checkout.python, "-m", "app.cli", *arguments], folder / "command.log", seconds=_SECONDS)
    return time.perf_counter() - started


def _row(way: str, books: int, seconds: float) -> list[Cell]:
    return [way, round(seconds, 1), books / seconds]
