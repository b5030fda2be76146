"""Starting, finding and ending operating-system processes, and the user that each runs as.

PostgreSQL refuses root, and needs a user that the system has a name for.
"""

import os
import pwd
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

Steps = Sequence[tuple[signal.Signals, float]]  # signals in turn, each with the seconds granted to it

_EXEC_AS = Path(__file__).with_name("exec_as.py")
_MARK = "BOOKPRINT_SERVED_FROM"
_SECONDS_TO_DIE = 3.0

DATA_DIR_MODE = 0o711 if os.geteuid() == 0 else 0o700
"""Of a data folder that is made: the user that root's PostgreSQL runs as must get through it."""

_NOBODY = (65534, 65534)


@dataclass(frozen=True, slots=True)
class Identity:
    """The user that a process runs as."""

    exec_as: str  # the argument IDENTITY of `exec_as.py`
    uid: int  # owner of its files
    gid: int


def ourselves() -> Identity:
    """The user and group of this process, unchanged."""
    return Identity("same", os.geteuid(), os.getegid())


def namespace() -> Identity:
    """A user namespace in which our user shows as an ordinary one; files stay ours and no mode changes."""
    named = [entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid != 0]
    return Identity(f"namespace:{min(named, default=65534)}", os.geteuid(), os.getegid())


def other_user(uid: int, gid: int) -> Identity:
    """Another user, which only root can become; the files must be given to it."""
    return Identity(f"user:{uid}:{gid}", uid, gid)


def candidates(folder: Path) -> Sequence[Identity]:
    """Identities worth trying for a server with its data in `folder`, the least intrusive first."""
    on_linux = sys.platform == "linux"
    if os.geteuid() != 0:
        return [namespace() if on_linux and not _has_name(os.geteuid()) else ourselves()]
    # Within a private home, its owner gets through to the folder.
    owners = [parent.stat() for parent in folder.resolve().parents]
    owner = next(((each.st_uid, each.st_gid) for each in owners if each.st_uid != 0), _NOBODY)
    user = other_user(*(owner if _has_name(owner[0]) else _NOBODY))
    return [namespace(), user] if on_linux else [user]


def choose(folder: Path, works: Callable[[Identity], bool]) -> Identity | None:
    """The first candidate for which `works` is true once `folder` belongs to it; None if there is none."""
    for identity in candidates(folder):
        give(folder, identity)
        if works(identity):
            return identity
    return None


def give(folder: Path, identity: Identity) -> None:
    """Make the folder and all within it belong to the identity; only root has anything to do here."""
    if os.geteuid() != 0:
        return
    for parent, folders, files in os.walk(folder):
        for path in (parent, *(os.path.join(parent, name) for name in (*folders, *files))):
            status = os.lstat(path)
            if (status.st_uid, status.st_gid) != (identity.uid, identity.gid):
                os.chown(path, identity.uid, identity.gid, follow_symlinks=False)


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


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
    exec_as = (identity or ourselves()).exec_as
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
