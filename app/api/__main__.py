"""`python -m app.api OPTIONS`: an API process, started by `bookprint serve`.

OPTIONS is a JSON object: `sockets` contains the file descriptors of the inherited listening sockets; all
other names are options of uvicorn. Secrets are read from standard input.
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
"""Seconds until an idle connection is closed."""

LAST_REQUEST_SECONDS = 2.0
"""Seconds until a replaced process closes its idle connections; each may send one more request."""

_PLAIN: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False}
_PLAIN |= {"log_level": "error"}  # a lower level logs each malformed request


def main() -> None:
    """Serve until SIGTERM; the exit status is 3 if the application cannot start."""
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
    # Loaded modules are permanent, so the garbage collector need not examine them.
    gc.disable()
    config.load()
    gc.freeze()
    gc.enable()
    _Server(config).run(listeners)


def answer_meanwhile(
    listeners: list[socket.socket], options: str, secrets: Mapping[str, str], has_kernels: bool
) -> None:
    """Answer every request with 503 and the progress of the start, until LEAVE."""
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
    """A uvicorn server in a process that can be replaced."""

    _leaving: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and to listen for LEAVE."""
        await super().startup(sockets)
        asyncio.get_running_loop().add_signal_handler(LEAVE, self._begin_to_leave)

    def _begin_to_leave(self) -> None:
        self._leaving = asyncio.create_task(self._leave())

    async def _leave(self) -> None:
        """Accept no new connections, close each after its next answer, and end when all are closed."""
        for server in self.servers:
            server.close()
        self.lifespan.state[LEAVING] = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._all_closed(), LAST_REQUEST_SECONDS)
        for connection in list(self.server_state.connections):
            await asyncio.sleep(0)  # lets the connection read data that has arrived
            connection.shutdown()
        await self._all_closed()
        self.should_exit = True

    async def _all_closed(self) -> None:
        await asyncio.sleep(0.1)  # a connection just accepted is not in the set yet
        while self.server_state.connections:  # noqa: ASYNC110, uvicorn's set has no event
            await asyncio.sleep(0.1)


if __name__ == "__main__":
    main()
