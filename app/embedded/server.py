"""Base class of the two embedded servers."""

import os
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
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
        """The server's command line."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server can be used now."""

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
        """The server's log since its last launch."""
        with self.log_file.open("rb") as log:
            log.seek(self._log_start)
            return log.read()

    def turn_log(self) -> None:
        """Begin the log anew where it is large; the one before is kept beside it.

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
        """An error that names the event, with the end of the log."""
        lines = self.log_file.read_text(errors="replace").splitlines()[-12:] if self.log_file.exists() else []
        return ServerFailed("\n  ".join([f"{self.name} {event}; the end of {self.log_file}:", *lines]))

    def _open_log(self) -> IO[bytes]:
        self.log_file.parent.mkdir(mode=0o700, exist_ok=True)
        if self.log_file.exists() and self.log_file.stat().st_size > _LARGEST_LOG:
            self.log_file.replace(self._old_log)
        return self.log_file.open("ab")
