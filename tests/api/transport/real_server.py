"""An application behind real sockets, in the event loop of the test."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp

from app.api.http.transport.connections import BoundedConnection


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[int]:
    """The port at which uvicorn serves the application, with the connections of `bookprint serve`."""
    config = uvicorn.Config(
        app,
        http=BoundedConnection,
        lifespan="off",
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
