"""Reconciliation over HTTP: what a query of a large batch takes, beside verified lookups, and what it finds.

Batches and lookups alternate in one run against one service, so that both meet the same machine.
"""

import argparse
import http.client
import random
import statistics
import tempfile
import time
import urllib.parse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from bench.data.bulk_load import book_id
from bench.data.library_servers import Library, opened, reconcile
from bench.data.named_books import Row, name, named_books, rows
from bench.harness.report import Section, Table
from bench.service.loaded_service import served

_SEED = 7
_BOOKS = 100_000
_BATCH = 1_000
_ROUNDS = 5
_LOOKUPS = 300
_BATCHES = (1, 10, 100, 1_000)


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Load and name a library of `--books`, in `--data` if it shall stay, then ask it rows and lookups."""
    with tempfile.TemporaryDirectory() as folder:
        return measured(options.books or _BOOKS, options.data or Path(folder))


def measured(size: int, folder: Path) -> Section:
    """The figures of a library of so many books."""
    books = list(named_books(size))
    asked = rows(books, _BATCH)
    with opened(Library(size, texts=True), folder) as servers:
        name(servers.database_url, books)
        reconcile(servers)
        with served(servers, folder / "service") as service:
            connection = http.client.HTTPConnection(*service.address)
            _lookups(connection, size, 50)
            _batch(connection, asked)
            queries, lookups = [], []
            for number in range(_ROUNDS):
                queries.append(1000 * _batch(connection, asked)[0] / len(asked))
                lookups.append(_lookups(connection, size, _LOOKUPS, number))
            by_size = [
                [count, *_spread([_small(connection, asked, count) for _ in range(30)])]
                for count in _BATCHES[:-1]
            ]
            _, answers = _batch(connection, asked)
            connection.close()
    query, lookup = statistics.median(queries), statistics.median(lookups)
    return Section(
        title="Reconciliation: rows of a table matched with books, over HTTP",
        command="python -m bench reconciliation",
        tables=[
            Table(
                ["", "median", "lowest", "highest"],
                [
                    [f"one query of a batch of {_BATCH:,}, ms", *_spread(queries)],
                    ["one verified lookup, ms", *_spread(lookups)],
                    ["a query, in lookups (at most 3)", round(query / lookup, 3), None, None],
                ],
                f"{size:,} books; {_ROUNDS} rounds of a batch and {_LOOKUPS} lookups",
            ),
            Table(
                ["queries in a batch", "median, ms", "lowest", "highest"], by_size, "Smaller batches, whole"
            ),
            _quality(asked, answers),
        ],
        notes=[
            "Titles are synthetic: a few words are in most of them, and one title in twelve is shared by "
            "hundreds of books. A match is wrong where it is another book than the one that the row means; "
            "rows without a year cannot tell the editions of a work apart."
        ],
    )


def _batch(connection: http.client.HTTPConnection, asked: Sequence[Row]) -> tuple[float, dict[str, Any]]:
    """The seconds that a batch of all rows takes, and its answer."""
    batch = {f"q{number}": _query(row) for number, row in enumerate(asked)}
    body = urllib.parse.urlencode({"queries": orjson.dumps(batch)})
    started = time.perf_counter()
    connection.request("POST", "/reconcile", body, {"Content-Type": "application/x-www-form-urlencoded"})
    response = connection.getresponse()
    written = response.read()
    seconds = time.perf_counter() - started
    assert response.status == 200, written[:1_000]
    return seconds, orjson.loads(written)


def _small(connection: http.client.HTTPConnection, asked: Sequence[Row], count: int) -> float:
    return 1000 * _batch(connection, random.sample(asked, count))[0]


def _query(row: Row) -> dict[str, Any]:
    """The row as OpenRefine sends it."""
    known = {"author": row.author, "year": row.year}
    properties = [{"pid": pid, "v": value} for pid, value in known.items() if value is not None]
    return {"query": row.title, "type": "Book", "type_strict": "should", "properties": properties}


def _lookups(connection: http.client.HTTPConnection, size: int, count: int, seed: int = _SEED) -> float:
    """Mean milliseconds of verified lookups of random books."""
    seconds = 0.0
    for entry in random.Random(seed).sample(range(1, size + 1), count):
        started = time.perf_counter()
        connection.request("GET", f"/v1/books/{book_id(entry)}/near-duplicates")
        response = connection.getresponse()
        response.read()
        seconds += time.perf_counter() - started
        assert response.status == 200
    return 1000 * seconds / count


def _quality(asked: Sequence[Row], answers: dict[str, Any]) -> Table:
    counts: Counter[tuple[str, str]] = Counter()
    for number, row in enumerate(asked):
        candidates = answers[f"q{number}"]["result"]
        ids = [each["id"] for each in candidates]
        wanted = str(book_id(row.book.entry))
        matches = [each["id"] for each in candidates if each["match"]]
        counts[row.kind, "rows"] += 1
        counts[row.kind, "first"] += ids[:1] == [wanted]
        counts[row.kind, "listed"] += wanted in ids
        counts[row.kind, "matched"] += bool(matches)
        counts[row.kind, "wrong"] += bool(matches) and matches != [wanted]
    kinds = list(dict.fromkeys(row.kind for row in asked))
    names = ("rows", "first", "listed", "matched", "wrong")
    return Table(
        ["row", "rows", "its book first", "among ten", "called a match", "wrong matches"],
        [[kind, *(counts[kind, each] for each in names)] for kind in kinds],
        "What the rows find",
    )


def _spread(values: Sequence[float]) -> list[float]:
    return [round(each, 3) for each in (statistics.median(values), min(values), max(values))]
