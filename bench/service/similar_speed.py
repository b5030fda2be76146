"""Similar books over HTTP: what they take beside lookups in the same library, asked in turn by one client.

The vectors are made up, because a comparison takes as long whatever they say. So is the rest of the library;
its books have all signatures, which tell copies from similar books.
"""

import argparse
import http.client
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import psycopg

from app.core.recipe import VECTORS
from app.core.vectors import BYTES
from bench.data.bulk_load import book_id
from bench.data.library_servers import Library, opened, reconcile
from bench.harness.report import Cell, Section, Table
from bench.service.service_process import running

_SEED = 23
_BOOKS = 100_000
_ROUNDS = 5
_TURNS = 120
_WARM_UP = 20

_QUESTIONS: dict[str, Callable[[str], str]] = {
    "lookup, d = 7": lambda book: f"/v1/books/{book}/near-duplicates?d=7",
    "lookup, verified": lambda book: f"/v1/books/{book}/near-duplicates",
    "similar, k = 10": lambda book: f"/v1/books/{book}/similar",
    "similar, k = 100": lambda book: f"/v1/books/{book}/similar?k=100",
    "similar, k = 10, copies too": lambda book: f"/v1/books/{book}/similar?copies=true",
    "map, 100 books": lambda book: "/v1/map?limit=100",
}
_MEASURE = "lookup, d = 7"


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Ask each question about random books of `--books`, in random order, `--rounds` times."""
    size, rounds = options.books or _BOOKS, options.rounds or _ROUNDS
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = stack.enter_context(opened(Library(size, texts=True), folder))
        _load_vectors(servers.database_url, size)
        reconcile(servers)
        urls = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}
        service = stack.enter_context(running(folder / "similar", "--workers", "0", environment=urls))
        connection = http.client.HTTPConnection(*service.address)
        first = _ask(connection, _QUESTIONS["similar, k = 10"](str(book_id(1))))
        times = [_round(connection, size, number) for number in range(rounds)]
    return Section(
        title="Similar books: what they take beside lookups",
        command="python -m bench similar_speed",
        tables=[
            Table(
                ["", "median, ms", "lowest", "highest", f"of '{_MEASURE}'", "lowest", "highest"],
                [
                    [
                        question,
                        *_spread([1000 * taken[question] for taken in times]),
                        *_spread([taken[question] / taken[_MEASURE] for taken in times]),
                    ]
                    for question in _QUESTIONS
                ],
                f"{size:,} books; medians of {rounds} rounds of {_TURNS} of each, one client",
            )
        ],
        notes=[
            f"The first search of a process reads all vectors: {1000 * first:,.0f} ms. Books are simulated, "
            f"vectors random (seed {_SEED})."
        ],
    )


def _load_vectors(database_url: str, size: int) -> None:
    """Give each book of the library a vector, unless they have them."""
    rng = np.random.default_rng(_SEED)
    with psycopg.connect(database_url.replace("+psycopg", "", 1)) as connection:
        [count] = connection.execute(
            "SELECT count(*) FROM signatures WHERE recipe = %s", [VECTORS]
        ).fetchone() or [0]
        if count == size:
            return
        connection.execute("DELETE FROM signatures WHERE recipe = %s", [VECTORS])
        with connection.cursor().copy("COPY signatures (entry_id, recipe, data) FROM STDIN BINARY") as copy:
            copy.set_types(["int8", "text", "bytea"])
            for entry_id in range(1, size + 1):
                copy.write_row((entry_id, VECTORS, rng.integers(0, 256, BYTES, dtype=np.uint8).tobytes()))
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE signatures")


def _round(connection: http.client.HTTPConnection, size: int, seed: int) -> dict[str, float]:
    """The median seconds of each question, about a book of its own in each turn."""
    rng = random.Random(seed)
    times: dict[str, list[float]] = {question: [] for question in _QUESTIONS}
    for turn in range(-_WARM_UP, _TURNS):
        for question in rng.sample(list(_QUESTIONS), len(_QUESTIONS)):
            seconds = _ask(connection, _QUESTIONS[question](str(book_id(rng.randint(1, size)))))
            if turn >= 0:
                times[question].append(seconds)
    return {question: statistics.median(taken) for question, taken in times.items()}


def _ask(connection: http.client.HTTPConnection, path: str) -> float:
    started = time.perf_counter()
    connection.request("GET", path)
    response = connection.getresponse()
    written = response.read()
    seconds = time.perf_counter() - started
    assert response.status == 200, written[:1_000]
    return seconds


def _spread(values: Sequence[float]) -> list[Cell]:
    return [round(each, 2) for each in (statistics.median(values), min(values), max(values))]
