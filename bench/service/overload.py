"""Twice the load that the service can hold: what is refused, how long the others wait, and what is kept.

The load is found first, by clients that ask again as soon as they were answered. In each round lookups arrive
at a fifth of it, at twice it, at a fifth while books are posted at twice *their* load, and at a fifth again
five seconds later. At the end every book that was acknowledged is read, and looked for.
"""

import argparse
import itertools
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import orjson

from app.synthesis.library import synthetic_library
from bench.data.library_servers import Library, opened, reconcile
from bench.harness.report import CannotMeasure, Cell, Section, Table
from bench.service.loaded_service import lookups, served
from bench.service.open_loop_driver import Outcome, Request, Stream, drive, post
from bench.service.service_process import Address, await_jobs

_BOOKS, _ROUNDS, _SECONDS = 4_000, 3, 8.0
_CALM, _TWICE = 0.2, 2.0
_ASKING, _POSTING = 4, 2  # clients that find the load
_CONNECTIONS = 200
_REST_SECONDS = 5.0
_TEXTS, _CHARACTERS = 240, 120_000
_SEED = 23


@dataclass(slots=True)
class _Answers:
    """What became of the requests of one kind, over all rounds."""

    p99: list[float] = field(default_factory=list)  # milliseconds, of each round
    statuses: Counter[int] = field(default_factory=Counter)
    refusals: list[float] = field(default_factory=list)  # seconds
    unanswered: int = 0
    seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """One more round."""
        self.p99.append(1000 * _quantile(outcome.latencies, 0.99))
        self.statuses += outcome.statuses
        self.refusals += outcome.refusals
        self.unanswered += outcome.unanswered
        self.seconds += outcome.seconds

    def row(self, name: str, beside: Sequence[float]) -> list[Cell]:
        """The figures, and the median of the rounds' ratios to those of rounds `beside` them."""
        refused = self.statuses[429] + self.statuses[503]
        served = self.statuses[200] + self.statuses[201]
        return [
            name,
            round(served / self.seconds, 1),
            round(refused / self.seconds, 1),
            sum(self.statuses.values()) - served - refused + self.unanswered,
            round(statistics.median(self.p99), 1),
            round(statistics.median(p99 / than for p99, than in zip(self.p99, beside, strict=True)), 2),
            round(1000 * statistics.median(self.refusals), 1) if self.refusals else None,
        ]


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Measure a library of `--books` in `--rounds`; each load lasts `--seconds`."""
    library = Library(options.books or _BOOKS, texts=True)
    rounds, seconds = options.rounds or _ROUNDS, options.seconds or _SECONDS
    calm, twice, beside, after, posts = (_Answers() for _ in range(5))
    acknowledged: list[str] = []
    books = _posts()
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = stack.enter_context(opened(library, folder))
        reconcile(servers)
        with served(servers, folder / library.name / "service") as service, service.client() as client:
            address = service.address

            def at(rate: float) -> Stream:
                return lookups(library, "?d=7", rate=rate, connections=_CONNECTIONS)

            def measured(*streams: Stream) -> list[Outcome]:
                return drive(address, streams, seconds=seconds, warm_up=1.0)

            measured(at(50.0))
            asked = _load(address, lookups(library, "?d=7", rate=None, connections=_ASKING))
            [found] = drive(address, [_once(books, 400, connections=_POSTING)], seconds=6, warm_up=1.0)
            acknowledged += found.ids
            posted = len(found.latencies) / found.seconds
            for _ in range(rounds):
                await_jobs(client)
                calm.add(measured(at(_CALM * asked))[0])
                twice.add(measured(at(_TWICE * asked))[0])
                time.sleep(_REST_SECONDS)
                uploads = _once(books, int(_TWICE * posted * (seconds + 1)), rate=_TWICE * posted)
                seen, sent = measured(at(_CALM * asked), uploads)
                beside.add(seen)
                posts.add(sent)
                acknowledged += sent.ids
                time.sleep(_REST_SECONDS)
                after.add(measured(at(_CALM * asked))[0])
                print(
                    "  99 % of lookups, ms:",
                    *(f"{each.p99[-1]:.1f}" for each in (calm, twice, beside, after)),
                )
            lost = _lost(service.url, acknowledged)
    return Section(
        title="Twice the load that the service can hold",
        command=f"python -m bench overload --books {library.books} --rounds {rounds}",
        tables=[
            Table(
                [
                    *("requests", "answered a second", "refused a second", "failed"),
                    *("99 % of those answered, ms", "to the unloaded ones", "until refused, ms, median"),
                ],
                [
                    calm.row(f"lookups, {_CALM:g} of the load", calm.p99),
                    twice.row(f"lookups, {_TWICE:g} times the load", calm.p99),
                    beside.row(f"lookups at {_CALM:g}, posts at {_TWICE:g} times their load", calm.p99),
                    posts.row("… these posts", posts.p99),
                    after.row(f"lookups at {_CALM:g}, {_REST_SECONDS:g} s after", calm.p99),
                ],
                f"{library.books:,} books, {rounds} rounds; the load is {asked:.0f} lookups or "
                f"{posted:.0f} posts a second",
            ),
            Table(["books acknowledged", "of these lost"], [[len(acknowledged), lost]]),
        ],
        notes=[
            f"Driver, API, workers, Postgres and Valkey share the machine. A lookup is d = 7; a post has "
            f"{_CHARACTERS:,} characters. The load of lookups is what {_ASKING} clients get answered who ask "
            f"again at once, that of posts what {_POSTING} do."
        ],
    )


def _load(address: Address, stream: Stream) -> float:
    """Answers a second."""
    [outcome] = drive(address, [stream], seconds=5, warm_up=1.0)
    if outcome.refusals:
        raise CannotMeasure("The service refuses so few clients. Look at BOOKPRINT_READS_AT_ONCE.")
    return len(outcome.latencies) / outcome.seconds


def _posts() -> Iterator[Request]:
    """Posts of books of which few are alike, without end."""
    size = (_CHARACTERS, _CHARACTERS)
    written = synthetic_library(_SEED, works=_TEXTS, copies=(0, 0), characters=size)
    endings = [orjson.dumps(book.text)[1:] + b"}" for book in itertools.islice(written, _TEXTS)]
    now = time.time_ns()  # a library that is kept has those of former runs
    for number in itertools.count():
        yield post("/v1/books", f'{{"text":"Printing {number} of {now}. '.encode(), endings[number % _TEXTS])


def _once(books: Iterator[Request], count: int, **options: float) -> Stream:
    connections = int(options.get("connections", _CONNECTIONS))
    taken = list(itertools.islice(books, count))
    return Stream("posts", taken, connections=connections, rate=options.get("rate"), once=True)


def _lost(url: str, ids: Sequence[str]) -> int:
    """How many of these books cannot be read, or are not found by their own fingerprint."""
    lost = 0
    with httpx.Client(base_url=url, timeout=60) as client:
        for book_id in ids:
            read = client.get(f"/v1/books/{book_id}")
            if read.status_code != 200:
                lost += 1
                continue
            query = {"fingerprint": read.json()["fingerprint"]}
            found = client.post("/v1/lookups?d=0&limit=1000", json=query).json()["items"]
            lost += book_id not in {item["id"] for item in found}
    return lost


def _quantile(values: Sequence[float], share: float) -> float:
    in_order = sorted(values)
    return in_order[min(len(in_order) - 1, int(share * len(in_order)))] if in_order else float("nan")
