"""An application behind real sockets, in the event loop of the test."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.http.connections import BoundedConnection


@asynccontextmanager
async def listening(app: ASGIApp, state: Mapping[str, object] = MappingProxyType({})) -> AsyncIterator[int]:
    """The port at which uvicorn serves the application, with the connections of `bookprint serve`.

    The application has been started; `state` is what its lifespan has told.
    """

    async def already_started(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await app(scope, receive, send)
            return
        await receive()
        scope["state"].update(state)
        await send({"type": "lifespan.startup.complete"})

    config = uvicorn.Config(
        already_started,
        http=BoundedConnection,
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
        serving = asyncio.create_task(server.serve([listener]))
        while not server.started:  # noqa: ASYNC110 - uvicorn tells it by a flag alone
            await asyncio.sleep(0.01)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            await serving
