"""Functions that start, find and end operating-system processes, and choose their user.

PostgreSQL refuses to run as root, and its user needs a name in the system.
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

Steps = Sequence[tuple[signal.Signals, float]]  # signals in order, each with the seconds to wait after it

_MARK = "BOOKPRINT_SERVED_FROM"
_SECONDS_TO_DIE = 3.0

_SERVER_USERS = ("postgres", "nobody")
"""Names of users that PostgreSQL may run as when root starts it, in order of preference."""

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Folders of the system's programs. Programs in other folders are not started."""

SETPRIV = shutil.which("setpriv", path=_PATH)
"""util-linux's program that sets the user and the death signal of a command; None if not installed."""

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class User:
    """A system user who owns a server's files and runs its process."""

    uid: int
    gid: int


def server_user() -> User | None:
    """Return the user that a root process runs PostgreSQL as; None if this process is not root's."""
    if os.geteuid() != 0:
        return None
    for name in _SERVER_USERS:
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return User(entry.pw_uid, entry.pw_gid)
    raise RuntimeError(f"None of the users {', '.join(_SERVER_USERS)} exists.")


def give(folder: Path, user: User | None) -> None:
    """Make the user, if there is one, own the folder and everything in it."""
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
    """Start a command as the leader of a new session, in `folder`, with exactly this environment.

    On Linux the command gets `death_signal` when this process is killed. The kernel sends it when the
    starting thread ends, so it is set only from the main thread, which lives as long as the process.
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
    """Return the words before a command that set its user and death signal; empty without setpriv.

    The user keeps root's right to enter closed folders: in containers root often works in /root.
    """
    if SETPRIV is None:
        return []
    words = [SETPRIV]
    if threading.current_thread() is threading.main_thread():
        words.append(f"--pdeathsig={death_signal.name.removeprefix('SIG')}")
    if user is not None:
        words.append("--securebits=+no_setuid_fixup")  # otherwise access(2) ignores the right
        words += [f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"]
        words += [f"--{kind}-caps=-all,+dac_override" for kind in ("inh", "ambient")]
    return words if len(words) > 1 else []


def prctl(option: int, value: int) -> None:
    """Call Linux's `prctl`; raises OSError if the kernel refuses."""
    if ctypes.CDLL(None, use_errno=True).prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0))) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) was refused")


def plain_environment() -> dict[str, str]:
    """Return an environment for the servers without settings of the user's shell."""
    return {"PATH": _PATH, "LC_ALL": "C", "TZ": "UTC"}


def processes_in(folder: Path, name: str) -> list[psutil.Process]:
    """Return running processes called `name` in the working directory `folder`: a server and its forks."""
    processes = psutil.process_iter(["name", "cwd", "status"])
    here = {"name": name, "cwd": str(folder.resolve())}
    return [
        process
        for process in processes
        if here.items() <= process.info.items() and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def mark(data_dir: Path) -> dict[str, str]:
    """Return an environment variable for all descendants, by which the next launcher finds survivors."""
    return {_MARK: str(data_dir)}


def marked_processes(data_dir: Path) -> list[psutil.Process]:
    """Return running processes with the mark of `data_dir`, except this process, ancestors and children."""
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
    """Kill processes and wait until they have ended."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _wait_until_dead(processes, _SECONDS_TO_DIE)


def end_orphans(folder: Path, name: str, steps: Steps) -> None:
    """Stop the server that an earlier launcher, which was killed, left running in `folder`.

    Signals are sent to the server itself; only the final SIGKILL is also sent to its forks.
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
    """Return whether the process runs. A process that has ended but is not reaped does not run."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def end(process: subprocess.Popen[bytes], steps: Steps) -> None:
    """Stop and reap a child with these signals in order, finally with SIGKILL."""
    for number, seconds in (*steps, (signal.SIGKILL, _SECONDS_TO_DIE)):
        if process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
