"""The embedded servers of one data folder. Only one launcher at a time may run them.

The folder contains `servers.json`, `postgres`, `valkey` and `logs`. `servers.json` names the process that
runs the servers and their addresses, and is locked by it. The kernel releases the lock when the process
dies, so if the lock is free, every server still running in the folder is an orphan. While the lock is held,
other processes may use the servers but not stop them.
"""

import fcntl
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from app.embedded.postgres import PostgresServer
from app.embedded.processes import kill, marked_processes
from app.embedded.server import Server, SocketFolder
from app.embedded.valkey import ValkeyServer

_READY_TIMEOUT = 300.0  # seconds; recovery after a crash of a busy server can take minutes
_PATIENCE = 2.0  # seconds to wait for a reader or an ending launcher to release the lock


class DataDirInUse(RuntimeError):
    """Another process runs servers in this data folder."""

    def __init__(self, data_dir: Path, pid: int | None) -> None:
        super().__init__(
            f"{data_dir} is in use by another Bookprint (process {pid or 'unknown'}). "
            "Stop that process, or choose another folder with --data-dir."
        )


@dataclass(frozen=True, slots=True)
class LockInfo:
    """Information for other processes that the holder of a lock writes into its file."""

    pid: int
    database_url: str | None = None
    redis_url: str | None = None
    sockets: str | None = None  # folder of the sockets, which the backup command reads


class DataDirLock:
    """The exclusive right to run servers in `data_dir`, from `acquire` to `release`."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Lock the folder; raises DataDirInUse if a running process holds the lock."""
        descriptor = os.open(_path(self._data_dir), os.O_RDWR | os.O_CREAT, 0o600)
        os.fchmod(descriptor, 0o600)  # an external URL can contain a password
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
        """Replace the information in the lock file."""
        assert self._descriptor is not None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(asdict(info)).encode(), 0)

    def release(self) -> None:
        """Unlock the folder; does nothing if this object has not locked it."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def lock_info(data_dir: Path) -> LockInfo | None:
    """Return the information of the process that holds the lock of `data_dir`.

    Returns None if no process holds the lock, or if another user's process does.
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


@dataclass(frozen=True, slots=True)
class Servers:
    """Addresses of the two servers."""

    database_url: str  # for SQLAlchemy with psycopg
    redis_url: str  # for redis-py


class EmbeddedServers:
    """Launcher of the servers. A server whose URL is given is used and not launched.

    The folder is created if missing. Start from the main thread: then the servers end with this process, even
    if it is killed. Servers left by a killed launcher are stopped first.
    """

    def __init__(
        self, data_dir: Path, *, database_url: str | None = None, redis_url: str | None = None
    ) -> None:
        self.data_dir = data_dir.resolve()
        self._database_url = database_url
        self._redis_url = redis_url
        self._lock = DataDirLock(self.data_dir)
        self._sockets: SocketFolder | None = None
        self._running: tuple[Server, ...] = ()

    @property
    def running(self) -> Sequence[Server]:
        """Servers that this object has started and not stopped."""
        return self._running

    def start(self) -> Servers:
        """Start the servers and wait until both answer.

        Raises DataDirInUse if another running process uses the folder, and ServerFailed if a server does not
        start.
        """
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock.acquire()
        try:
            kill(marked_processes(self.data_dir))
            self._sockets = SocketFolder()
            servers = self._launch(self._sockets.path)
            for server in self._running:
                server.wait_ready(_READY_TIMEOUT)
            sockets = str(self._sockets.path)
            self._lock.write(LockInfo(os.getpid(), servers.database_url, servers.redis_url, sockets))
        except BaseException:
            self.stop()
            raise
        return servers

    def _launch(self, folder: Path) -> Servers:
        logs = self.data_dir / "logs"
        postgres = PostgresServer(self.data_dir / "postgres", folder, logs)
        valkey = ValkeyServer(self.data_dir / "valkey", folder, logs)
        servers = Servers(self._database_url or postgres.url, self._redis_url or valkey.url)
        started: list[tuple[Server, str | None]] = [(postgres, self._database_url), (valkey, self._redis_url)]
        self._running = tuple(server for server, outside in started if outside is None)
        for server in self._running:
            server.launch()
        return servers

    def stop(self) -> None:
        """Stop the servers within 11 s; does nothing if none runs."""
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(Server.stop, self._running))
        self._running = ()
        if self._sockets is not None:
            self._sockets.remove()
            self._sockets = None
        self._lock.release()

    def __enter__(self) -> Servers:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def running_servers(data_dir: Path, timeout: float = 30.0) -> Servers | None:
    """Return the servers that another process runs in the folder; None if no servers run there.

    Waits up to `timeout` seconds for servers that are starting. Commands beside a running service use them.
    """
    deadline = time.monotonic() + timeout
    while info := lock_info(data_dir):
        if info.database_url is not None and info.redis_url is not None:
            return Servers(info.database_url, info.redis_url)
        if time.monotonic() > deadline:
            raise DataDirInUse(data_dir, info.pid)
        time.sleep(0.05)
    return None
