"""Overload: refusals, waiting times and stored books with more clients and requests than can be answered.

The services have one API process, then two. First 8 to 512 clients run in a closed loop. Then requests arrive
in an open loop at half to four times the rate of eight clients, with and without posts. Five seconds after
each flood lookups are measured again. At the end every acknowledged book is read and looked up.
"""

import argparse
import itertools
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import orjson
import psutil

from app.synthesis.library import synthetic_library
from bench.data.bulk_load import Library, opened, reconcile
from bench.harness.driver import Outcome, Request, Stream, drive, post
from bench.harness.report import Cell, Section, Table
from bench.harness.service import Service, await_jobs, processor_seconds
from bench.load.lookups import lookups, quantile, served, server_processes

_BOOKS, _ROUNDS, _SECONDS = 4_000, 5, 3.0
_PROCESSES = (1, 2)
_CLIENTS = (8, 32, 128, 512)
_SHARES = (0.5, 1.0, 2.0, 4.0)
_CALM = _SHARES[0]
_POSTING = 2  # clients that determine the rate of posts; half of it is used together with lookups
_CONNECTIONS, _FOR_POSTS = 6_000, 500  # of a flood: more connections than requests can wait
_WARM_UP, _FLOOD_WARM_UP = 1.0, 6.0  # seconds; a flood is measured when its queue is full
_REST_SECONDS = 5.0
_TEXTS, _CHARACTERS, _SEED = 240, 120_000, 23
_ANSWERS = ["requests", "answered a second", "to that of 8 clients", "refused", "failed", "median, ms"]
_TIMES = ["99 %, ms", "slowest, ms", "99 % until refused, ms", "processor, ms"]


@dataclass(slots=True)
class _Answers:
    """Outcomes of the requests of one kind, in each round."""

    rounds: list[Outcome] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)  # processor milliseconds of the service per answer

    def row(self, name: str, beside: Sequence[Outcome]) -> list[Cell]:
        """Return median and spread of each figure over the rounds; rates also relative to `beside`."""
        statuses = sum((outcome.statuses for outcome in self.rounds), Counter())
        refused = statuses[429] + statuses[503]
        failed = statuses.total() - statuses[200] - statuses[201] - refused
        failed += sum(outcome.unanswered for outcome in self.rounds)
        ratios = [each.rate / other.rate for each, other in zip(self.rounds, beside, strict=False)]
        times = [[1000 * quantile(each.latencies, n) for each in self.rounds] for n in (0.5, 0.99, 1.0)]
        times.append([1000 * quantile(each.refusals, 0.99) for each in self.rounds if each.refusals])
        answered = _spread([each.rate for each in self.rounds], 0), _spread(ratios, 2)
        return [
            name,
            *answered,
            refused,
            failed,
            *(_spread(each, 1) for each in times),
            _spread(self.spent, 2),
        ]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--api-processes", type=int, nargs="+", help="number per service; default 1 and 2")
    parser.add_argument("--verified", action="store_true", help="verified lookups instead of d = 7")


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Measure a library of `--books` in `--rounds` rounds; each load lasts `--seconds`."""
    library = Library(options.books or _BOOKS)
    rounds, seconds = options.rounds or _ROUNDS, options.seconds or _SECONDS
    chosen: Sequence[int] = options.api_processes or _PROCESSES
    tables, missing, acknowledged = [], 0, 0
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = stack.enter_context(opened(library, folder))
        reconcile(servers)
        for processes in chosen:
            options_of_serve = ("--processes", str(processes))
            with served(servers, folder / library.name / "service", None, *options_of_serve) as service:
                query = "" if options.verified else "?d=7"
                loads = _Loads(service, [service.process, *server_processes()], library, query, seconds)
                loads.run(rounds)
                acknowledged += len(loads.acknowledged)
                missing += lost(service.url, loads.acknowledged)
            eight = loads.answers[f"{_CLIENTS[0]} clients"].rounds
            rows = [
                each.row(name, () if name.endswith("posts") else eight)
                for name, each in loads.answers.items()
            ]
            caption = f"API processes: {processes}; {rounds} rounds: median (spread)"
            tables.append(Table(_ANSWERS + _TIMES, rows, caption))
    return Section(
        title="More than the service can answer",
        command=f"python -m bench overload --books {library.books} --rounds {rounds}"
        + (f" --api-processes {' '.join(map(str, chosen))}" if options.api_processes else "")
        + (" --verified" if options.verified else ""),
        tables=[*tables, Table(["books acknowledged", "of these lost"], [[acknowledged, missing]])],
        notes=[
            f"{library.books:,} books. Driver, API, workers, Postgres and Valkey share the machine. Clients "
            f"ask again once they are answered. Shares are of what {_CLIENTS[0]} clients get answered. "
            f"Beside lookups come half the posts that {_POSTING} clients get answered, of {_CHARACTERS:,} "
            f"characters. Requests come over {_CONNECTIONS:,} connections, and floods are measured from "
            f"{_FLOOD_WARM_UP:g} s after their beginning. Processor time is that of the "
            "service and its servers for each answer that is no refusal, posts beside it included."
        ],
    )


@dataclass(slots=True)
class _Loads:
    """All loads of one service, and their outcomes."""

    service: Service
    processes: Sequence[psutil.Process]  # roots of all processes of the service
    library: Library
    query: str
    seconds: float
    answers: defaultdict[str, _Answers] = field(default_factory=lambda: defaultdict(_Answers))
    acknowledged: list[str] = field(default_factory=list)

    def run(self, rounds: int) -> None:
        """Run every load in each round."""
        books = _posts()
        self._measure("warm-up", self._asked(50.0, 32))
        self._measure("posts", _once(books, 300, connections=_POSTING))
        del self.answers["warm-up"]
        posts = self.answers["posts"].rounds[0].rate / 2
        for number in range(rounds):
            with self.service.client() as client:
                await_jobs(client)
            for clients in _CLIENTS:
                self._measure(f"{clients} clients", self._asked(None, clients))
            load = self.answers[f"{_CLIENTS[0]} clients"].rounds[number].rate
            warm_ups = [_FLOOD_WARM_UP if share > 1 else _WARM_UP for share in _SHARES]
            for share, warm_up in zip(_SHARES, warm_ups, strict=True):
                self._measure(f"{share:g} of that", self._asked(share * load), warm_up=warm_up)
                if share > 1:
                    name = f"{_CALM:g}, {_REST_SECONDS:g} s after {share:g}"
                    self._measure(name, self._asked(_CALM * load), warm_up=_REST_SECONDS)
            for share, warm_up in zip(_SHARES, warm_ups, strict=True):
                count = int(posts * (self.seconds + warm_up))
                beside = _once(books, count, rate=posts, connections=_FOR_POSTS)
                name = f"{share:g} beside posts"
                self._measure(name, self._asked(share * load), beside, warm_up=warm_up)

    def _measure(self, name: str, *streams: Stream, warm_up: float = _WARM_UP) -> None:
        before = processor_seconds(*self.processes)
        outcomes = drive(self.service.address, streams, seconds=self.seconds, warm_up=warm_up)
        spent = processor_seconds(*self.processes) - before
        self.answers[name].spent.append(1000 * spent / max(1, outcomes[0].all_answered))
        for each, outcome in zip((name, f"{name}: posts"), outcomes, strict=False):
            self.answers[each].rounds.append(outcome)
            self.acknowledged.extend(outcome.ids)
            print(f"  {self.answers[each].row(each, ())}", flush=True)

    def _asked(self, rate: float | None, connections: int = _CONNECTIONS) -> Stream:
        return lookups(self.library, self.query, rate=rate, connections=connections)


def _spread(values: Sequence[float], digits: int) -> str:
    if not values:
        return ""
    middle, least, most = statistics.median(values), min(values), max(values)
    return f"{middle:,.{digits}f} ({least:,.{digits}f} to {most:,.{digits}f})"


def _posts() -> Iterator[Request]:
    """Yield posts of mostly different books, without end."""
    written = synthetic_library(_SEED, works=_TEXTS, copies=(0, 0), characters=(_CHARACTERS, _CHARACTERS))
    endings = [orjson.dumps(book.text)[1:] + b"}" for book in itertools.islice(written, _TEXTS)]
    now = time.time_ns()  # a stored library contains the books of former runs
    for number in itertools.count():
        yield post("/v1/books", f'{{"text":"Printing {number} of {now}. '.encode(), endings[number % _TEXTS])


def _once(books: Iterator[Request], count: int, *, connections: int, rate: float | None = None) -> Stream:
    taken = list(itertools.islice(books, count))
    return Stream("posts", taken, connections=connections, rate=rate, once=True)


def lost(url: str, ids: Sequence[str]) -> int:
    """Count the books that cannot be read or are not found by their own fingerprint."""
    missing = 0
    with httpx.Client(base_url=url, timeout=60) as client:
        for book_id in ids:
            read = client.get(f"/v1/books/{book_id}")
            found = []
            if read.status_code == 200:
                query = {"fingerprint": read.json()["fingerprint"]}
                found = client.post("/v1/lookups?d=0&limit=1000", json=query).json()["items"]
            missing += book_id not in {item["id"] for item in found}
    return missing
