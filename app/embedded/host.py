"""The machine's offer to the servers: memory, and a place for unix sockets."""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),  # before version 2
)
"""The file in which Linux states how many bytes the processes of a container may take."""

_LONGEST_SOCKETS = 80  # bytes; paths of sockets stay under 104 with the longest name, `.s.PGSQL.5432.lock`
_PREFIX = "bookprint-sockets-"
_SECONDS_TO_LOCK = 10.0  # within which a folder that is made is locked as well


def memory() -> int:
    """Bytes that this machine has, or that its container allows if that is less."""
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
                _remove_unlocked(folder)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        self._lock = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_socket_folder(folder: Path) -> None:
    """Remove a folder that another process has made for its sockets, and nothing else."""
    if folder.name.startswith("bookprint-"):
        shutil.rmtree(folder, ignore_errors=True)


def _remove_unlocked(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(lock).st_mtime > _SECONDS_TO_LOCK:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
