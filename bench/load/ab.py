"""Comparison of the current commit with another: both are built here and measured in turn.

    python -m bench ab --other COMMIT [--books 1000000]

The benchmark uses only HTTP and the command line, so the layout of the other commit does not matter. Each
round measures the current commit, then the other, a few seconds apart. The ratio of a round is therefore
valid on a machine whose speed varies by the hour.
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
from bench.data.bulk_load import Library
from bench.harness.checkout import Checkout, other_checkout, this_checkout
from bench.harness.report import CannotMeasure, Cell, Section, Table
from bench.harness.service import Service, await_jobs, post, processor_seconds, running
from bench.load.lookups import Lookups, Meter, lookups

_QUERIES = {"d = 7": "?d=7", "d = 23": "?d=23", "verified": ""}
_CONNECTIONS, _CLIENTS = 8, 4
_CHARACTERS = (600_000, 600_000)
_RELATIVES, _SIGNED, _SEED = 5, 12, 19
_LOAD_SECONDS, _SIGN_SECONDS = 7200.0, 600.0
_SCRIPT = Path(__file__).with_name("either_checkout.py")

Sides = tuple["Side", "Side"]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the comparison."""

    other: str  # a commit, by any name that git knows
    books: int = 10_000
    rounds: int = 3
    seconds: float = 5.0  # of each stream of lookups
    warm_up: float = 1.0
    idle: float = 2.0  # seconds over which the processor time of an idle service is measured
    posts: int = 30  # texts per round
    works: int = 4  # books per round that are posted with five relatives each


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two commits."""

    name: str
    checkout: Checkout
    kernels: Path  # folder of its compiled kernels, except those of its first starts

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of its processes."""
        return {"NUMBA_CACHE_DIR": str(self.kernels)}

    def run(self, folder: Path, *arguments: str | Path, seconds: float) -> None:
        """Run a command of `either_checkout` with this commit's code and environment."""
        command = [self.checkout.python, "-P", _SCRIPT, *arguments]
        self.checkout.run(command, folder / f"{self.name}.log", seconds=seconds, environment=self.environment)


class Figures:
    """Figures of both commits by name and round, and the answers to their lookups."""

    def __init__(self) -> None:
        self.rounds: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        self.answers: defaultdict[str, list[list[Lookups]]] = defaultdict(list)

    def add(self, name: str, this: float, other: float) -> None:
        """Add the figures of one round."""
        self.rounds[name].append((this, other))
        print(f"  {name}: {this:.4g} / {other:.4g}, ratio {this / other:.2f}", flush=True)

    def look_up(self, name: str, meters: Sequence[Meter], library: Library, query: str) -> None:
        """Send lookups to both sides at a constant rate."""
        pair = [meter.measure(lookups(library, query)) for meter in meters]
        self.answers[name].append(pair)
        self.add(f"lookup, {name}, median, ms", *(each.median for each in pair))
        self.add(f"lookup, {name}, 99th percentile, ms", *(each.p99 for each in pair))
        self.add(f"processor time of a lookup, {name}, all processes, ms", *(each.processor for each in pair))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--other", metavar="COMMIT", help="ab: commit to compare with the current one")


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Measure the current commit and the commit `--other` in turn; takes about a quarter of an hour."""
    if not options.other:
        raise CannotMeasure("Name the commit to compare with the current one by --other COMMIT.")
    given = {
        name: getattr(options, name) for name in ("books", "rounds", "seconds") if getattr(options, name)
    }
    chosen = replace(Options(options.other), **given)
    with tempfile.TemporaryDirectory(prefix="bookprint-ab-") as temporary:
        folder = Path(temporary)
        checkout = other_checkout(chosen.other, folder / "other-checkout")
        sides = (
            Side("this", this_checkout(), folder / "this-kernels"),
            Side("other", checkout, folder / "other-kernels"),
        )
        figures = Figures()
        over_http(sides, folder, chosen, figures)
        same_signatures = signing(sides, folder, chosen.rounds, figures)
        starting(sides, folder, chosen.rounds, figures)
    return section(sides, chosen, figures, same_signatures)


def over_http(sides: Sides, folder: Path, options: Options, figures: Figures) -> None:
    """Load a library on each side, start both services, and measure them round by round."""
    for side in sides:
        (folder / side.name).mkdir()
        side.run(folder, "load", folder / side.name, str(options.books), seconds=_LOAD_SECONDS)
    library = Library(options.books)
    closed = lookups(library, _QUERIES["d = 7"], rate=None, connections=_CONNECTIONS)
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
            for name, query in _QUERIES.items():
                figures.look_up(name, meters, library, query)
            rates = [meter.measure(closed).rate for meter in meters]
            figures.add(f"closed loop of {_CONNECTIONS}, d = 7, lookups/s", *rates)
            (this, spent), (other, other_spent) = (_posting(each, number, options) for each in services)
            figures.add("POST of a 600 KB text, median, ms", this, other)
            figures.add("processor time of that POST, all processes, ms", spent, other_spent)
            related = [_relating(service, number, options) for service in services]
            figures.add("processor time of a book with five relatives, related, ms", *related)


def _posting(service: Service, number: int, options: Options) -> tuple[float, float]:
    """Return the milliseconds of a post, and its processor milliseconds including background work."""
    books = synthetic_library(_SEED + number, works=options.posts, copies=(0, 0), characters=_CHARACTERS)
    bodies = [orjson.dumps({"text": book.text}) for book in books]
    seconds: list[float] = []

    def send(client: httpx.Client) -> list[str]:
        ids = []
        for body in bodies:
            began = time.perf_counter()
            ids.append(post(client, body))
            seconds.append(time.perf_counter() - began)
        return ids

    spent = _spent(service, send, options.idle)
    return 1000 * statistics.median(seconds), 1000 * spent / len(bodies)


def _relating(service: Service, number: int, options: Options) -> float:
    """Return the processor milliseconds of a book with five relatives: sign, store, index, relate."""
    books = synthetic_library(
        1000 + _SEED + number,
        works=options.works,
        copies=(_RELATIVES, _RELATIVES),
        characters=_CHARACTERS,
        edited=0.02,
        sharing=0.0,
    )
    bodies = [orjson.dumps({"pages": book.pages, "title": book.title, "year": book.year}) for book in books]

    def send(client: httpx.Client) -> list[str]:
        with ThreadPoolExecutor(_CLIENTS) as clients:
            return list(clients.map(lambda body: post(client, body), bodies))

    return 1000 * _spent(service, send, options.idle) / len(bodies)


def _spent(service: Service, send: Callable[[httpx.Client], list[str]], idle: float) -> float:
    """Return the processor seconds of posts and their jobs, less those of an idle service.

    The books are deleted afterwards.
    """
    with service.client() as client:
        before = processor_seconds(service.process)
        time.sleep(idle)
        started, rested = time.perf_counter(), processor_seconds(service.process)
        ids = send(client)
        await_jobs(client)
        lasted, spent = time.perf_counter() - started, processor_seconds(service.process) - rested
        for book_id in ids:
            client.delete(f"/v1/books/{book_id}").raise_for_status()
        await_jobs(client)
    return spent - (rested - before) / idle * lasted


def signing(sides: Sides, folder: Path, rounds: int, figures: Figures) -> bool:
    """Time all signatures of a text in both environments; return whether they are bit-identical."""
    books = synthetic_library(_SEED, works=_SIGNED, copies=(0, 0), characters=_CHARACTERS)
    texts, out = folder / "texts.json", folder / "signed.json"
    texts.write_text(json.dumps([book.text for book in books]), encoding="utf-8")
    digests: set[str] = set()
    for _ in range(rounds):
        medians = []
        for side in sides:
            side.run(folder, "sign", texts, out, seconds=_SIGN_SECONDS)
            signed = json.loads(out.read_text(encoding="utf-8"))
            medians.append(statistics.median(signed["milliseconds"]))
            digests.add(signed["digest"])
        figures.add("all signatures of a 600 KB text, ms", *medians)
    return len(digests) == 1


def starting(sides: Sides, folder: Path, rounds: int, figures: Figures) -> None:
    """Start each side with a new data folder and without kernels, then start it again."""
    for _ in range(rounds):
        seconds: list[list[float]] = []
        for side in sides:
            with tempfile.TemporaryDirectory(dir=folder, prefix=f"start-{side.name}-") as data_dir:
                caches, starts = {"XDG_CACHE_HOME": f"{data_dir}/caches"}, []
                for _ in range(2):
                    with running(Path(data_dir), checkout=side.checkout, environment=caches) as service:
                        starts.append(service.start_seconds)
                seconds.append(starts)
        for name, (this, other) in zip(("first", "second"), zip(*seconds, strict=True), strict=True):
            figures.add(f"start to ready, {name}, s", this, other)


def section(sides: Sides, options: Options, figures: Figures, same_signatures: bool) -> Section:
    """Return the figures of both commits, their ratios, and every round."""
    this, other = (side.checkout.commit for side in sides)
    medians: list[list[Cell]] = []
    for name, pairs in figures.rounds.items():
        ratios = [one / two for one, two in pairs]
        middles = [statistics.median(side) for side in (*zip(*pairs, strict=True), ratios)]
        medians.append([name, *middles, f"{min(ratios):.2f}–{max(ratios):.2f}"])
    answers: list[list[Cell]] = []
    for name, rounds in figures.answers.items():
        seen = list(zip(*rounds, strict=True))
        hits = (statistics.fmean(each.hits for each in side) for side in seen)
        answers.append([name, *hits, *(sum(each.failed for each in side) for side in seen)])
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
                [
                    [name, *(f"{one:.4g} / {two:.4g}" for one, two in pairs)]
                    for name, pairs in figures.rounds.items()
                ],
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
