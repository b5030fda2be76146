"""The embedded servers of one data folder, which one launcher at a time may run.

In the folder: `servers.json`, `postgres`, `valkey`, `logs`. `servers.json` says who runs the servers and
where they are, and is locked. The kernel drops the lock when its holder dies. A free lock therefore means
that every server still alive in the folder is an orphan. While it is held, the servers may be used and not
touched.
"""

import fcntl
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from app.embedded.postgres import PostgresServer
from app.embedded.processes import kill, marked_processes
from app.embedded.server import Server, SocketFolder
from app.embedded.valkey import ValkeyServer

_READY_TIMEOUT = 300.0  # seconds; recovery after a crash of a busy server can take minutes
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
    sockets: str | None = None  # the folder of those that listen; the command for a backup reads it


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
    """Return the information of the process that holds the lock of `data_dir`.

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


@dataclass(frozen=True, slots=True)
class Servers:
    """The addresses of the two servers."""

    database_url: str  # for SQLAlchemy with psycopg
    redis_url: str  # for redis-py


class EmbeddedServers:
    """Starts and stops the servers; a server whose URL is given is used as it is.

    The folder is made if missing. Start from the main thread: then the servers end with this process, however
    it ends. Servers that a killed predecessor left running are stopped first.
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
        """The servers that were started here and are not stopped."""
        return self._running

    def start(self) -> Servers:
        """Start the servers and wait until both answer.

        Raises DataDirInUse when another living process runs servers in the folder, ServerFailed when a server
        does not come up.
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
        """Stop the servers within 11 s; harmless when none runs."""
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(Server.stop, self._running))
        self._running = ()
        if self._sockets is not None:
            self._sockets.remove()
            self._sockets = None
        self._lock.release()

    def __enter__(self) -> Servers:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def running_servers(data_dir: Path, timeout: float = 30.0) -> Servers | None:
    """Return the servers that another process runs in the folder, for a command beside a running service.

    Waits up to `timeout` seconds for servers that are just starting. None: no servers run there.
    """
    deadline = time.monotonic() + timeout
    while info := lock_info(data_dir):
        if info.database_url is not None and info.redis_url is not None:
            return Servers(info.database_url, info.redis_url)
        if time.monotonic() > deadline:
            raise DataDirInUse(data_dir, info.pid)
        time.sleep(0.05)
    return None
