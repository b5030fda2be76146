"""The embedded servers of one data folder.

In the folder: `servers.json` (who runs them and where; also the lock), `postgres`, `valkey`, `logs`.
"""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from app.embedded.host import SocketFolder
from app.embedded.identity import DATA_DIR_MODE
from app.embedded.lock import DataDirInUse, DataDirLock, LockInfo, lock_info
from app.embedded.postgres import PostgresServer
from app.embedded.processes import kill, marked_processes
from app.embedded.server import Server
from app.embedded.valkey import ValkeyServer

_READY_TIMEOUT = 300.0  # seconds; recovery after a crash of a busy server can take minutes


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
        self.data_dir.mkdir(mode=DATA_DIR_MODE, parents=True, exist_ok=True)
        self._lock.acquire()
        try:
            kill(marked_processes(self.data_dir))
            self._sockets = SocketFolder()
            servers = self._launch(self._sockets.path)
            for server in self._running:
                server.wait_ready(_READY_TIMEOUT)
            self._lock.write(LockInfo(os.getpid(), servers.database_url, servers.redis_url))
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
    """The servers that another process runs in the folder, for a command that works beside a running service.

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
