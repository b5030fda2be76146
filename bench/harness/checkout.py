"""Checkouts of this repository: the current one, and another commit with its own environment.

Every process started here ends with the current process, even if that is killed.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

from app.embedded.processes import end, spawn
from bench.harness.report import CannotMeasure

ROOT = Path(__file__).resolve().parents[2]

_NOT_PASSED_ON = {
    *("DATABASE_URL", "REDIS_URL", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"),
    *("NUMBA_CACHE_DIR", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"),
}
_SECONDS_TO_END = 30.0
_LOCK = "requirements-run.lock"
_PR_SET_PDEATHSIG = 1
_WHOLE_GROUP = 'trap "trap - TERM; kill 0" TERM; "$@" & wait $!'
"""A shell script that passes SIGTERM to all processes started by the command."""


def processes(count: int | None = None, *, start: Literal["fork", "spawn"] = "fork") -> ProcessPoolExecutor:
    """Return a pool of processes, by default one per core; call this in the main thread."""
    context = get_context(start)
    return ProcessPoolExecutor(count, mp_context=context, initializer=_end_with, initargs=(os.getpid(),))


def _end_with(parent: int) -> None:
    """Let the kernel kill this process when its parent thread ends (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


@dataclass(frozen=True, slots=True)
class Checkout:
    """Sources, and the interpreter that runs them."""

    commit: str
    folder: Path
    python: Path

    @contextmanager
    def started(
        self, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start a process with this checkout's sources and no external servers, with output in the log."""
        kept = {key: value for key, value in os.environ.items() if key not in _NOT_PASSED_ON}
        kept["PYTHONPATH"] = os.pathsep.join(map(str, (self.folder, self.folder / "client")))
        with log.open("ab") as output:
            process = spawn(
                command,
                folder=self.folder,
                environment=kept | dict(environment or {}),
                death_signal=signal.SIGTERM,
                output=output,
            )
        try:
            yield process
        finally:
            end(process, [(signal.SIGTERM, _SECONDS_TO_END)])

    def run(
        self,
        command: Sequence[str | Path],
        log: Path,
        *,
        seconds: float,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Run a command; raises CannotMeasure if it fails or takes longer than `seconds`."""
        with self.started(command, log, environment) as process:
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                raise CannotMeasure(f"{command[-1]} of {self.commit} took over {seconds:.0f} s.") from None
        if status:
            raise CannotMeasure(f"{self.commit} did not run {' '.join(map(str, command))}:\n{tail(log)}")


def tail(log: Path) -> str:
    """Return the last 4,000 characters of a log."""
    return log.read_text(encoding="utf-8", errors="replace")[-4000:]


def this_checkout() -> Checkout:
    """Return the sources of this process, including uncommitted changes."""
    commit = _git("rev-parse", "--short", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return Checkout(f"{commit} with changes" if changed else commit, ROOT, Path(sys.executable))


def other_checkout(commit: str, folder: Path) -> Checkout:
    """Unpack the sources of a commit into this folder, and install the distributions of its lock.

    If its lock equals ours, use our environment.
    """
    name = _git("rev-parse", "--short", f"{commit}^{{commit}}")
    archive = folder.with_suffix(".zip")
    _git("archive", f"--output={archive}", name)
    shutil.unpack_archive(archive, folder)
    archive.unlink()
    if (ROOT / _LOCK).read_bytes() == (folder / _LOCK).read_bytes():
        return Checkout(name, folder, Path(sys.executable))
    checkout = Checkout(name, folder, folder / ".venv" / "bin" / "python")
    make = ["/bin/sh", "-c", _WHOLE_GROUP, "sh", "/bin/sh", "tools/make-venv", ".venv"]
    # The base interpreter of our environment, so both sides run one Python.
    python = {"PYTHON": getattr(sys, "_base_executable", sys.executable)}
    checkout.run(make, folder / "make-venv.log", seconds=900, environment=python)
    return checkout


def _git(*arguments: str) -> str:
    completed = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
    if completed.returncode:
        raise CannotMeasure(f"git {' '.join(arguments)}: {completed.stderr.strip()}")
    return completed.stdout.strip()
