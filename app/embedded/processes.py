"""Starting, finding and ending operating-system processes."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import psutil

from app.embedded import identity as identities
from app.embedded.identity import Identity

Steps = Sequence[tuple[signal.Signals, float]]  # signals in turn, each with the seconds granted to it

_EXEC_AS = Path(__file__).with_name("exec_as.py")
_MARK = "BOOKPRINT_SERVED_FROM"
_SECONDS_TO_DIE = 3.0


def spawn(
    command: Sequence[str | Path],
    *,
    folder: Path,
    environment: Mapping[str, str],
    death_signal: signal.Signals,
    identity: Identity | None = None,
    output: IO[bytes] | int | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command as the leader of its own session, in `folder`, with just this environment."""
    return subprocess.Popen(
        exec_as_command(command, folder=folder, death_signal=death_signal, identity=identity),
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output is not None else None,
        start_new_session=True,
    )


def exec_as_command(
    command: Sequence[str | Path],
    *,
    folder: Path,
    death_signal: signal.Signals,
    identity: Identity | None = None,
) -> list[str | Path]:
    """The command line that becomes `command` in the folder, as that identity.

    When this process is killed the command gets `death_signal` (Linux). The kernel ties that to the starting
    thread, so it is arranged only from the main thread, which lasts as long as the process.
    """
    guarded = threading.current_thread() is threading.main_thread()
    parent = str(os.getpid() if guarded else 0)
    exec_as = (identity or identities.ourselves()).exec_as
    settings = (parent, str(int(death_signal)), exec_as, folder)
    return [sys.executable, "-I", "-S", _EXEC_AS, *settings, *command]


def plain_environment() -> dict[str, str]:
    """An environment for the servers that holds no setting of the user's shell."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def processes_in(folder: Path, name: str) -> list[psutil.Process]:
    """Living processes called `name` whose working directory is `folder`: a server and its forks."""
    processes = psutil.process_iter(["name", "cwd", "status"])
    here = {"name": name, "cwd": str(folder.resolve())}
    return [
        process
        for process in processes
        if here.items() <= process.info.items() and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def mark(data_dir: Path) -> dict[str, str]:
    """An environment variable that all offspring inherit; the next launcher finds survivors by it."""
    return {_MARK: str(data_dir)}


def marked_processes(data_dir: Path) -> list[psutil.Process]:
    """Living processes that carry the mark of `data_dir`, without ourselves and our ancestors."""
    family = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    marked = []
    for process in psutil.process_iter():
        try:
            if process.pid not in family and process.environ().get(_MARK) == str(data_dir):
                marked.append(process)
        except (psutil.Error, OSError):
            continue
    return marked


def kill(processes: Sequence[psutil.Process]) -> None:
    """Kill processes and wait until they are gone."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _wait_until_dead(processes, _SECONDS_TO_DIE)


def end_orphans(folder: Path, name: str, steps: Steps) -> None:
    """Stop the server that an earlier, killed launcher left running in `folder`.

    Signals go to the server itself; SIGKILL, the last, goes to its forks as well.
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
        _wait_until_dead(family, seconds)


def _wait_until_dead(processes: Sequence[psutil.Process], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while any(map(is_alive, processes)) and time.monotonic() < deadline:
        time.sleep(0.01)


def is_alive(process: psutil.Process) -> bool:
    """Whether the process runs; one that has ended and waits to be reaped does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


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
