"""More clients, and more requests, than the service can answer: who is refused, who waits, and what is kept.

First 8 to 512 clients that ask again once they are answered. Then requests that come whether the ones before
are answered or not, at twice the rate that eight clients are answered at, and posts beside lookups. Five
seconds after each flood lookups are measured again. At the end every book that was acknowledged is read, and
looked for.
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

from app.synthesis.library import synthetic_library
from bench.data.library_servers import Library, opened, reconcile
from bench.harness.report import Cell, Section, Table
from bench.service.loaded_service import lookups, served
from bench.service.open_loop_driver import Outcome, Request, Stream, drive, post
from bench.service.service_process import await_jobs

_BOOKS, _ROUNDS, _SECONDS = 4_000, 3, 6.0
_QUERIES = {"d = 7": "?d=7", "verified": ""}
_CLIENTS = (8, 12, 32, 128, 512)
_CALM, _TWICE = 0.2, 2.0
_POSTING = 2  # clients that find the load of posts
_CONNECTIONS = 3_000  # of a flood; each has one request under way
_REST_SECONDS = 5.0
_TEXTS, _CHARACTERS = 240, 120_000
_SEED = 23


@dataclass(slots=True)
class _Answers:
    """What became of the requests of one kind, in each round."""

    rounds: list[Outcome] = field(default_factory=list)

    def rate(self, number: int) -> float:
        """Answers a second in a round."""
        outcome = self.rounds[number]
        return (outcome.statuses[200] + outcome.statuses[201]) / outcome.seconds

    def row(self, name: str, beside: "_Answers | None" = None) -> list[Cell]:
        """Medians of the rounds, the ratio to the rate of the rounds `beside` with its spread."""
        statuses = sum((outcome.statuses for outcome in self.rounds), Counter())
        refused = statuses[429] + statuses[503]
        failed = statuses.total() - statuses[200] - statuses[201] - refused
        failed += sum(outcome.unanswered for outcome in self.rounds)
        rates = [self.rate(number) for number in range(len(self.rounds))]
        ratios = [rate / beside.rate(number) for number, rate in enumerate(rates)] if beside else []
        refusals = [seconds for outcome in self.rounds for seconds in outcome.refusals]
        return [
            name,
            round(statistics.median(rates)),
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else "",
            refused,
            failed,
            *(
                round(1000 * statistics.median(_quantile(each.latencies, share) for each in self.rounds), 1)
                for share in (0.5, 0.99, 1.0)
            ),
            round(1000 * _quantile(refusals, 0.99), 1) if refusals else "",
        ]


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Measure a library of `--books` in `--rounds`; each load lasts `--seconds`."""
    library = Library(options.books or _BOOKS, texts=True)
    rounds, seconds = options.rounds or _ROUNDS, options.seconds or _SECONDS
    answers: defaultdict[str, _Answers] = defaultdict(_Answers)
    acknowledged: list[str] = []
    books = _posts()
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = stack.enter_context(opened(library, folder))
        reconcile(servers)
        with served(servers, folder / library.name / "service") as service, service.client() as client:

            def measure(name: str, *streams: Stream) -> None:
                for each, outcome in zip(
                    (name, f"{name}: posts"),
                    drive(service.address, streams, seconds=seconds, warm_up=1.5),
                    strict=False,
                ):
                    answers[each].rounds.append(outcome)
                    acknowledged.extend(outcome.ids)
                    print(f"  {each}: {answers[each].row('')[1:]}", flush=True)

            def asked(query: str, rate: float | None, connections: int = _CONNECTIONS) -> Stream:
                return lookups(library, query, rate=rate, connections=connections)

            measure("warm-up", asked("?d=7", 50.0, 32))
            measure("posts", _once(books, 400, connections=_POSTING))
            for number in range(rounds):
                await_jobs(client)
                for kind, query in _QUERIES.items():
                    for clients in _CLIENTS:
                        measure(f"{kind}: {clients} clients", asked(query, None, clients))
                    load = answers[f"{kind}: {_CLIENTS[0]} clients"].rate(number)
                    measure(f"{kind}: {_CALM:g} of that", asked(query, _CALM * load))
                    measure(f"{kind}: {_TWICE:g} times that", asked(query, _TWICE * load))
                    time.sleep(_REST_SECONDS)
                    measure(f"{kind}: {_CALM:g}, {_REST_SECONDS:g} s after", asked(query, _CALM * load))
                load = answers[f"d = 7: {_CLIENTS[0]} clients"].rate(number)
                posts = _TWICE * answers["posts"].rate(0)
                beside = _once(books, int(posts * (seconds + 2)), rate=posts)
                measure(f"d = 7: {_CALM:g} beside posts", asked("?d=7", _CALM * load), beside)
            missing = lost(service.url, acknowledged)
    del answers["warm-up"]
    return Section(
        title="More than the service can answer",
        command=f"python -m bench overload --books {library.books} --rounds {rounds}",
        tables=[
            Table(
                [
                    *("requests", "answered a second", "to that of 8 clients", "refused", "failed"),
                    *("median, ms", "99 %, ms", "slowest, ms", "99 % until refused, ms"),
                ],
                [
                    each.row(name, answers.get(f"{name.partition(':')[0]}: {_CLIENTS[0]} clients"))
                    for name, each in answers.items()
                ],
                f"{library.books:,} books, medians of {rounds} rounds and the ratios' spread",
            ),
            Table(["books acknowledged", "of these lost"], [[len(acknowledged), missing]]),
        ],
        notes=[
            f"Driver, API, workers, Postgres and Valkey share the machine. Clients ask again once they are "
            f"answered. Rates are of what {_CLIENTS[0]} clients get answered, or {_POSTING} who post books "
            f"of {_CHARACTERS:,} characters; requests come over {_CONNECTIONS:,} connections."
        ],
    )


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


def lost(url: str, ids: Sequence[str]) -> int:
    """How many of these books cannot be read, or are not found by their own fingerprint."""
    missing = 0
    with httpx.Client(base_url=url, timeout=60) as client:
        for book_id in ids:
            read = client.get(f"/v1/books/{book_id}")
            if read.status_code != 200:
                missing += 1
                continue
            query = {"fingerprint": read.json()["fingerprint"]}
            found = client.post("/v1/lookups?d=0&limit=1000", json=query).json()["items"]
            missing += book_id not in {item["id"] for item in found}
    return missing


def _quantile(values: Sequence[float], share: float) -> float:
    in_order = sorted(values)
    return in_order[min(len(in_order) - 1, int(share * len(in_order)))] if in_order else float("nan")
