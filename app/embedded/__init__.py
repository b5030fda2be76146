"""Real PostgreSQL and real Valkey, started from their wheels under one data folder."""

from app.embedded.server import ServerFailed
from app.embedded.servers import DataDirInUse, EmbeddedServers, Servers, running_servers

__all__ = ["DataDirInUse", "EmbeddedServers", "ServerFailed", "Servers", "running_servers"]
