"""Starting, finding and ending operating-system processes, and what the two servers have in common."""

import os
import signal
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, ClassVar

import psutil

from app.embedded import identity as identities
from app.embedded.identity import Identity

Steps = Sequence[tuple[signal.Signals, float]]  # signals in turn, each with the seconds granted to it

_LAUNCH = Path(__file__).with_name("launch.py")
_SECONDS_TO_DIE = 3.0
_LARGEST_LOG = 10_000_000  # bytes


class ServerFailed(RuntimeError):
    """An embedded server did not come up; the message ends with the last lines of its log."""


def spawn(
    command: Sequence[str | Path],
    *,
    folder: Path,
    environment: Mapping[str, str],
    death_signal: signal.Signals,
    identity: Identity | None = None,
    output: IO[bytes] | int | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command as the leader of its own session, in `folder`, with just this environment.

    When this process is killed the child gets `death_signal` (Linux). The kernel ties that to the starting
    thread, so it is arranged only from the main thread, which lasts as long as the process.
    """
    guarded = threading.current_thread() is threading.main_thread()
    identity = identity or identities.ourselves()
    return subprocess.Popen(
        [
            *(sys.executable, "-I", "-S", _LAUNCH),
            *(str(os.getpid() if guarded else 0), str(int(death_signal)), identity.launch, folder),
            *command,
        ],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output is not None else None,
        start_new_session=True,
    )


def plain_environment() -> dict[str, str]:
    """An environment for the servers in which no setting of the user's shell can change how they behave."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def processes_in(folder: Path, name: str) -> list[psutil.Process]:
    """Living processes called `name` whose working directory is `folder`: a server and what it has forked."""
    home = str(folder.resolve())
    found = []
    for process in psutil.process_iter():
        try:
            if process.name() == name and process.status() != psutil.STATUS_ZOMBIE and process.cwd() == home:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def end_orphans(folder: Path, name: str, steps: Steps) -> None:
    """Stop the server that an earlier, killed launcher left running in `folder`.

    Signals go to the server itself, not to what it forked, except SIGKILL at the end.
    """
    for number, seconds in (*steps, (signal.SIGKILL, _SECONDS_TO_DIE)):
        family = processes_in(folder, name)
        if not family:
            return
        pids = {process.pid for process in family}
        for process in family:
            try:
                if number == signal.SIGKILL or process.ppid() not in pids:
                    process.send_signal(number)
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(family, timeout=seconds)


def end(process: subprocess.Popen[bytes], steps: Steps) -> None:
    """Stop and reap a child with the signals in turn, at last with SIGKILL."""
    for number, seconds in (*steps, (signal.SIGKILL, _SECONDS_TO_DIE)):
        if process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue


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
