"""State of a replaceable process, and the signal that its replacement is ready."""

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

REPORT_TO = "BOOKPRINT_REPORT_TO"
"""Variable with the number of the socket for reports. A report is a datagram: the pid, a blank, and READY or
STARTING."""

READY, STARTING = "ready", "starting"

LEAVE = signal.SIGUSR1
"""Signal to a replaced process: accept no new work, finish current work, and end."""

LEAVING = "leaving"
"""Name in the lifespan's state. It is set when each connection must be closed after its next answer."""

_SECONDS = 1.0


async def report(is_ready: Callable[[], Awaitable[bool]]) -> None:
    """Report every second until cancelled, if there is a receiver. Once ready, `is_ready` is not called."""
    number = os.environ.pop(REPORT_TO, None)
    if number is None:
        return
    ready = False
    with socket.socket(fileno=int(number)) as listener:
        listener.setblocking(False)
        while True:
            ready = ready or await is_ready()
            with suppress(OSError):  # the receiver is gone or its queue is full
                listener.send(f"{os.getpid()} {READY if ready else STARTING}".encode())
            await asyncio.sleep(_SECONDS)


class Reports:
    """Sender and receiver of reports."""

    def __init__(self) -> None:
        self._receiver, self.sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._receiver.setblocking(False)

    def listen(self, note: Callable[[int, bool], None]) -> None:
        """Call `note` with the pid of each report and whether the process is ready."""

        def receive() -> None:
            pid, _, state = self._receiver.recv(64).decode().partition(" ")
            note(int(pid), state == READY)

        asyncio.get_running_loop().add_reader(self._receiver, receive)
