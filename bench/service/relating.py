"""Relating over HTTP: from the first post until every relation is stored, and what it takes.

`bookprint serve` runs with two workers on servers of its own. Processor time is that of all its processes
together. A book is done when no job is left and everything that its near-duplicates lookup answers shows
a relation.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson

from app.synthesis.library import synthetic_library
from bench.harness.corpus import corpus_books, corpus_folder
from bench.harness.report import Section, Table
from bench.service.service_process import Service, await_jobs, post, processor_seconds, running

_SEED = 13
_WORKERS = 2
_POSTING = 4
"""Clients that post at the same time."""

_CHARACTERS = 660_000
"""Of a synthetic book: 330 pages of 2,000."""

_SETS = ((5, 12), (20, 4))
"""Relatives of each book, and how many works."""

_WARM_UP = 24
"""Books, about, that are related before: every worker has loaded its kernels then."""

_ERROR_RATE, _EDITED = 0.05, 0.02


@dataclass(frozen=True, slots=True)
class _Measured:
    """The outcome of posted books."""

    books: int
    seconds: float  # from the first post until no job was left
    posting: float  # seconds until the last post was answered
    spent: dict[str, float]  # processor seconds by kind of process
    kinds: Counter[str]  # of the relations stored

    @property
    def pairs(self) -> int:
        """Relations stored."""
        return self.kinds.total()


def run(out_dir: Path) -> Section:
    """Post the corpus, and synthetic books with relatives; wait for their relations."""
    corpus = _corpus()
    sets = [(relatives, _synthetic(relatives, works)) for relatives, works in _SETS]
    return Section(
        title="Relating: posts, jobs and relations over HTTP",
        command="python -m bench relating",
        tables=[
            Table(
                ["", "books", "s until posted", "s until related", "relations"],
                [["corpus", corpus.books, corpus.posting, corpus.seconds, corpus.pairs]],
                f"Every book of the corpus: {_POSTING} clients, {_WORKERS} workers",
            ),
            Table(["kind", "pairs"], sorted(corpus.kinds.items()), "Relations of the corpus"),
            Table(
                ["relatives", "books", "pairs", "ms per book", *(f"{name}, ms" for name in _PROCESSES)],
                [
                    [
                        relatives,
                        counts.books,
                        counts.pairs,
                        1000 * sum(counts.spent.values()) / counts.books,
                        *(1000 * counts.spent.get(name, 0.0) / counts.books for name in _PROCESSES),
                    ]
                    for relatives, counts in sets
                ],
                "Processor time of the whole pipeline per book of 330 pages: sign, store, index, relate",
            ),
        ],
        notes=[
            f"Synthetic books have {_CHARACTERS:,} characters and relatives with page breaks of their own, "
            f"up to {100 * _ERROR_RATE:.0f} % of characters misread and up to {100 * _EDITED:.0f} % of the "
            f"sentences edited (seed {_SEED}). The library holds no other books; finding candidates costs "
            "more in a larger one."
        ],
    )


_PROCESSES = ("API", "worker", "Postgres", "Valkey")


def _corpus() -> _Measured:
    with _served() as service:
        return _measure(service, _corpus_bodies())


def _corpus_bodies() -> Iterator[bytes]:
    for book in corpus_books(corpus_folder()):
        text: dict[str, Any] = {"pages": book.pages} if book.pages else {"text": book.text}
        metadata = {"title": book.title or None, "authors": [book.author] if book.author else []}
        yield orjson.dumps(text | metadata | {"year": book.year, "external_id": book.id})


def _synthetic(relatives: int, works: int) -> _Measured:
    library = synthetic_library(
        _SEED,
        works=works + _WARM_UP // relatives,
        copies=(relatives, relatives),
        characters=(_CHARACTERS, _CHARACTERS),
        error_rate=_ERROR_RATE,
        edited=_EDITED,
        sharing=0.0,
    )
    bodies = [orjson.dumps({"pages": book.pages, "title": book.title, "year": book.year}) for book in library]
    with _served() as service:
        first = _WARM_UP // relatives * (relatives + 1)
        _measure(service, bodies[:first])
        return _measure(service, bodies[first:])


@contextmanager
def _served() -> Iterator[Service]:
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "data", "--workers", str(_WORKERS)) as service,
    ):
        yield service


def _measure(service: Service, bodies: Iterable[bytes]) -> _Measured:
    with service.client() as client:
        before, started = processor_seconds(service.process), time.perf_counter()
        with ThreadPoolExecutor(_POSTING) as clients:
            ids = [posted["id"] for posted in clients.map(lambda body: post(client, body), bodies)]
        posting = time.perf_counter() - started
        await_jobs(client)
        seconds = time.perf_counter() - started
        after = processor_seconds(service.process)
        spent = {name: after[name] - before.get(name, 0.0) for name in after}
        return _Measured(len(ids), seconds, posting, spent, _stored(client, ids))


def _stored(client: httpx.Client, ids: Sequence[str]) -> Counter[str]:
    """The relations of these books by kind; raises where a near-duplicate shows none."""
    kinds: dict[frozenset[str], str] = {}
    for book_id in ids:
        near = client.get(f"/v1/books/{book_id}/near-duplicates?limit=1000").json()
        lacking = [item["id"] for item in near["items"] if item["relation"] is None]
        if lacking:
            raise RuntimeError(f"{book_id} has no relation to {', '.join(lacking)}.")
        for item in client.get(f"/v1/books/{book_id}/relations?limit=1000").json()["items"]:
            if item["via"] is None:
                kinds[frozenset((book_id, item["book_id"]))] = item["kind"]
    return Counter(kinds.values())
