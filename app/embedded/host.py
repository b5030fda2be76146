"""The machine's offer to the servers: memory, and a place for unix sockets."""

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
_PREFIX = "bookprint-"


def memory() -> int:
    """Bytes that this machine has, or that its container allows if that is less."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _LIMITS:
        # No container, or one without a limit, which says "max".
        with suppress(OSError, ValueError):
            sizes.append(int(path.read_text()))
    return min(sizes)


def make_socket_folder() -> Path:
    """A new folder that only this user can enter, in the temporary folder or, if that is long, in /tmp."""
    for parent in (Path(tempfile.gettempdir()).resolve(), Path("/tmp").resolve()):
        if len(os.fsencode(parent)) + 1 + len(_PREFIX) + 8 <= _LONGEST_SOCKETS:
            return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    raise AssertionError("/tmp is short enough")


def remove_socket_folder(folder: Path) -> None:
    """Remove a folder made here, and nothing else."""
    if folder.name.startswith(_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)
