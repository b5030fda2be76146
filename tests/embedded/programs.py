"""Programs that the tests start and kill: a launcher that holds servers, and a supervisor."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from app.embedded import Servers

ROOT = Path(__file__).parent.parent.parent

HOLD = """
    import signal, sys, threading
    from pathlib import Path
    from app.embedded import EmbeddedServers

    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.set())

    def hold():
        with EmbeddedServers(Path(sys.argv[1])) as servers:
            print(servers.database_url, servers.redis_url, flush=True)
            while not stopped.wait(0.1):
                pass
"""
HOLD_IN_MAIN_THREAD = HOLD + "    hold()"
HOLD_IN_OTHER_THREAD = HOLD + "    thread = threading.Thread(target=hold); thread.start(); thread.join()"


@dataclass
class Program:
    """A running program and the first line that it printed."""

    process: subprocess.Popen[str]
    words: list[str] = field(default_factory=list)

    @property
    def servers(self) -> Servers:
        return Servers(*self.words)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def running(
    source: str,
    *arguments: str | Path,
    prefix: Sequence[str | Path] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[Program]:
    """Run a program until the block ends; the block starts when it has printed a line."""
    process = subprocess.Popen(
        [*prefix, sys.executable, "-c", textwrap.dedent(source), *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ if environment is None else environment),
    )
    try:
        assert process.stdout is not None
        yield Program(process, process.stdout.readline().split())
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(100)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def sql(url: str, statement: str) -> object:
    """The first value of the answer, if there is one."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        result = connection.execute(text(statement))
        return result.scalar() if result.returns_rows else None


def is_named(process: psutil.Process, *names: str) -> bool:
    """Return whether a process has one of these names; one that has just ended has none."""
    try:
        return process.name() in names
    except psutil.Error:
        return False


def alive_in(data_dir: Path) -> list[psutil.Process]:
    """Living processes that work in the data folder."""
    alive = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(data_dir):
                alive.append(process)
        except (psutil.Error, OSError):
            continue
    return alive


def copy_of(data_dir: Path, parent: Path) -> Path:
    """A copy of a data folder whose servers are stopped."""
    return Path(shutil.copytree(data_dir, parent / "data"))
