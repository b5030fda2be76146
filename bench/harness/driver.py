"""Load for an HTTP service, from a separate process with minimal work per request.

Open loop: requests are due at a constant rate, and latency counts from the time when a request is due. A
service that stalls for a second is thus charged with every request of that second. Requests of a second
stream are due at random moments of their turns, so the streams overlap in every way. Closed loop: each
connection sends its next request after an answer. `select` waits to the microsecond.
"""

import os
import random
import resource
import select
import selectors
import socket
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from bench.harness.checkout import processes

Request = tuple[bytes, ...]
"""The bytes to send, in pieces; requests share equal pieces in memory."""

_DRAIN_SECONDS = 20.0
_NICENESS, _SEED = -10, 5
_OTHER_FILES = 256
_READ_AT_ONCE = 1 << 18
_TOO_MUCH = {429, 503}


@dataclass(frozen=True, slots=True)
class Stream:
    """Requests of one kind."""

    name: str
    requests: Sequence[Request]  # sent in turn
    connections: int = 16
    rate: float | None = None  # requests a second; None: closed loop
    once: bool = False  # stop after the last request; else begin again


@dataclass(slots=True)
class Outcome:
    """The outcome of one stream; only requests due after the warm-up count."""

    name: str
    counted_from: float  # the end of the warm-up
    end: float  # no request is due later
    latencies: list[float] = field(default_factory=list)  # seconds; without refusals
    refusals: list[float] = field(default_factory=list)  # seconds until a refusal
    statuses: Counter[int] = field(default_factory=Counter)  # 0: closed connection
    totals: list[int] = field(default_factory=list)  # the "total" of answers that have one
    ids: list[str] = field(default_factory=list)  # ids of created books
    unanswered: int = 0
    answered: int = 0  # between warm-up and end, whenever due; without refusals
    all_answered: int = 0  # with the warm-up

    @property
    def rate(self) -> float:
        """Return the answers per second, without refusals."""
        return self.answered / (self.end - self.counted_from)

    def give_up(self, dues: Iterable[float], now: float) -> None:
        """Count requests without an answer, with their waiting time as latency."""
        waited = [now - due for due in dues if due >= self.counted_from]
        self.latencies += waited
        self.unanswered += len(waited)

    def take(self, status: int, body: bytes, due: float) -> None:
        """Count an answer."""
        now = time.perf_counter()
        if status == 201:
            start = body.find(b'"id":"') + 6
            self.ids.append(body[start : start + 36].decode())
        if status not in _TOO_MUCH:
            self.all_answered += 1
            self.answered += self.counted_from <= now < self.end
        if due >= self.counted_from:
            self.statuses[status] += 1
            (self.refusals if status in _TOO_MUCH else self.latencies).append(now - due)
            if (at := body.find(b'"total":')) >= 0:
                self.totals.append(int(body[at + 8 : at + 20].split(b",")[0].split(b"}")[0]))


def get(path: str) -> Request:
    """Return a GET request."""
    return (f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),)


def post(path: str, *body: bytes) -> Request:
    """Return a POST request of JSON in pieces."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return (f"{head}Content-Length: {sum(map(len, body))}\r\n\r\n".encode(), *body)


def drive(
    address: tuple[str, int], streams: Sequence[Stream], *, seconds: float, warm_up: float = 1.0
) -> list[Outcome]:
    """Run the streams concurrently in another process; `seconds` begin after the warm-up."""
    limit = seconds + warm_up + 2 * _DRAIN_SECONDS
    with processes(1, start="spawn") as pool:
        return pool.submit(_drive, address, streams, seconds, warm_up).result(limit)


@dataclass(slots=True, eq=False)
class _Connection:
    address: tuple[str, int]
    socket: socket.socket
    stream: "_StreamState"
    unsent: deque[memoryview] = field(default_factory=deque)
    received: bytearray = field(default_factory=bytearray)
    due: float = 0.0
    is_over: bool = False  # the service has closed the connection or announced it

    def fileno(self) -> int:
        return self.socket.fileno()

    def awaited(self) -> int:
        """Return the events that the connection waits for, as in `selectors`."""
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self.unsent else 0)

    def open_again(self) -> None:
        """Connect again if the service has closed the connection or announced it."""
        if not self.is_over:
            try:
                if self.socket.recv(1, socket.MSG_PEEK):
                    return
            except BlockingIOError:
                return
            except ConnectionError:
                pass
        self.socket.close()
        self.socket, self.is_over = _connected(self.address), False
        self.unsent.clear()
        self.received.clear()

    def send(self) -> None:
        with suppress(BlockingIOError, ConnectionError):  # `receive` notices the failure
            while self.unsent:
                sent = self.socket.send(self.unsent[0])
                if sent < len(self.unsent[0]):
                    self.unsent[0] = self.unsent[0][sent:]
                else:
                    self.unsent.popleft()

    def receive(self) -> bool:
        """Read available bytes; return True if the answer is complete or will not arrive."""
        received, outcome = self.received, self.stream.outcome
        try:
            data = self.socket.recv(_READ_AT_ONCE)
        except ConnectionError:
            data = b""
        if not data:
            self.is_over = True
            outcome.statuses[0] += self.due >= outcome.counted_from
            return True
        received += data
        head = received.find(b"\r\n\r\n")
        fields = bytes(received[: max(head, 0)]).lower()
        at = fields.find(b"content-length:")
        length = int(fields[at + 15 : at + 30].split(b"\r\n")[0]) if at >= 0 else 0
        if head < 0 or len(received) < head + 4 + length:
            return False
        self.is_over = b"\r\nconnection: close" in fields
        outcome.take(int(fields[9:12]), bytes(received[head + 4 :]), self.due)
        received.clear()
        return True


@dataclass(slots=True, eq=False)
class _StreamState:
    stream: Stream
    outcome: Outcome
    turn: float  # time at which the next request's turn begins
    moments: random.Random | None  # None: requests are due when their turn begins
    next_due: float = 0.0
    next_request: int = 0
    free: list[_Connection] = field(default_factory=list)
    waiting: deque[float] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._take_turn(0.0)

    @property
    def exhausted(self) -> bool:
        return self.stream.once and self.next_request >= len(self.stream.requests)

    def fall_due(self, now: float, end: float) -> None:
        """Add the requests that are due by now."""
        if self.stream.rate is not None:
            while self.next_due <= min(now, end):
                self.waiting.append(self.next_due)
                self._take_turn(1 / self.stream.rate)
        elif now < end:
            self.waiting = deque([now] * len(self.free))

    def _take_turn(self, seconds: float) -> None:
        self.turn += seconds
        moment = 0.0 if self.moments is None or self.stream.rate is None else self.moments.random()
        self.next_due = self.turn + moment / (self.stream.rate or 1.0)

    def start(self) -> list[_Connection]:
        """Send waiting requests on free connections; return these connections."""
        started = []
        while self.waiting and self.free and not self.exhausted:
            connection = self.free.pop()
            connection.open_again()
            connection.due = self.waiting.popleft()
            request = self.stream.requests[self.next_request % len(self.stream.requests)]
            self.next_request += 1
            connection.unsent.extend(map(memoryview, request))
            connection.send()
            started.append(connection)
        return started


def _drive(
    address: tuple[str, int], streams: Sequence[Stream], seconds: float, warm_up: float
) -> list[Outcome]:
    # On a separate machine the driver would not wait for the service either. If Linux weighs sessions against
    # each other, niceness counts only within a session.
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
        os.setsid()
        Path("/proc/self/autogroup").write_text(str(_NICENESS), encoding="ascii")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = sum(stream.connections for stream in streams) + _OTHER_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, wanted), most))
    # Created before the connections, so `select` accepts its descriptor.
    selector = selectors.DefaultSelector()
    # No request is due while thousands of connections are opened.
    sockets = [[_connected(address) for _ in range(stream.connections)] for stream in streams]
    began = time.perf_counter() + 0.1
    counted_from, end = began + warm_up, began + warm_up + seconds
    running = []
    for number, stream in enumerate(streams):
        moments = random.Random(_SEED + number) if number else None
        state = _StreamState(stream, Outcome(stream.name, counted_from, end), began, moments)
        state.free = [_Connection(address, each, state) for each in sockets[number]]
        running.append(state)
    busy: set[_Connection] = set()
    while True:
        now = time.perf_counter()
        if now >= began:
            for state in running:
                state.fall_due(now, end)
                for connection in state.start():
                    busy.add(connection)
                    selector.register(connection, connection.awaited())
        over = now >= end or all(state.exhausted for state in running)
        waits = busy or any(state.waiting and not state.exhausted for state in running)
        if now > end + _DRAIN_SECONDS or (over and not waits):
            break
        dues = [each.next_due for each in running if each.stream.rate is not None and each.next_due <= end]
        # A selector rounds its timeout up to a millisecond; `select` on its descriptor does not.
        select.select([selector], [], [], max(0.0, min([*dues, now + 0.1]) - now))
        for key, events in selector.select(0):
            connection = cast(_Connection, key.fileobj)
            if events & selectors.EVENT_WRITE:
                connection.send()
                selector.modify(connection, connection.awaited())
            if events & selectors.EVENT_READ and connection.receive():
                selector.unregister(connection)
                busy.discard(connection)
                connection.stream.free.append(connection)
    for connection in busy:
        connection.stream.outcome.give_up([connection.due], now)
    for state in running:
        if not state.exhausted:
            state.outcome.give_up(state.waiting, now)
        for connection in (*state.free, *busy):
            connection.socket.close()
    return [state.outcome for state in running]


def _connected(address: tuple[str, int]) -> socket.socket:
    connected = socket.create_connection(address, timeout=10)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setblocking(False)
    return connected
