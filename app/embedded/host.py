"""The machine's offer to the servers: memory, and a place for unix sockets."""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),  # before version 2
)
"""The file in which Linux states how many bytes the processes of a container may take."""

_LONGEST_SOCKETS = 80  # bytes; paths of sockets stay under 104 with the longest name, `.s.PGSQL.5432.lock`
_PREFIX = "bookprint-sockets-"


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
    """A descriptor that holds the lock of a folder; OSError where another process holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
