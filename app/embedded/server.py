"""Base class of the two embedded servers, and what the machine offers them: memory, a place for sockets."""

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import IO, ClassVar

from app.embedded.processes import Steps, User, end, end_orphans, plain_environment, spawn

_LARGEST_LOG = 10_000_000  # bytes


class ServerFailed(RuntimeError):
    """An embedded server did not come up; the message ends with the last lines of its log."""


class Server(ABC):
    """A server that runs as our child with its data in `folder` and its socket in `sockets`."""

    name: ClassVar[str]  # also the process's name, by which orphans are found
    stop_steps: ClassVar[Steps]
    user: User | None = None  # that it runs as; None: the user of this process

    def __init__(self, folder: Path, sockets: Path, logs: Path) -> None:
        self.folder = folder
        self.log_file = logs / f"{folder.name}.log"
        self._old_log = self.log_file.with_suffix(".old.log")
        self._sockets = sockets
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0  # where the log of the last launch begins

    @property
    @abstractmethod
    def url(self) -> str:
        """The address at which clients reach the server."""

    @abstractmethod
    def command(self) -> list[str | Path]:
        """Return the server's command line."""

    @abstractmethod
    def answers(self) -> bool:
        """Return whether the server can be used now."""

    def prepare(self) -> None:
        """Make the folder ready for a start; no process is alive in it."""
        self.folder.mkdir(mode=0o700, exist_ok=True)

    def launch(self) -> None:
        """Clear the remains of an earlier process and start the server, without waiting until it answers."""
        self.stop()
        self.prepare()
        with self._open_log() as log:
            self._log_start = log.tell()
            self._process = spawn(
                self.command(),
                folder=self.folder,
                environment=plain_environment(),
                death_signal=self.stop_steps[0][0],
                user=self.user,
                output=log,
            )

    def wait_ready(self, timeout: float) -> None:
        """Return when the server answers; raise ServerFailed when it ended or `timeout` seconds are over."""
        deadline = time.monotonic() + timeout
        while not self.answers():
            if self.exit_status() is not None:
                raise self.failure("ended while starting")
            if time.monotonic() > deadline:
                raise self.failure(f"did not answer within {timeout:.0f} s")
            time.sleep(0.01)

    def stop(self) -> None:
        """End the server and everything it forked, by force if need be; harmless when it is not running."""
        if self._process is not None:
            end(self._process, self.stop_steps)
            self._process = None
        end_orphans(self.folder, self.name, self.stop_steps)

    @property
    def pid(self) -> int | None:
        """The server's process id; None when it was not launched."""
        return self._process.pid if self._process is not None else None

    def exit_status(self) -> int | None:
        """None while the server runs, else its status (negative: the signal that killed it); reaps it."""
        return self._process.poll() if self._process is not None else 0

    def logged(self) -> bytes:
        """Return the server's log since its last launch."""
        with self.log_file.open("rb") as log:
            log.seek(self._log_start)
            return log.read()

    def turn_log(self) -> None:
        """Start a new log if it is large; the old one is kept beside it.

        The server goes on writing to the same file, so what it writes meanwhile may be lost.
        """
        if self.log_file.stat().st_size <= _LARGEST_LOG:
            return
        try:
            shutil.copyfile(self.log_file, self._old_log)
        finally:  # above all on a full disk
            os.truncate(self.log_file, 0)
            self._log_start = 0

    def failure(self, event: str) -> ServerFailed:
        """Return an error that names the event, with the end of the log."""
        lines = self.log_file.read_text(errors="replace").splitlines()[-12:] if self.log_file.exists() else []
        return ServerFailed("\n  ".join([f"{self.name} {event}; the end of {self.log_file}:", *lines]))

    def _open_log(self) -> IO[bytes]:
        self.log_file.parent.mkdir(mode=0o700, exist_ok=True)
        if self.log_file.exists() and self.log_file.stat().st_size > _LARGEST_LOG:
            self.log_file.replace(self._old_log)
        return self.log_file.open("ab")


_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),  # before version 2
)
"""The file in which Linux states how many bytes the processes of a container may take."""

_LONGEST_SOCKETS = 80  # bytes; paths of sockets stay under 104 with the longest name, `.s.PGSQL.5432.lock`
_PREFIX = "bookprint-sockets-"


def memory() -> int:
    """Return bytes that this machine has, or that its container allows if that is less."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _LIMITS:
        # No container, or one without a limit, which says "max".
        with suppress(OSError, ValueError):
            sizes.append(int(path.read_text()))
    return min(sizes)


class SocketFolder:
    """A new folder that only this user can enter, in the temporary folder or, if that is long, in /tmp.

    It is locked as long as this process lives; folders whose processes were killed are removed with the next
    one that is made.
    """

    def __init__(self) -> None:
        parents = (Path(tempfile.gettempdir()).resolve(), Path("/tmp").resolve())
        parent = next(
            each for each in parents if len(os.fsencode(each)) + 1 + len(_PREFIX) + 8 <= _LONGEST_SOCKETS
        )
        for folder in parent.glob(f"{_PREFIX}*"):
            with suppress(OSError):  # it is in use, another user's, or just gone
                os.close(_locked(folder))
                shutil.rmtree(folder, ignore_errors=True)
        fresh = Path(tempfile.mkdtemp(prefix="bookprint-new-", dir=parent))
        self._lock = _locked(fresh)
        # Named only now that it is locked: else another process that starts could take it for one left over.
        self.path = fresh.rename(parent / fresh.name.replace("bookprint-new-", _PREFIX))

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _locked(folder: Path) -> int:
    """Return a descriptor that holds the lock of a folder; OSError where another process holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
