"""Reading in child processes: what they answer, and what becomes of those that exceed a limit."""

import asyncio
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import psutil
import pytest

from app.core.errors import BrokenFile, FileTooLarge, NoText, UnsupportedFormat
from app.readers import processes
from app.readers.extraction import Extraction
from app.readers.killable import Parent, to_json
from app.readers.processes import IsolatedReader, ReadingLimits
from tests.readers.children import children, eventually

ROOT = Path(__file__).parents[2]
SMALL = "<alto><Page><TextLine><String CONTENT='Nice'/><String CONTENT='day'/></TextLine></Page></alto>"


def alto(pages: int, lines: int = 40) -> str:
    line = "<TextLine>" + "<String CONTENT='word'/>" * 10 + "</TextLine>"
    return f"<alto>{f'<Page>{line * lines}</Page>' * pages}</alto>"


@pytest.fixture(scope="module")
def reader() -> Iterator[IsolatedReader]:
    with IsolatedReader(ReadingLimits()) as reader:
        yield reader


def read(reader: IsolatedReader, document: str | bytes) -> Extraction:
    with TemporaryFile() as file:
        file.write(document.encode() if isinstance(document, str) else document)
        file.flush()
        return reader.read_waiting(file.fileno(), "book.xml")


def test_answers_the_book_without_page_furniture(reader: IsolatedReader) -> None:
    page = (
        "<Page>"
        "<TextLine><String CONTENT='EMMA'/><String CONTENT='{}'/></TextLine>"
        "<TextLine><String CONTENT='{}'/></TextLine>"
        "</Page>"
    )
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    pages = "".join(page.format(number, word) for number, word in enumerate(words, start=1))

    extraction = read(reader, f"<alto>{pages}</alto>")

    assert (extraction.format, extraction.paginated) == ("alto", True)
    assert list(extraction.pages) == words


def test_position_of_the_descriptor_does_not_count(reader: IsolatedReader) -> None:
    with TemporaryFile() as file:
        file.write(SMALL.encode())
        file.flush()
        for _ in range(2):
            assert list(reader.read_waiting(file.fileno(), "x").pages) == ["Nice day"]
        assert file.tell() == len(SMALL)


@pytest.mark.parametrize(
    ("document", "error"),
    [
        (b"\x7fELF" + bytes(100), UnsupportedFormat),
        (b"", NoText),
        ("<alto><Page>", BrokenFile),
        ("<alto><Page/></alto>", NoText),
    ],
)
def test_refusals_of_readers_come_through(
    reader: IsolatedReader, document: str | bytes, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"book\.xml|holds no text"):
        read(reader, document)


def test_error_that_no_reader_foresees_is_a_broken_file(reader: IsolatedReader) -> None:
    receiving, sending = os.pipe()

    # A pipe cannot be read from a position, which no reader expects of a file.
    with pytest.raises(BrokenFile, match="OSError"):
        reader.read_waiting(receiving, "book.xml")

    os.close(receiving)
    os.close(sending)


def test_child_that_takes_too_long_is_killed() -> None:
    document = alto(pages=20_000)
    with IsolatedReader(ReadingLimits(seconds=0.2)) as reader:
        started = time.monotonic()
        with pytest.raises(FileTooLarge, match=r"more than 0\.2 s"):
            read(reader, document)

        assert time.monotonic() - started < 5
        assert children() == []


def test_child_that_takes_too_much_memory_says_so() -> None:
    with (
        IsolatedReader(ReadingLimits(memory_bytes=40 << 20)) as reader,
        pytest.raises(FileTooLarge, match="more than 40 MiB"),
    ):
        read(reader, alto(pages=1, lines=200_000))


def test_text_of_too_many_characters_is_refused() -> None:
    with (
        IsolatedReader(ReadingLimits(characters=7)) as reader,
        pytest.raises(FileTooLarge, match="more than 7 characters"),
    ):
        read(reader, SMALL)


def test_child_that_dies_is_a_broken_file(reader: IsolatedReader) -> None:
    def kill() -> None:
        eventually(children)
        time.sleep(0.05)
        children()[0].kill()

    killing = threading.Thread(target=kill)
    killing.start()
    with pytest.raises(BrokenFile, match="crashed"):
        read(reader, alto(pages=20_000))
    killing.join()
    assert list(read(reader, SMALL).pages) == ["Nice day"]


async def test_event_loop_goes_on_and_few_children_run_at_once() -> None:
    most = longest = 0.0
    document = alto(pages=1_000).encode()
    with IsolatedReader(ReadingLimits(), at_once=2) as reader, TemporaryFile() as file:
        file.write(document)
        file.flush()
        reading = asyncio.gather(*(reader.read(file.fileno(), str(number)) for number in range(6)))
        while not reading.done():
            started = time.perf_counter()
            await asyncio.sleep(0)
            longest = max(longest, time.perf_counter() - started)
            most = max(most, len(children()))
            await asyncio.sleep(0.005)

    assert [len(extraction.pages) for extraction in await reading] == [1_000] * 6
    assert most == 2
    assert longest < 1
    assert children() == []


def test_leaving_the_reader_kills_its_children() -> None:
    def read_on() -> None:
        with pytest.raises(BrokenFile):
            read(reader, alto(30_000))

    with IsolatedReader(ReadingLimits(seconds=60)) as reader:
        reading = threading.Thread(target=read_on)
        reading.start()
        assert eventually(children)
    reading.join(5)

    assert not reading.is_alive()
    assert children() == []


def test_children_end_with_a_parent_that_is_killed() -> None:
    source = """
        from app.readers.processes import IsolatedReader, ReadingLimits
        with IsolatedReader(ReadingLimits(seconds=60)) as reader, open(0, "rb") as file:
            reader.read_waiting(file.fileno(), "x")
    """
    with TemporaryFile() as file:
        file.write(alto(pages=60_000).encode())
        file.flush()
        parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(source)], cwd=ROOT, stdin=file)
        process = psutil.Process(parent.pid)
        assert eventually(lambda: children(process))
        family = process.children(recursive=True)
        parent.send_signal(signal.SIGKILL)
        parent.wait()

        assert psutil.wait_procs(family, timeout=5)[1] == []


def test_children_are_forked_without_the_compiler() -> None:
    source = (
        "import sys, app.readers.processes; print(*{'numba', 'pydantic', 'fastapi'} & sys.modules.keys())"
    )
    command = [sys.executable, "-c", source]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout == "\n"


def answer_badly(parent: Parent, file: object, name: str, limits: ReadingLimits) -> None:
    """The life of a child that a file has taken over; the file's name says what it does."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    kind, _, detail = name.partition(" ")
    raw = parent._connection
    match kind:
        case "good":
            parent.send(to_json(Extraction("txt", ["word"], paginated=False)))
        case "bytes":
            parent.send(bytes.fromhex(detail))
        case "pickle":
            parent.send(pickle.dumps(Runs(detail)))
        case "lists":
            parent.send(b'{"Extraction":{"pages":[' + b"[]," * 10_000_000 + b"[]]}}")
        case "unfinished":
            raw.sendall((1000).to_bytes(8) + b"{")
            time.sleep(600)
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
        socket.create_connection(("127.0.0.1", int(port)), 1)
        found.append("network")
    if "NoNewPrivs:\t1" not in Path("/proc/self/status").read_text():
        found.append("privileges")
    return found


def test_what_a_file_says_reaches_no_terminal_as_it_is() -> None:
    source = """
        from tests.readers.test_isolation import *
        processes._answer = answer_after_an_error
        with IsolatedReader(ReadingLimits()) as reader:
            try:
                read(reader, SMALL)
            except BrokenFile as exc:
                print(exc)
    """
    command = [sys.executable, "-c", textwrap.dedent(source)]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert shown.stdout == "book.xml cannot be read (ValueError).\n"
    assert r"'ValueError: \x1b]0;title\x07\u202e and ä'" in shown.stderr
    assert shown.stderr.replace("\n", "").isprintable()


@pytest.fixture
def taken_over(monkeypatch: pytest.MonkeyPatch) -> Iterator[IsolatedReader]:
    monkeypatch.setattr(processes, "_answer", answer_badly)
    with IsolatedReader(ReadingLimits(seconds=2), at_once=3) as reader:
        yield reader


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"junk \xff",
        b"[1, 2]",
        b'{"system": "true"}',
        b'{"Extraction": null}',
        b'{"Extraction": {"format": "txt", "pages": ["word"], "paginated": 1}}',
        b'{"Extraction": {"format": "txt", "pages": "word", "paginated": false}}',
        b'{"Extraction": {"format": "txt", "pages": [{}], "paginated": false}}',
        b'{"Extraction": {"format": "txt", "pages": [], "paginated": false, "run": "me"}}',
        b'{"Extraction": {"format": "txt", "pages": [], "paginated": false, "metadata": {"year": "1"}}}',
        b'{"BrokenFile": ["text"]}',
        b"[" * 100_000,
    ],
)
def test_wrong_answer_is_a_broken_file(taken_over: IsolatedReader, answer: bytes) -> None:
    with TemporaryFile() as file, pytest.raises(BrokenFile, match="crashed"):
        taken_over.read_waiting(file.fileno(), f"bytes {answer.hex()}")


def test_answer_is_never_unpickled(taken_over: IsolatedReader, tmp_path: Path) -> None:
    with TemporaryFile() as file, pytest.raises(BrokenFile, match="a wrong answer"):
        taken_over.read_waiting(file.fileno(), f"pickle {tmp_path / 'made'}")
    assert not list(tmp_path.iterdir())


def test_memory_for_an_answer_is_bounded(taken_over: IsolatedReader) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with TemporaryFile() as file:
        for kind in ("long", "lists"):
            with pytest.raises(BrokenFile, match="crashed"):
                taken_over.read_waiting(file.fileno(), kind)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # KiB
    assert children() == []


async def test_children_that_hang_keep_others_from_reading_until_their_deadline_at_most(
    taken_over: IsolatedReader,
) -> None:
    started = time.monotonic()
    with TemporaryFile() as file:
        names = ["unfinished", "slow", "good", "unfinished", "slow", "good", "ends"]
        found = await asyncio.gather(
            *(taken_over.read(file.fileno(), name) for name in names), return_exceptions=True
        )
    kinds = [type(each) for each in found]
    assert kinds == [*[FileTooLarge, FileTooLarge, Extraction] * 2, BrokenFile]
    assert time.monotonic() - started < 10
    assert children() == []


@pytest.mark.skipif(
    subprocess.run(["unshare", "--user", "--net", "true"], capture_output=True).returncode != 0,
    reason="the kernel grants no namespaces",
)
def test_child_reaches_neither_the_network_nor_other_processes(taken_over: IsolatedReader) -> None:
    with TemporaryFile() as file, socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert sights(str(os.getpid()), port) == ["environment", "memory", "network", "privileges"]
        with pytest.raises(BrokenFile, match=r"^\[\]$"):
            taken_over.read_waiting(file.fileno(), f"looks {os.getpid()} {port}")
