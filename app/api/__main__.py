"""`python -m app.api OPTIONS`: the API as `bookprint serve` starts it.

OPTIONS is a JSON object: `sockets`, the numbers of the listening sockets that the process inherits, and other
options of uvicorn. Secrets come by standard input.
"""

import gc
import json
import os
import socket
import sys

import uvicorn

from app.secrets import TLS_PASSWORD_VARIABLE, take_secrets

KEEP_ALIVE_SECONDS = 75
"""Seconds that an idle connection is kept."""


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
        log_config=None,
        log_level="error",  # below it each malformed request would be a line
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=5,
        ssl_keyfile_password=os.environ.get(TLS_PASSWORD_VARIABLE),
        **options,
    )
    # What is loaded stays: the collector need not go through it, now or later.
    gc.disable()
    config.load()
    gc.freeze()
    gc.enable()
    uvicorn.Server(config).run(listeners)


if __name__ == "__main__":
    main()
