"""This commit beside another: both built here, and measured in turn on one machine.

    python -m bench ab --other COMMIT [--books 1000000]

Both are driven from outside, by HTTP and the command line, so the other may be laid out as it likes. Each
round measures this one, then the other, a few seconds apart. So a ratio of a round holds where the machine is
slower in one hour than in the next.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import orjson

from app.synthesis.library import synthetic_library
from bench.data.library_servers import Library
from bench.harness.checkout import Checkout, other_checkout, this_checkout
from bench.harness.report import CannotMeasure, Cell, Section, Table
from bench.load.loaded_service import Lookups, Meter, lookups
from bench.service.service_process import Service, await_jobs, post, processor_seconds, running

_QUERIES = {"d = 7": "?d=7", "d = 23": "?d=23", "verified": ""}
_CONNECTIONS = 8
_CHARACTERS = 600_000
_RELATIVES = 5
_CLIENTS = 4
_SIGNED = 12
_SEED = 19
_LOAD_SECONDS, _SIGN_SECONDS = 7200.0, 600.0
_SCRIPT = Path(__file__).with_name("either_checkout.py")


@dataclass(frozen=True, slots=True)
class Options:
    """The comparison that is asked for."""

    other: str  # a commit, by any name that git knows
    books: int = 10_000
    rounds: int = 3
    seconds: float = 5.0  # of each stream of lookups
    warm_up: float = 1.0
    idle: float = 2.0  # seconds over which the processor time of an idle service is taken
    posts: int = 30  # texts a round
    works: int = 4  # books a round that are posted with five relatives each


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two commits."""

    name: str
    checkout: Checkout
    kernels: Path  # where its compiled kernels lie, but those of its first starts

    @property
    def environment(self) -> dict[str, str]:
        """The settings of its processes."""
        return {"NUMBA_CACHE_DIR": str(self.kernels)}


@dataclass(frozen=True, slots=True)
class Pair:
    """One figure of both commits, of one round."""

    this: float
    other: float

    @property
    def ratio(self) -> float:
        """This commit's figure over the other's."""
        return self.this / self.other

    def __str__(self) -> str:
        return f"{self.this:.4g} / {self.other:.4g}"


class Figures:
    """Figures of both commits by name, round by round; and what their lookups answered."""

    def __init__(self) -> None:
        self.rounds: defaultdict[str, list[Pair]] = defaultdict(list)
        self.answers: defaultdict[str, list[list[Lookups]]] = defaultdict(list)

    def add(self, name: str, this: float, other: float) -> None:
        """Note the figures of one round."""
        pair = Pair(this, other)
        self.rounds[name].append(pair)
        print(f"  {name}: {pair}, ratio {pair.ratio:.2f}", flush=True)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that no other benchmark has."""
    parser.add_argument("--other", metavar="COMMIT", help="ab: the commit to measure beside this one")


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Measure this commit and the one that `--other` names in turn; about a quarter of an hour."""
    if not options.other:
        raise CannotMeasure("Name the commit to measure beside this one with --other COMMIT.")
    usual = Options(options.other)
    return compare(
        replace(
            usual,
            books=options.books or usual.books,
            rounds=options.rounds or usual.rounds,
            seconds=options.seconds or usual.seconds,
        )
    )


def compare(options: Options) -> Section:
    """Build the other commit, measure both, and leave nothing behind."""
    with tempfile.TemporaryDirectory(prefix="bookprint-ab-") as temporary:
        folder = Path(temporary)
        this = Side("this", this_checkout(), folder / "this-kernels")
        other = Side(
            "other", other_checkout(options.other, folder / "other-checkout"), folder / "other-kernels"
        )
        print(f"  this is {this.checkout.commit}, the other {other.checkout.commit}", flush=True)
        figures = Figures()
        over_http((this, other), folder, options, figures)
        same_signatures = signing((this, other), folder, options.rounds, figures)
        starting((this, other), folder, options.rounds, figures)
    return section((this, other), options, figures, same_signatures)


def over_http(sides: Sequence[Side], folder: Path, options: Options, figures: Figures) -> None:
    """Load a library on each side, start both services, and ask them round by round."""
    for side in sides:
        (folder / side.name).mkdir()
        _run(side, folder, "load", folder / side.name, str(options.books), seconds=_LOAD_SECONDS)
    library = Library(options.books, texts=True)
    with ExitStack() as stack:
        services = [
            stack.enter_context(
                running(folder / side.name, checkout=side.checkout, environment=side.environment)
            )
            for side in sides
        ]
        meters = [Meter(each.address, [each.process], options.seconds, options.warm_up) for each in services]
        for service, meter in zip(services, meters, strict=True):
            _relating(service, -1, options)  # every process loads its kernels and caches
            meter.await_idle(lookups(library, _QUERIES["verified"]))
        for number in range(options.rounds):
            _look_up(meters, library, figures)
            posts = [_posting(service, number, options) for service in services]
            figures.add("POST of a 600 KB text, median, ms", *(each.median for each in posts))
            figures.add("processor time of that POST, all processes, ms", *(each.processor for each in posts))
            related = [_relating(service, number, options) for service in services]
            figures.add("processor time of a book with five relatives, related, ms", *related)


def _run(side: Side, folder: Path, *arguments: str | Path, seconds: float) -> None:
    """Run what needs a commit's own code in its environment."""
    log = folder / f"{side.name}.log"
    command = [side.checkout.python, "-P", _SCRIPT, *arguments]
    side.checkout.run(command, log, seconds=seconds, environment=side.environment)


def _look_up(meters: Sequence[Meter], library: Library, figures: Figures) -> None:
    for name, query in _QUERIES.items():
        pair = [meter.measure(lookups(library, query))[0] for meter in meters]
        figures.answers[name].append(pair)
        figures.add(f"lookup, {name}, median, ms", *(each.median for each in pair))
        figures.add(f"lookup, {name}, 99th percentile, ms", *(each.p99 for each in pair))
        processor = [sum(each.processor.values()) for each in pair]
        figures.add(f"processor time of a lookup, {name}, all processes, ms", *processor)
    stream = lookups(library, _QUERIES["d = 7"], rate=None, connections=_CONNECTIONS)
    pair = [meter.measure(stream)[0] for meter in meters]
    figures.answers["closed loop"].append(pair)
    figures.add(f"closed loop of {_CONNECTIONS}, d = 7, lookups/s", *(each.rate for each in pair))


@dataclass(frozen=True, slots=True)
class _Posts:
    median: float  # milliseconds of a post
    processor: float  # milliseconds of all processes for a post, its background work included


def _posting(service: Service, number: int, options: Options) -> _Posts:
    size = (_CHARACTERS, _CHARACTERS)
    books = synthetic_library(_SEED + number, works=options.posts, copies=(0, 0), characters=size)
    bodies = [orjson.dumps({"text": book.text}) for book in books]
    seconds: list[float] = []

    def send(client: httpx.Client) -> list[str]:
        ids = []
        for body in bodies:
            began = time.perf_counter()
            ids.append(post(client, body)["id"])
            seconds.append(time.perf_counter() - began)
        return ids

    spent = _spent(service, send, options.idle)
    return _Posts(1000 * statistics.median(seconds), 1000 * spent / len(bodies))


def _relating(service: Service, number: int, options: Options) -> float:
    """Milliseconds of all processes for a book with five relatives: sign, store, index, relate."""
    size = (_CHARACTERS, _CHARACTERS)
    books = synthetic_library(
        1000 + _SEED + number,
        works=options.works,
        copies=(_RELATIVES, _RELATIVES),
        characters=size,
        edited=0.02,
        sharing=0.0,
    )
    bodies = [orjson.dumps({"pages": book.pages, "title": book.title, "year": book.year}) for book in books]

    def send(client: httpx.Client) -> list[str]:
        with ThreadPoolExecutor(_CLIENTS) as clients:
            return [posted["id"] for posted in clients.map(lambda body: post(client, body), bodies)]

    return 1000 * _spent(service, send, options.idle) / len(bodies)


def _spent(service: Service, send: Callable[[httpx.Client], list[str]], idle: float) -> float:
    """Processor seconds of posts and the jobs after them, less what an idle service spends anyway.

    The books are deleted again.
    """
    with service.client() as client:
        before = sum(processor_seconds(service.process).values())
        time.sleep(idle)
        started, rested = time.perf_counter(), sum(processor_seconds(service.process).values())
        ids = send(client)
        await_jobs(client)
        lasted = time.perf_counter() - started
        spent = sum(processor_seconds(service.process).values()) - rested
        for book_id in ids:
            client.delete(f"/v1/books/{book_id}").raise_for_status()
        await_jobs(client)
    return spent - (rested - before) / idle * lasted


def signing(sides: Sequence[Side], folder: Path, rounds: int, figures: Figures) -> bool:
    """Time all signatures of a text in either environment; whether they are the same to the bit."""
    size = (_CHARACTERS, _CHARACTERS)
    books = synthetic_library(_SEED, works=_SIGNED, copies=(0, 0), characters=size)
    texts, out = folder / "texts.json", folder / "signed.json"
    texts.write_text(json.dumps([book.text for book in books]), encoding="utf-8")
    digests: set[str] = set()
    for _ in range(rounds):
        medians = []
        for side in sides:
            _run(side, folder, "sign", texts, out, seconds=_SIGN_SECONDS)
            signed = json.loads(out.read_text(encoding="utf-8"))
            medians.append(statistics.median(signed["milliseconds"]))
            digests.add(signed["digest"])
        figures.add("all signatures of a 600 KB text, ms", *medians)
    return len(digests) == 1


def starting(sides: Sequence[Side], folder: Path, rounds: int, figures: Figures) -> None:
    """Start each with a new data folder and a new folder of caches, so without kernels, and once again."""
    for _ in range(rounds):
        first: list[float] = []
        second: list[float] = []
        for side in sides:
            with tempfile.TemporaryDirectory(dir=folder, prefix=f"start-{side.name}-") as data_dir:
                caches = {"XDG_CACHE_HOME": f"{data_dir}/caches"}
                for seconds in (first, second):
                    with running(Path(data_dir), checkout=side.checkout, environment=caches) as service:
                        seconds.append(service.start_seconds)
        figures.add("start to ready, first, s", *first)
        figures.add("start to ready, second, s", *second)


def section(sides: tuple[Side, Side], options: Options, figures: Figures, same_signatures: bool) -> Section:
    """The figures of both, their ratios, and every round."""
    this, other = (side.checkout.commit for side in sides)
    medians: list[list[Cell]] = [
        [
            name,
            statistics.median(pair.this for pair in pairs),
            statistics.median(pair.other for pair in pairs),
            statistics.median(pair.ratio for pair in pairs),
            f"{min(pair.ratio for pair in pairs):.2f}–{max(pair.ratio for pair in pairs):.2f}",
        ]
        for name, pairs in figures.rounds.items()
    ]
    answers: list[list[Cell]] = [
        [
            name,
            *(statistics.fmean(each.hits for each in side) for side in zip(*pairs, strict=True)),
            *(sum(each.failed for each in side) for side in zip(*pairs, strict=True)),
        ]
        for name, pairs in figures.answers.items()
    ]
    return Section(
        title="This commit beside another",
        command=f"python -m bench ab --other {other} --books {options.books} --rounds {options.rounds}",
        tables=[
            Table(
                ["", f"this ({this})", f"other ({other})", "this / other", "its spread"],
                medians,
                f"{options.books:,} books, rounds: {options.rounds}, both in turn; medians of the rounds",
            ),
            Table(
                ["", *(f"round {number + 1}" for number in range(options.rounds))],
                [[name, *map(str, pairs)] for name, pairs in figures.rounds.items()],
                "Every round: this / other",
            ),
            Table(
                ["lookups", "hits, this", "hits, other", "failed, this", "failed, other"],
                answers,
                "What the lookups answered: hits of a lookup, mean",
            ),
        ],
        notes=[
            f"Lookups fall due at 100 a second for {options.seconds:g} s a round (open loop); latency counts "
            "from then. The processor time of a post is that of all processes of the service, its jobs "
            "included, less what it spends idle; a book to relate has five relatives. A first start has a "
            "new data folder and an empty kernel cache. Signatures of both are "
            f"{'the same to the bit' if same_signatures else 'NOT the same'}.",
        ],
    )
