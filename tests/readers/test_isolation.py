"""Reading in child processes: what they answer, and what becomes of those that exceed a limit."""

import asyncio
import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from types import SimpleNamespace

import psutil
import pytest

from bookprint_core.errors import BrokenFile, FileTooLarge, NoText, Unavailable, UnsupportedFormat
from bookprint_readers import killable, processes
from bookprint_readers.extraction import Extraction
from bookprint_readers.processes import IsolatedReader, ReadingLimits
from tests.readers.children import answer_badly, children, fork_servers, processor_seconds, sights
from tests.waiting import eventually

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


def test_children_are_forked_without_the_compiler() -> None:
    source = (
        "import sys, bookprint_readers.processes; "
        "print(*{'numba', 'pydantic', 'fastapi'} & sys.modules.keys())"
    )
    command = [sys.executable, "-c", source]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout == "\n"


def test_what_a_file_says_reaches_no_terminal_as_it_is() -> None:
    source = """
        from bookprint_readers import processes
        from tests.readers.children import answer_after_an_error
        processes._answer = answer_after_an_error
        with processes.IsolatedReader(processes.ReadingLimits()) as reader, open(0, "rb") as file:
            try:
                reader.read_waiting(file.fileno(), "book.xml")
            except processes.BrokenFile as exc:
                print(exc)
    """
    command = [sys.executable, "-c", textwrap.dedent(source)]
    shown = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )

    assert shown.stdout == "book.xml cannot be read (ValueError).\n"
    assert r"'ValueError: \x1b]0;title\x07\u202e and ä'" in shown.stderr
    assert shown.stderr.replace("\n", "").isprintable()


@pytest.fixture
def taken_over(monkeypatch: pytest.MonkeyPatch) -> Iterator[IsolatedReader]:
    """A reader whose children do what the name of their file says; none reaches its limits in health."""
    monkeypatch.setattr(processes, "_answer", answer_badly)
    with IsolatedReader(ReadingLimits(seconds=60), at_once=2) as reader:
        yield reader


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> Iterator[IsolatedReader]:
    """The same, one after the other, each with a second of sleep and ten of processor time."""
    monkeypatch.setattr(processes, "_answer", answer_badly)
    monkeypatch.setattr(processes, "SLEEP_FACTOR", 0.1)
    with IsolatedReader(ReadingLimits(seconds=10), at_once=1) as reader:
        yield reader


def test_child_that_computes_too_long_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_answer", answer_badly)
    monkeypatch.setattr(processes, "SLEEP_FACTOR", 1_000)
    before = processor_seconds()
    with (
        IsolatedReader(ReadingLimits(seconds=0.2)) as reader,
        TemporaryFile() as file,
        pytest.raises(FileTooLarge, match=r"^computes takes more than 0\.2 s of processor time to read\."),
    ):
        reader.read_waiting(file.fileno(), "computes")
    assert children() == []
    if sys.platform == "linux":
        # Linux counts hundredths of a second, and ends the child after 2.
        assert 0.18 < processor_seconds() - before < 3


@pytest.mark.slow
def test_the_kernel_kills_a_child_that_computes_where_the_parent_does_not_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(killable._Account, "_look", lambda self: (0.0, True))
    test_child_that_computes_too_long_is_killed(monkeypatch)


def test_time_counts_that_a_child_computes_or_sleeps_and_not_that_it_or_its_parent_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, look = [0.0], (0.0, True)
    monkeypatch.setattr(killable, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(killable._Account, "_look", lambda self: look)

    def let_pass(looks: int) -> None:
        for _ in range(looks):
            clock[0] += account.seconds_to_wait()

    account = killable._Account(0, processor_seconds=8, sleeping_seconds=80)
    let_pass(1_000)
    assert clock[0] == 1_000
    look = (7.99, True)
    let_pass(1_000)
    look = (7.99, False)
    clock[0] += 1_000
    before = clock[0]
    with pytest.raises(killable.OutOfTime):
        let_pass(10_000)
    assert clock[0] - before == pytest.approx(80, abs=1)
    look = (8.0, True)
    with pytest.raises(killable.OutOfProcessorTime):
        killable._Account(0, processor_seconds=0, sleeping_seconds=80).seconds_to_wait()


@pytest.mark.parametrize(
    ("number", "error", "reason"),
    [
        (signal.SIGXCPU, FileTooLarge, "more than 60 s of processor time"),
        (signal.SIGSEGV, BrokenFile, r"crashed \(signal 11\)"),
        (signal.SIGKILL, BrokenFile, r"crashed \(signal 9\)"),
    ],
)
def test_refusal_says_how_the_kernel_ended_a_child(
    taken_over: IsolatedReader, number: signal.Signals, error: type[Exception], reason: str
) -> None:
    with TemporaryFile() as file, pytest.raises(error, match=reason):
        taken_over.read_waiting(file.fileno(), f"signal {number.value}")
    assert children() == []


def test_file_is_not_refused_where_no_child_can_start(
    taken_over: IsolatedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(killable, "_SECONDS_TO_START", 0.0)
    with TemporaryFile() as file, pytest.raises(Unavailable):
        taken_over.read_waiting(file.fileno(), "computes")
    assert children() == []


def test_a_fork_server_that_stands_still_is_killed_and_begun_anew(
    taken_over: IsolatedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(killable, "_SECONDS_TO_FORK", 0.2)
    with TemporaryFile() as file:
        file.write(b"x")
        file.seek(0)
        taken_over.read_waiting(file.fileno(), "waits")
        [server] = fork_servers()
        server.suspend()
        file.seek(0)
        assert taken_over.read_waiting(file.fileno(), "waits").pages == ["word"]
    assert server.pid not in [each.pid for each in fork_servers()]


async def test_event_loop_goes_on_and_few_children_run_at_once(taken_over: IsolatedReader) -> None:
    receiving, sending = os.pipe()
    reading = asyncio.gather(*(taken_over.read(receiving, "waits") for _ in range(6)))
    for waiting in range(6, 0, -1):
        running = min(2, waiting)
        assert await asyncio.to_thread(eventually, lambda running=running: len(children()) == running)
        os.write(sending, b"x")  # one of them goes on
    assert [extraction.pages for extraction in await reading] == [["word"]] * 6
    os.close(receiving)
    os.close(sending)

    assert children() == []


def test_leaving_the_reader_kills_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_answer", answer_badly)

    def read_on() -> None:
        with TemporaryFile() as file, pytest.raises(BrokenFile):
            reader.read_waiting(file.fileno(), "computes")

    with IsolatedReader(ReadingLimits(seconds=60)) as reader:
        reading = threading.Thread(target=read_on)
        reading.start()
        assert eventually(children)
    reading.join(60)

    assert not reading.is_alive()
    assert children() == []


def test_children_end_with_a_parent_that_is_killed() -> None:
    source = """
        from bookprint_readers import processes
        from tests.readers.children import answer_badly
        processes._answer = answer_badly
        with processes.IsolatedReader(processes.ReadingLimits(seconds=60)) as reader, open(0, "rb") as file:
            reader.read_waiting(file.fileno(), "computes")
    """
    command = [sys.executable, "-c", textwrap.dedent(source)]
    parent = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL)
    process = psutil.Process(parent.pid)
    assert eventually(lambda: children(process))
    family = process.children(recursive=True)
    parent.send_signal(signal.SIGKILL)
    parent.wait()

    assert psutil.wait_procs(family, timeout=60)[1] == []


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


@pytest.mark.slow
async def test_children_that_hang_are_killed_and_keep_no_other_from_its_turn(hurried: IsolatedReader) -> None:
    before = processor_seconds()
    names = ["unfinished", "slow", "unfinished"]
    with TemporaryFile() as file:
        reading = (hurried.read(file.fileno(), name) for name in names)
        found = await asyncio.gather(*reading, return_exceptions=True)
    for name, each in zip(names, found, strict=True):
        assert isinstance(each, FileTooLarge)
        assert f"{name} was not read: its reader hangs. It waited for more than 1 s" in str(each)
    assert children() == []
    assert processor_seconds() - before < 3


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
