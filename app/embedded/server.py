"""What the two embedded servers have in common."""

import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO, ClassVar

from app.embedded import identity as identities
from app.embedded.identity import Identity
from app.embedded.processes import Steps, end, end_orphans, plain_environment, spawn

_LARGEST_LOG = 10_000_000  # bytes


class ServerFailed(RuntimeError):
    """An embedded server did not come up; the message ends with the last lines of its log."""


class Server(ABC):
    """A server that runs as our child with its data in `folder` and its socket in `sockets`."""

    name: ClassVar[str]  # also the process's name, by which orphans are found
    stop_steps: ClassVar[Steps]

    def __init__(self, folder: Path, sockets: Path, logs: Path) -> None:
        self.folder = folder
        self.log_file = logs / f"{folder.name}.log"
        self._sockets = sockets
        self.process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients reach the server."""

    @abstractmethod
    def command(self) -> list[str | Path]:
        """The server's command line."""

    @abstractmethod
    def wait_ready(self, timeout: float) -> None:
        """Return when the server answers; raise ServerFailed when it died or `timeout` seconds are over."""

    def prepare(self) -> None:
        """Make the folder ready for a start; no process is alive in it."""
        self.folder.mkdir(mode=0o700, exist_ok=True)

    def identity(self) -> Identity:
        """As whom the server runs."""
        return identities.ourselves()

    def launch(self) -> None:
        """Clear what an earlier life left behind and start the server, without waiting until it answers."""
        self.stop()
        self.prepare()
        with self._open_log() as log:
            self.process = spawn(
                self.command(),
                folder=self.folder,
                environment=plain_environment(),
                death_signal=self.stop_steps[0][0],
                identity=self.identity(),
                output=log,
            )

    def stop(self) -> None:
        """End the server and everything it forked, by force if need be; harmless when it is not running."""
        if self.process is not None:
            end(self.process, self.stop_steps)
            self.process = None
        end_orphans(self.folder, self.name, self.stop_steps)

    @property
    def pid(self) -> int | None:
        """The server's process id; None when it was not launched."""
        return self.process.pid if self.process is not None else None

    def exit_status(self) -> int | None:
        """None while the server runs, else its status (negative: the signal that killed it); reaps it."""
        return self.process.poll() if self.process is not None else 0

    def failure(self, what: str) -> ServerFailed:
        """An error that says what happened, with the end of the log."""
        lines = self.log_file.read_text(errors="replace").splitlines()[-12:] if self.log_file.exists() else []
        return ServerFailed("\n  ".join([f"{self.name} {what}; the end of {self.log_file}:", *lines]))

    def _open_log(self) -> IO[bytes]:
        self.log_file.parent.mkdir(mode=0o700, exist_ok=True)
        if self.log_file.exists() and self.log_file.stat().st_size > _LARGEST_LOG:
            self.log_file.replace(self.log_file.with_suffix(".old.log"))
        return self.log_file.open("ab")
