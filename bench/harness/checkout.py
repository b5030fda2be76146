"""Checkouts of this repository: this one, and another commit beside it with an environment of its own.

Every process started here belongs to a session of its own and dies with this one, even when that is killed.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.embedded.processes import end, spawn
from bench.harness.report import CannotMeasure

ROOT = Path(__file__).resolve().parents[2]

_NOT_PASSED_ON = {
    *("DATABASE_URL", "REDIS_URL", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"),
    *("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"),
}
_SECONDS_TO_END = 30.0
_LOCK = "requirements-run.lock"
_WHOLE_GROUP = 'trap "trap - TERM; kill 0" TERM; "$@" & wait $!'
"""Passes SIGTERM on to all that the command has started."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """Sources, and an interpreter in whose environment they run."""

    commit: str
    folder: Path
    python: Path

    def environment(self) -> dict[str, str]:
        """The environment of its processes: its own sources first, and no servers of others."""
        kept = {key: value for key, value in os.environ.items() if key not in _NOT_PASSED_ON}
        return kept | {"PYTHONPATH": os.pathsep.join(map(str, (self.folder, self.folder / "client")))}

    @contextmanager
    def started(
        self, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A process of this checkout, ended on the way out; what it writes is added to the log."""
        with log.open("ab") as output:
            process = spawn(
                command,
                folder=self.folder,
                environment=self.environment() | dict(environment or {}),
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
        """Run a command to its end; raises CannotMeasure where it fails or takes longer than this."""
        with self.started(command, log, environment) as process:
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                raise CannotMeasure(f"{command[-1]} of {self.commit} took over {seconds:.0f} s.") from None
        if status:
            written = log.read_text(encoding="utf-8", errors="replace")
            raise CannotMeasure(
                f"{self.commit} did not run {' '.join(map(str, command))}:\n{written[-4000:]}"
            )


def this_checkout() -> Checkout:
    """The sources that this process runs, changes that are not committed included."""
    commit = _git("rev-parse", "--short", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return Checkout(f"{commit} with changes" if changed else commit, ROOT, Path(sys.executable))


def other_checkout(commit: str, folder: Path) -> Checkout:
    """The sources of a commit, unpacked into this folder, with what its lock names installed there.

    Where its lock equals ours, our environment serves it as well.
    """
    name = _git("rev-parse", "--short", f"{commit}^{{commit}}")
    archive = folder.with_suffix(".zip")
    _git("archive", f"--output={archive}", name)
    shutil.unpack_archive(archive, folder)
    archive.unlink()
    own_lock, other_lock = ((root / _LOCK).read_bytes() for root in (ROOT, folder))
    if own_lock == other_lock:
        return Checkout(name, folder, Path(sys.executable))
    checkout = Checkout(name, folder, folder / ".venv" / "bin" / "python")
    make = ["/bin/sh", "-c", _WHOLE_GROUP, "sh", "/bin/sh", "tools/make-venv", ".venv"]
    checkout.run(make, folder / "make-venv.log", seconds=900, environment={"PYTHON": _base_python()})
    return checkout


def _base_python() -> str:
    """The interpreter under our environment, so that both sides run the same Python."""
    return getattr(sys, "_base_executable", sys.executable)


def _git(*arguments: str) -> str:
    completed = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
    if completed.returncode:
        raise CannotMeasure(f"git {' '.join(arguments)}: {completed.stderr.strip()}")
    return completed.stdout.strip()
