"""The processes that readers run in, as the tests look at them, and what tests have them do.

Children import this module, so it imports little.
"""

import os
import pickle
import resource
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bookprint_core.errors import BrokenFile
from bookprint_core.model import Metadata
from bookprint_readers import processes
from bookprint_readers.extraction import Extraction
from bookprint_readers.killable import Parent
from bookprint_readers.plain_values import to_json
from bookprint_readers.processes import Ask, ParentQuestion, ReadingLimits
from bookprint_readers.unread import Unread


def fork_servers(parent: psutil.Process | None = None) -> list[psutil.Process]:
    """The processes that children of a process, by default this one, are forked from."""
    return [each for each in (parent or psutil.Process()).children() if _is_fork_server(each)]


def _is_fork_server(process: psutil.Process) -> bool:
    """Return whether a process is a fork server; one that has just ended is not."""
    try:
        return "multiprocessing.forkserver" in str(process.cmdline())
    except psutil.NoSuchProcess:
        return False


def children(parent: psutil.Process | None = None) -> list[psutil.Process]:
    """Processes that the fork servers of a process, by default this one, have started."""
    return [each for server in fork_servers(parent) for each in server.children()]


def processor_seconds() -> float:
    """The processor time of all children of this process that have ended."""
    times = [server.cpu_times() for server in fork_servers()]
    return sum(each.children_user + each.children_system for each in times)


def compute(seconds: float) -> None:
    """Take this many seconds of processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def answer_badly(parent: Parent, file: Any, name: str, limits: ReadingLimits) -> None:
    """The life of a child that a file has taken over; the file's name says what it does."""
    kind, _, detail = name.partition(" ")
    raw = parent._connection
    match kind:
        case "waits":
            os.read(file.number, 1)
            parent.send(to_json(Extraction("txt", ["word"], paginated=False)))
        case "computes":
            compute(3600)
        case "bytes":
            parent.send(bytes.fromhex(detail))
        case "pickle":
            parent.send(pickle.dumps(Runs(detail)))
        case "lists":
            parent.send(b'{"Extraction":{"pages":[' + b"[]," * 10_000_000 + b"[]]}}")
        case "unfinished":
            raw.sendall((1000).to_bytes(8) + b"{")
            time.sleep(3600)
        case "slow":
            raw.sendall((1000).to_bytes(8))
            while True:
                raw.sendall(b" ")
                time.sleep(0.05)
        case "long":
            raw.sendall((2 << 30).to_bytes(8))
            while True:
                raw.sendall(bytes(1 << 20))
        case "ends":
            raw.sendall((1000).to_bytes(8) + b"{")
        case "signal":
            signal.raise_signal(int(detail))
        case "looks":
            parent.send(to_json(BrokenFile(str(sights(*detail.split())))))


def answer_after_an_error(parent: Parent, *args: Any) -> None:
    """The life of a child whose reader does not foresee an error that quotes its file."""

    def read(*_: object) -> Extraction:
        raise ValueError("\x1b]0;title\x07\N{RIGHT-TO-LEFT OVERRIDE} and ä")

    processes._read = read
    processes._answer(parent, *args)


class Runs:
    """What makes a folder when it is unpickled."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (self.folder,)


def sights(process: str, port: str) -> list[str]:
    """What a child can reach of another process and of the network, and the rights it could get."""
    found = []
    with suppress(OSError):
        Path(f"/proc/{process}/environ").read_bytes()
        found.append("environment")
    with suppress(OSError), Path(f"/proc/{process}/mem").open("rb"):
        found.append("memory")
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", int(port)), 60)
        found.append("network")
    if "NoNewPrivs:\t1" not in Path("/proc/self/status").read_text():
        found.append("privileges")
    return found


@dataclass(frozen=True, slots=True)
class Number(ParentQuestion):
    """What an order may ask."""

    number: int


@dataclass(frozen=True, slots=True)
class Order(Unread):
    """Not a book, but an order to the process."""

    def __call__(self, ask: Ask) -> object:
        match self.part.split():
            case ["sleep", seconds]:
                time.sleep(float(seconds))
            case ["compute", seconds]:
                compute(float(seconds))
            case ["limit"]:
                return int(resource.getrlimit(resource.RLIMIT_CPU)[0] - time.process_time())
            case ["die"]:
                os.kill(os.getpid(), signal.SIGKILL)
            case ["exit"]:
                os._exit(3)
            case ["grow"]:
                try:
                    return len(bytearray(20 << 30))
                except MemoryError:
                    return "too much"
            case ["ask"]:
                return ask(Number(self.position))
            case ["ask", "for", "ever"]:
                while True:
                    ask(Number(0))
            case ["answer", "otherwise"]:
                return Metadata()
            case ["pid"]:
                return os.getpid()
        return self.position


def obey(order: Unread, ask: Ask) -> object:
    """The work of a process that takes orders."""
    assert isinstance(order, Order)
    return order(ask)


KINDS = (int, str, Number)
"""What comes of orders."""


def orders(*parts: str) -> list[Order]:
    """An order for each of the parts."""
    return [Order("", part, position) for position, part in enumerate(parts)]
