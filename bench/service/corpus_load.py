"""Loading a corpus of simulated books, beside posting the same signatures and taking them in in bulk.

The commands are run as a user runs them, start included, each against a service of its own with one worker,
which has jobs to do after posts and none after a load. Lookups of some books are then compared.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from bench.data.loaded_corpus import LoadedCorpus, write_loaded_corpus
from bench.harness.checkout import this_checkout
from bench.harness.report import CannotMeasure, Cell, Section, Table
from bench.service.service_process import Service, processor_seconds, running

_BOOKS = 10_000
_POSTED = 1_000
_ASKED = 200  # books whose lookups are compared
_AT_ONCE = 8  # posts
_SECONDS = 3_000.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--pages", action="store_true", help="corpus_load: books with page signatures")


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Load, post and take in; raises CannotMeasure where lookups differ afterwards."""
    books = options.books or _BOOKS
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        whole = write_loaded_corpus(folder / "whole", books, pages=options.pages)
        few = write_loaded_corpus(folder / "few", min(books, _POSTED), pages=options.pages)
        rows: list[list[Cell]] = []
        asked = [1 + number * books // _ASKED for number in range(_ASKED)]
        with _filled(folder / "load", "load", whole.corpus) as (service, seconds):
            rows.append(_row("loaded", whole, seconds, service))
            loaded = _lookups(service, asked)
        with _filled(folder / "bulk", "ingest", whole.signatures) as (service, seconds):
            rows.append(_row("taken in in bulk, without relations", whole, seconds, service))
            if _lookups(service, asked) != loaded:
                raise CannotMeasure("Lookups differ after a load from those after a bulk ingest.")
        posts = ("--url", "{url}", "-j", str(_AT_ONCE))
        with _filled(folder / "posts", "ingest", few.signatures, *posts) as (service, seconds):
            rows.append(_row(f"posted, {_AT_ONCE} at once, without relations", few, seconds, service))
            posted = _lookups(service, range(1, few.books + 1, 10))
        with _filled(folder / "few", "load", few.corpus) as (service, _):
            if _lookups(service, range(1, few.books + 1, 10)) != posted:
                raise CannotMeasure("Lookups differ after a load from those after posts.")
    rate = rows[0][2]
    assert isinstance(rate, float)
    return Section(
        title="Loading a corpus",
        command=f"python -m bench corpus_load --books {books}" + (" --pages" if options.pages else ""),
        tables=[
            Table(
                ["way", "books", "books/s", "loaded is faster, times", "processor seconds"],
                [[*row[:3], rate / float(row[2] or 1), *row[3:]] for row in rows],
                f"{books:,} simulated books {'with' if options.pages else 'without'} page signatures, "
                f"{whole.pairs:,} relations with page maps",
            )
        ],
        notes=[
            "The start of the commands is included; a worker runs beside, at low priority. The lookups of "
            f"{_ASKED} books are the same after the load and after the bulk ingest, and so are those of "
            f"{few.books // 10} books after a load and after posts of {few.books:,}."
        ],
    )


@contextmanager
def _filled(data_dir: Path, command: str, path: Path, *options: str) -> Iterator[tuple[Service, float]]:
    """A service that a command has filled, and the seconds it took."""
    checkout = this_checkout()
    with running(data_dir, "--workers", "1") as service:
        target = [option.format(url=service.url) for option in options] or ["--data-dir", str(data_dir)]
        started = time.perf_counter()
        checkout.run(
            [checkout.python, "-m", "app.cli", command, str(path), *target],
            data_dir / "command.log",
            seconds=_SECONDS,
        )
        seconds = time.perf_counter() - started
        print(f"  {command} {' '.join(options)}: {seconds:.1f} s", flush=True)
        yield service, seconds


def _row(way: str, corpus: LoadedCorpus, seconds: float, service: Service) -> list[Cell]:
    spent = processor_seconds(service.process)
    servers = ", ".join(f"{name} {value:.0f}" for name, value in sorted(spent.items()) if value >= 1)
    return [way, corpus.books, corpus.books / seconds, servers]


def _lookups(service: Service, numbers: "range | list[int]") -> dict[int, Any]:
    """What lookups of these books answer, ids left out."""
    with service.client() as client:
        return {number: _lookup(client, f"simulated-{number}") for number in numbers}


def _lookup(client: httpx.Client, external_id: str) -> Any:
    [book] = client.get("/v1/books", params={"external_id": external_id}).raise_for_status().json()["items"]
    found = client.get(f"/v1/books/{book['id']}/near-duplicates", params={"limit": 1000})
    answer = found.raise_for_status().json()
    hidden = ("id", "relation")
    return answer["exact"], [
        {name: value for name, value in item.items() if name not in hidden} for item in answer["items"]
    ]
