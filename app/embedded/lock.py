"""One launcher per data folder: a locked file that also says where the running servers are.

The kernel drops the lock when its holder dies. A free lock therefore means that every server still alive in
the folder is an orphan. While it is held, the servers may be used and not touched.
"""

import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

_PATIENCE = 2.0  # seconds for which a lock may be held by a reader or by a launcher that is just dying


class DataDirInUse(RuntimeError):
    """Another process has its servers in this data folder."""

    def __init__(self, data_dir: Path, pid: int | None) -> None:
        super().__init__(
            f"{data_dir} is in use by another Bookprint (process {pid or 'unknown'}). "
            "Stop that one, or choose another folder with --data-dir."
        )


@dataclass(frozen=True, slots=True)
class LockInfo:
    """Information that the holder of a lock leaves in its file for other processes."""

    pid: int
    database_url: str | None = None
    redis_url: str | None = None


class DataDirLock:
    """The exclusive right to run servers in `data_dir`, from `acquire` to `release`."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Lock the folder; raises DataDirInUse when a living process holds the lock."""
        descriptor = os.open(_path(self._data_dir), os.O_RDWR | os.O_CREAT, 0o600)
        os.fchmod(descriptor, 0o600)  # a URL from outside can hold a password
        deadline = time.monotonic() + _PATIENCE
        while not _lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                holder = _read(descriptor)
                os.close(descriptor)
                raise DataDirInUse(self._data_dir, holder.pid if holder else None)
            time.sleep(0.05)
        self._descriptor = descriptor
        self.write(LockInfo(os.getpid()))

    def write(self, info: LockInfo) -> None:
        """Replace the information in the file."""
        assert self._descriptor is not None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(asdict(info)).encode(), 0)

    def release(self) -> None:
        """Unlock the folder; harmless when it is not locked here."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def lock_info(data_dir: Path) -> LockInfo | None:
    """The information of the process that holds the lock of `data_dir`.

    None while there is none, and for users other than the one who holds it.
    """
    try:
        descriptor = os.open(_path(data_dir), os.O_RDONLY)
    except (FileNotFoundError, PermissionError):
        return None
    try:
        return None if _lock(descriptor, fcntl.LOCK_SH) else _read(descriptor)
    finally:
        os.close(descriptor)


def _path(data_dir: Path) -> Path:
    return data_dir / "servers.json"


def _lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(descriptor: int) -> LockInfo | None:
    try:
        return LockInfo(**json.loads(os.pread(descriptor, 65536, 0)))
    except (ValueError, TypeError):
        return None
