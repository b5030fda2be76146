"""API processes replaced by SIGHUP, and killed, under lookups and posts: what fails, and what is lost.

A run goes on until it has replaced as many processes as `--rounds` says, or for `--seconds`, and adds a row
to those of earlier runs; delete results/replacing.json to begin anew. A request may fail if its connection
was that of a process when it was killed. Such a process is stopped first, so that it takes no more
connections once its own are listed.
"""

import argparse
import json
import random
import re
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import psutil

from app.synthesis.library import synthetic_library
from bench.data.bulk_load import Library, opened, reconcile
from bench.harness.checkout import this_checkout
from bench.harness.driver import Loss, Outcome, Stream, drive, post
from bench.harness.report import CannotMeasure, Cell, Section, Table
from bench.harness.service import Service
from bench.load.lookups import lookups, served
from bench.load.overload import lost

_BOOKS, _REPLACED, _SECONDS = 1_000, 1_000, 3_600.0
_PROCESSES = 8
_KILL_EVERY = 6  # restarts
_SPELL_SECONDS = 30.0  # of load
_LOOKING_UP, _LOOKUPS_A_SECOND = 4, 25.0  # clients, each on one connection, and what each asks
_POSTING, _POSTS_A_SECOND = 2, 5.0
_CHARACTERS = 3_000
_RESTART_SECONDS = 150.0
_LOSS_SECONDS = 2.0  # from a kill until its clients have noticed
_POLL_SECONDS = 0.1
_NOT_READY, _REPLACED_API = "did not get ready", r"api \d+ is replaced"
_SUMMED = (
    *("restarts", "given up", "processes replaced", "killed", "lookups", "posts"),
    *("failed in a killed process", "failed otherwise", "books acknowledged", "of these lost"),
)
_SINGLE = ("restart, s", "longest, s", "supervisor, MB", "its descriptors", "all, MB", "processes")


@dataclass(frozen=True, slots=True)
class _Kill:
    at: float  # by `time.perf_counter`
    ports: frozenset[int]  # of the clients whose connections it had

    def explains(self, loss: Loss) -> bool:
        """Whether a request was lost because it was under way in the process that was killed."""
        return loss.port in self.ports and self.at <= loss.at <= self.at + _LOSS_SECONDS


@dataclass(slots=True)
class _Seen:
    """What became of the processes and of the requests of a run."""

    seconds: list[float] = field(default_factory=list)  # of each restart
    given_up: int = 0  # restarts of which a new process was killed before it was ready
    kills: list[_Kill] = field(default_factory=list)
    lookups: list[Outcome] = field(default_factory=list)
    posts: list[Outcome] = field(default_factory=list)

    def failures(self) -> tuple[int, int]:
        """Requests that failed in a killed process, and those that failed otherwise."""
        outcomes = [*self.lookups, *self.posts]
        losses = [loss for outcome in outcomes for loss in outcome.losses]
        explained = sum(any(kill.explains(loss) for kill in self.kills) for loss in losses)
        answers = [status for each in outcomes for status in each.statuses.elements() if status]
        refused = sum(status not in (200, 201) for status in answers)
        unanswered = sum(outcome.unanswered for outcome in outcomes)
        return explained, len(losses) - explained + refused + unanswered


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Replace and kill processes of a service with `--books`, and add a row to the result."""
    library = Library(options.books or _BOOKS)
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = stack.enter_context(opened(library, folder))
        reconcile(servers)
        processes = ("--processes", str(_PROCESSES), "--workers", "1")
        data_dir = folder / library.name / "replacing"
        service = stack.enter_context(served(servers, data_dir, None, *processes))
        restarts = -(-(options.rounds or _REPLACED) // _PROCESSES)
        row = _measure(service, library, data_dir / "serve.log", restarts, options.seconds or _SECONDS)
    kept = out_dir / "replacing.json"
    earlier = json.loads(kept.read_text(encoding="utf-8"))["tables"][0]["rows"][:-1] if kept.exists() else []
    return _section([*earlier, row], library)


def _measure(service: Service, library: Library, log: Path, restarts: int, seconds: float) -> list[Cell]:
    """Restart and kill under load until either bound is reached; the row of this run."""
    seen, over = _Seen(), threading.Event()
    before, replaced = _weighed(service), _times(log, _REPLACED_API)
    ends_at = time.perf_counter() + seconds
    with ThreadPoolExecutor(1) as load:
        loading = load.submit(_load, service, library, seen, over)
        try:
            while len(seen.seconds) < restarts and not loading.done():
                if time.perf_counter() + 2 * max(seen.seconds, default=0.0) > ends_at:
                    break
                _restart(service, seen, log)
        finally:
            over.set()
        loading.result()
    after = _weighed(service)
    in_killed, otherwise = seen.failures()
    acknowledged = [book_id for outcome in seen.posts for book_id in outcome.ids]
    row: list[Cell] = [
        this_checkout().commit,
        len(seen.seconds),
        seen.given_up,
        _times(log, _REPLACED_API) - replaced,
        len(seen.kills),
        sum(outcome.statuses.total() for outcome in seen.lookups),
        sum(outcome.statuses.total() for outcome in seen.posts),
        in_killed,
        otherwise,
        len(acknowledged),
        lost(service.url, acknowledged),
        round(statistics.median(seen.seconds), 1),
        round(max(seen.seconds), 1),
        *(f"{old} → {new}" for old, new in zip(before, after, strict=True)),
    ]
    print(f"  {dict(zip(_SUMMED + _SINGLE, row[1:], strict=True))}", flush=True)
    return row


def _load(service: Service, library: Library, seen: _Seen, over: threading.Event) -> None:
    """Look up and post in spells until told that it is over."""
    asked = [lookups(library, "?d=7", rate=_LOOKUPS_A_SECOND, connections=1)] * _LOOKING_UP
    while not over.is_set():
        posted = [_posts(time.time_ns() >> 10) for _ in range(_POSTING)]
        outcomes = drive(service.address, [*asked, *posted], seconds=_SPELL_SECONDS, warm_up=0.0)
        seen.lookups += outcomes[:_LOOKING_UP]
        seen.posts += outcomes[_LOOKING_UP:]


def _posts(seed: int) -> Stream:
    works, size = int(_POSTS_A_SECOND * (_SPELL_SECONDS + 1)), (_CHARACTERS, _CHARACTERS)
    books = synthetic_library(seed, works=works, copies=(0, 0), characters=size)
    bodies = [post("/v1/books", orjson.dumps({"text": book.text})) for book in books]
    return Stream("posts", bodies, connections=1, rate=_POSTS_A_SECOND)


def _restart(service: Service, seen: _Seen, log: Path) -> None:
    """Replace all processes, and kill one of the API at a random moment where it is the turn for that."""
    chance = random.Random(len(seen.seconds))
    old, complaints = _forks(service), _times(log, _NOT_READY)
    began = time.perf_counter()
    kill_at = None
    if len(seen.seconds) % _KILL_EVERY == _KILL_EVERY // 2:
        kill_at = began + chance.uniform(0, 1.2 * max(seen.seconds[-_KILL_EVERY:]))
    service.process.send_signal(signal.SIGHUP)
    while True:
        time.sleep(_POLL_SECONDS)
        now = time.perf_counter()
        if kill_at is not None and now >= kill_at:
            kill_at = None
            seen.kills.append(_kill(chance.choice(_apis(service))))
        if now - began > _RESTART_SECONDS:
            raise CannotMeasure(f"A restart took over {_RESTART_SECONDS:.0f} s.")
        given_up = _times(log, _NOT_READY) > complaints
        if kill_at is None and (given_up or not old & _forks(service)) and len(_apis(service)) == _PROCESSES:
            seen.given_up += given_up
            seen.seconds.append(now - began)
            return


def _kill(victim: psutil.Process) -> _Kill:
    victim.suspend()
    ports = frozenset(
        each.raddr.port for each in victim.net_connections("tcp") if each.status != psutil.CONN_LISTEN
    )
    kill = _Kill(time.perf_counter(), ports)
    victim.kill()
    return kill


def _times(log: Path, words: str) -> int:
    return len(re.findall(words, log.read_text(encoding="utf-8")))


def _apis(service: Service) -> list[psutil.Process]:
    return [process for process, name in _family(service).items() if name.startswith("api ")]


def _forks(service: Service) -> set[psutil.Process]:
    """The processes that a restart replaces."""
    names = ("api ", "worker ", "delivery")
    return {process for process, name in _family(service).items() if name.startswith(names)}


def _family(service: Service) -> dict[psutil.Process, str]:
    """The processes of a service that run, and their names."""
    found: dict[psutil.Process, str] = {}
    for process in service.process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                found[process] = process.name()
    return found


def _weighed(service: Service) -> tuple[int, int, int, int]:
    """Memory and descriptors of the supervisor, memory of all processes, and how many these are."""
    while len(_apis(service)) < _PROCESSES:
        time.sleep(_POLL_SECONDS)
    supervisor, *forks = (each.memory_full_info().pss for each in (service.process, *_family(service)))
    whole = supervisor + sum(forks)
    return round(supervisor / 1e6), service.process.num_fds(), round(whole / 1e6), 1 + len(forks)


def _section(rows: Sequence[Sequence[Cell]], library: Library) -> Section:
    total = [sum(int(row[column] or 0) for row in rows) for column in range(1, 1 + len(_SUMMED))]
    return Section(
        title="API processes replaced and killed under load",
        command="python -m bench replacing",
        tables=[
            Table(
                ["commit", *_SUMMED, *_SINGLE],
                [*rows, ["all", *total, *("" for _ in _SINGLE)]],
                f"{_PROCESSES} API processes, {library.books:,} books; a row for each run",
            )
        ],
        notes=[
            f"SIGHUP starts another process that forks and replaces {_PROCESSES} API processes one by one. "
            f"Meanwhile {_LOOKING_UP} clients each look up {_LOOKUPS_A_SECOND:g} books a second, and "
            f"{_POSTING} each post {_POSTS_A_SECOND:g}, on connections that are kept. In each "
            f"{_KILL_EVERY}th restart an API process is killed at a random moment; if that is the new one, "
            "the restart is given up. A request failed in a killed process if its connection was open "
            "there. A refusal counts as failed. At the "
            "end all books acknowledged are read, and looked for by their fingerprints. Memory (PSS), "
            "descriptors and processes are those at the beginning and at the end."
        ],
    )
