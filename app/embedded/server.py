"""Base class of the embedded servers, the memory of the machine, and the folder for sockets."""

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
    """An embedded server did not start. The message ends with the last lines of its log."""


class Server(ABC):
    """A server that runs as a child of this process, with data in `folder` and its socket in `sockets`."""

    name: ClassVar[str]  # also the name of the process, by which orphans are found
    stop_steps: ClassVar[Steps]
    user: User | None = None  # user of the server; None: the user of this process

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
        """Prepare the folder for a start. No process runs in it."""
        self.folder.mkdir(mode=0o700, exist_ok=True)

    def launch(self) -> None:
        """Remove the remains of an earlier process and start the server. Does not wait until it answers."""
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
        """Wait until the server answers; raises ServerFailed if it ends or `timeout` seconds pass."""
        deadline = time.monotonic() + timeout
        while not self.answers():
            if self.exit_status() is not None:
                raise self.failure("ended while starting")
            if time.monotonic() > deadline:
                raise self.failure(f"did not answer within {timeout:.0f} s")
            time.sleep(0.01)

    def stop(self) -> None:
        """End the server and everything it forked, if necessary by force. Does nothing if it does not run."""
        if self._process is not None:
            end(self._process, self.stop_steps)
            self._process = None
        end_orphans(self.folder, self.name, self.stop_steps)

    @property
    def pid(self) -> int | None:
        """The process id of the server; None if it was not launched."""
        return self._process.pid if self._process is not None else None

    def exit_status(self) -> int | None:
        """Reap the server if it has ended. Returns its status (negative: a signal), or None while it runs."""
        return self._process.poll() if self._process is not None else 0

    def logged(self) -> bytes:
        """Return the server's log since its last launch."""
        with self.log_file.open("rb") as log:
            log.seek(self._log_start)
            return log.read()

    def turn_log(self) -> None:
        """Start a new log if the log is large. The old log is kept beside it.

        The server keeps writing to the same file, so lines that it writes during the copy may be lost.
        """
        if self.log_file.stat().st_size <= _LARGEST_LOG:
            return
        try:
            shutil.copyfile(self.log_file, self._old_log)
        finally:  # also if the disk is full
            os.truncate(self.log_file, 0)
            self._log_start = 0

    def failure(self, event: str) -> ServerFailed:
        """Return an error that names the event and contains the end of the log."""
        lines = self.log_file.read_text(errors="replace").splitlines()[-12:] if self.log_file.exists() else []
        return ServerFailed("\n  ".join([f"{self.name} {event}; the end of {self.log_file}:", *lines]))

    def _open_log(self) -> IO[bytes]:
        self.log_file.parent.mkdir(mode=0o700, exist_ok=True)
        if self.log_file.exists() and self.log_file.stat().st_size > _LARGEST_LOG:
            self.log_file.replace(self._old_log)
        return self.log_file.open("ab")


_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),  # version 1
)
"""Files in which Linux states the memory limit of a container in bytes."""

_LONGEST_SOCKETS = 80  # bytes; with the longest name, `.s.PGSQL.5432.lock`, under the limit of 104
_PREFIX = "bookprint-sockets-"


def memory() -> int:
    """Return the memory of this machine in bytes, or the limit of its container if that is less."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _LIMITS:
        # There is no container, or it has no limit ("max").
        with suppress(OSError, ValueError):
            sizes.append(int(path.read_text()))
    return min(sizes)


class SocketFolder:
    """A new folder that only this user can enter, in the temporary folder or, if that path is long, in /tmp.

    The folder is locked while this process lives. Folders of killed processes are removed when the next
    folder is made.
    """

    def __init__(self) -> None:
        parents = (Path(tempfile.gettempdir()).resolve(), Path("/tmp").resolve())
        parent = next(
            each for each in parents if len(os.fsencode(each)) + 1 + len(_PREFIX) + 8 <= _LONGEST_SOCKETS
        )
        for folder in parent.glob(f"{_PREFIX}*"):
            with suppress(OSError):  # in use, another user's, or already removed
                os.close(_locked(folder))
                shutil.rmtree(folder, ignore_errors=True)
        fresh = Path(tempfile.mkdtemp(prefix="bookprint-new-", dir=parent))
        self._lock = _locked(fresh)
        # Renamed only after it is locked; otherwise another starting process could remove it.
        self.path = fresh.rename(parent / fresh.name.replace("bookprint-new-", _PREFIX))

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _locked(folder: Path) -> int:
    """Lock a folder and return its descriptor; raises OSError if another process holds the lock."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
