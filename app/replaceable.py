"""State of a process that can be replaced, and the signal that another has taken its place."""

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

REPORT_TO = "BOOKPRINT_REPORT_TO"
"""The variable with the number of the socket to report to. A report is a datagram: the pid, a blank, and
READY or STARTING."""

READY, STARTING = "ready", "starting"

LEAVE = signal.SIGUSR1
"""Another has taken the place of this process: take no new work, finish what is under way, and end."""

LEAVING = "leaving"
"""Name under which the lifespan's state says that each connection is to be closed after its next answer."""

_SECONDS = 1.0


async def report(is_ready: Callable[[], Awaitable[bool]]) -> None:
    """Report every second, where somebody listens, until cancelled. Once ready, it is not asked again."""
    number = os.environ.pop(REPORT_TO, None)
    if number is None:
        return
    ready = False
    with socket.socket(fileno=int(number)) as listener:
        listener.setblocking(False)
        while True:
            ready = ready or await is_ready()
            with suppress(OSError):  # nobody has listened for a while
                listener.send(f"{os.getpid()} {READY if ready else STARTING}".encode())
            await asyncio.sleep(_SECONDS)


class Reports:
    """The two ends of what is reported."""

    def __init__(self) -> None:
        self._receiver, self.sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._receiver.setblocking(False)

    def listen(self, note: Callable[[int, bool], None]) -> None:
        """Call `note` with the pid that a report is from, and whether it is ready."""

        def receive() -> None:
            pid, _, state = self._receiver.recv(64).decode().partition(" ")
            note(int(pid), state == READY)

        asyncio.get_running_loop().add_reader(self._receiver, receive)
