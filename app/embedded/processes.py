"""Starting, finding and ending operating-system processes, and the user that each runs as.

PostgreSQL refuses root, and needs a user that the system has a name for.
"""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

Steps = Sequence[tuple[signal.Signals, float]]  # signals in turn, each with the seconds granted to it

_MARK = "BOOKPRINT_SERVED_FROM"
_SECONDS_TO_DIE = 3.0

_SERVER_USERS = ("postgres", "nobody")
"""Names of users that PostgreSQL may run as where root starts it, the preferred one first."""

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Folders of the system's programs; no other program is started."""

SETPRIV = shutil.which("setpriv", path=_PATH)
"""The program of util-linux that sets the user of a command and the end of its life; None: not installed."""

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class User:
    """A user of the system that owns a server's files and runs its process."""

    uid: int
    gid: int


def server_user() -> User | None:
    """Return the user that a root process runs PostgreSQL as; None: the user of this process."""
    if os.geteuid() != 0:
        return None
    for name in _SERVER_USERS:
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return User(entry.pw_uid, entry.pw_gid)
    raise RuntimeError(f"None of the users {', '.join(_SERVER_USERS)} exists.")


def give(folder: Path, user: User | None) -> None:
    """Make the folder and all within it belong to the user, where one is named."""
    if user is None:
        return
    for parent, folders, files in os.walk(folder):
        for path in (parent, *(os.path.join(parent, name) for name in (*folders, *files))):
            status = os.lstat(path)
            if (status.st_uid, status.st_gid) != (user.uid, user.gid):
                os.chown(path, user.uid, user.gid, follow_symlinks=False)


def spawn(
    command: Sequence[str | Path],
    *,
    folder: Path,
    environment: Mapping[str, str],
    death_signal: signal.Signals,
    user: User | None = None,
    output: IO[bytes] | int | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a command as the leader of its own session, in `folder`, with just this environment.

    When this process is killed the command gets `death_signal` (Linux). The kernel ties that to the starting
    thread, so it is arranged only from the main thread, which lasts as long as the process.
    """
    return subprocess.Popen(
        [*_setpriv(death_signal, user), *command],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output is not None else None,
        pass_fds=pass_fds,
        start_new_session=True,
    )


def _setpriv(death_signal: signal.Signals, user: User | None) -> list[str]:
    """Return the words before a command that set its user and death signal, none without setpriv.

    The user keeps root's right to pass closed folders: a container often has root at work in /root.
    """
    if SETPRIV is None:
        return []
    words = [SETPRIV]
    if threading.current_thread() is threading.main_thread():
        words.append(f"--pdeathsig={death_signal.name.removeprefix('SIG')}")
    if user is not None:
        words.append("--securebits=+no_setuid_fixup")  # without it access(2) leaves the right out of account
        words += [f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"]
        words += [f"--{kind}-caps=-all,+dac_override" for kind in ("inh", "ambient")]
    return words if len(words) > 1 else []


def prctl(option: int, value: int) -> None:
    """Linux's `prctl`; OSError when it refuses."""
    if ctypes.CDLL(None, use_errno=True).prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0))) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) was refused")


def plain_environment() -> dict[str, str]:
    """Return an environment for the servers that holds no setting of the user's shell."""
    return {"PATH": _PATH, "LC_ALL": "C", "TZ": "UTC"}


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
    """Return an environment variable that all offspring inherit; the next launcher finds survivors by it."""
    return {_MARK: str(data_dir)}


def marked_processes(data_dir: Path) -> list[psutil.Process]:
    """Living processes that carry the mark of `data_dir`, without ourselves, our ancestors and our own."""
    this = psutil.Process()
    family = {this.pid, *(each.pid for each in (*this.parents(), *this.children(recursive=True)))}
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
    """Return whether the process runs; one that has ended and waits to be reaped does not."""
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
