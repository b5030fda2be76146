"""`python -m app.api OPTIONS`: the API as `bookprint serve` starts it.

OPTIONS is a JSON object: `sockets`, the numbers of the listening sockets that the process inherits, and other
options of uvicorn. Secrets come by standard input.
"""

import asyncio
import gc
import json
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.responses import JSONResponse

from app.replaceable import LEAVE, LEAVING
from app.secrets import TLS_PASSWORD_VARIABLE, take_secrets

KEEP_ALIVE_SECONDS = 75
"""Seconds that an idle connection is kept."""

LAST_REQUEST_SECONDS = 2.0
"""Seconds that an idle connection is kept by a process that leaves: one more request would be answered."""

_PLAIN: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False}
_PLAIN |= {"log_level": "error"}  # below it each malformed request would be a line


def main() -> None:
    """Serve until SIGTERM; exit status 3 where the application could not be started."""
    options = json.loads(sys.argv[1])
    listeners = [socket.socket(fileno=number) for number in options.pop("sockets")]
    take_secrets()
    config = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        loop="uvloop",
        http="app.api.http.connections:BoundedConnection",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=5,
        ssl_keyfile_password=os.environ.get(TLS_PASSWORD_VARIABLE),
        **_PLAIN,
        **options,
    )
    # Loaded modules stay, so the collector need not examine them.
    gc.disable()
    config.load()
    gc.freeze()
    gc.enable()
    _Server(config).run(listeners)


def answer_meanwhile(
    listeners: list[socket.socket], options: str, secrets: Mapping[str, str], has_kernels: bool
) -> None:
    """Answer every request with 503, and with what a service that starts is doing, until LEAVE."""
    doing = "loads its programs" if has_kernels else "compiles its kernels, which it does once,"
    detail = f"The service is starting: it {doing} and starts its servers. Try again in a moment."
    problem = {"type": "urn:bookprint:problem:not-ready", "title": "Not ready", "status": 503}
    headers = {"Retry-After": "2", "Connection": "close"}
    answer = JSONResponse(problem | {"detail": detail}, 503, headers, media_type="application/problem+json")
    given = json.loads(options) | {"ssl_keyfile_password": secrets.get(TLS_PASSWORD_VARIABLE)}
    del given["sockets"]
    config = uvicorn.Config(answer, lifespan="off", limit_concurrency=512, **_PLAIN, **given)
    _Server(config).run(listeners)


class _Server(uvicorn.Server):
    """uvicorn in a process that can be replaced."""

    _leaving: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and to listen for LEAVE."""
        await super().startup(sockets)
        asyncio.get_running_loop().add_signal_handler(LEAVE, self._begin_to_leave)

    def _begin_to_leave(self) -> None:
        self._leaving = asyncio.create_task(self._leave())

    async def _leave(self) -> None:
        """Take no new connections, close each after its next answer, and end when all are closed."""
        for server in self.servers:
            server.close()
        self.lifespan.state[LEAVING] = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._all_closed(), LAST_REQUEST_SECONDS)
        for connection in list(self.server_state.connections):
            await asyncio.sleep(0)  # what has arrived on it is read
            connection.shutdown()
        await self._all_closed()
        self.should_exit = True

    async def _all_closed(self) -> None:
        await asyncio.sleep(0.1)  # one that has just been accepted is not among the connections yet
        while self.server_state.connections:  # noqa: ASYNC110, uvicorn's set tells nobody
            await asyncio.sleep(0.1)


if __name__ == "__main__":
    main()
