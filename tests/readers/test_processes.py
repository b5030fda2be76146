"""Processes that read books: their order, their death, and what they may not do."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil
import pytest

from app.core.errors import BrokenFile
from app.core.model import Metadata
from app.readers.processes import Ask, ParentQuestion, ReadingProcesses
from app.readers.unread import Unread
from tests.readers.children import children, eventually


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
    assert isinstance(order, Order)
    return order(ask)


KINDS = (int, str, Number)


def orders(*parts: str) -> list[Order]:
    return [Order("", part, position) for position, part in enumerate(parts)]


def results(*parts: str, count: int = 2, seconds: float = 60) -> list[object]:
    with ReadingProcesses(count, obey, KINDS, lambda question: -question.number, seconds) as processes:
        return [result for _, result in processes.map(orders(*parts))]


def test_results_come_in_the_order_of_the_books() -> None:
    assert results("sleep 0.3", "sleep 0", "sleep 0.2", *["sleep 0"] * 20) == list(range(23))


def test_a_book_that_kills_its_process_is_lost_and_the_others_are_not() -> None:
    first, killed, second, ended, third = results("sleep 0", "die", "sleep 0", "exit", "sleep 0")
    assert (first, second, third) == (0, 2, 4)
    assert isinstance(killed, BrokenFile)
    assert isinstance(ended, BrokenFile)
    assert "signal 9" in str(killed)
    assert "status 3" in str(ended)


def test_a_process_that_answers_otherwise_than_it_may_loses_its_book_alone() -> None:
    first, other, second, asking, third = results(
        "sleep 0", "answer otherwise", "sleep 0", "ask for ever", "sleep 0"
    )
    assert (first, second, third) == (0, 2, 4)
    for result in (other, asking):
        assert isinstance(result, BrokenFile)
        assert "a wrong answer" in str(result)


def test_a_book_that_hangs_its_process_is_lost_and_the_process_is_gone() -> None:
    started = time.monotonic()
    hung, after = results("sleep 100", "sleep 0", count=1, seconds=1)
    assert isinstance(hung, BrokenFile)
    assert "more than 1 seconds" in str(hung)
    assert after == 1
    assert time.monotonic() - started < 30
    assert eventually(lambda: not children())


def test_memory_is_limited() -> None:
    assert results("grow") == ["too much"]


def test_the_parent_answers_what_the_work_asks() -> None:
    assert results("sleep 0", "ask", "ask") == [0, -1, -2]


def test_no_more_books_are_taken_than_are_under_way() -> None:
    taken = 0

    def source() -> Iterator[Order]:
        nonlocal taken
        for order in orders(*["sleep 0"] * 50):
            taken += 1
            yield order

    with ReadingProcesses(2, obey, KINDS) as processes:
        for done, _ in enumerate(processes.map(source()), start=1):
            assert taken - done <= 6


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_no_process_outlives_a_parent_that_was_killed() -> None:
    script = (
        "from tests.readers.test_processes import KINDS, ReadingProcesses, obey, orders\n"
        "if __name__ == '__main__':\n"
        "    with ReadingProcesses(2, obey, KINDS) as processes:\n"
        "        for _, result in processes.map(orders('pid', 'pid', *['sleep 100'] * 9)):\n"
        "            print(result, flush=True)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", "import runpy, sys; exec(sys.argv[1])", script],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    # Results are held back until enough books are under way, so the processes are looked up instead.
    process = psutil.Process(parent.pid)
    assert eventually(lambda: len(children(process)) == 2, 30)
    family = process.children(recursive=True)
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs(family, timeout=10)
    assert not alive


def test_leaving_the_processes_kills_them_and_ends_their_books() -> None:
    started = time.monotonic()
    with ReadingProcesses(2, obey, KINDS) as processes:
        for _, result in processes.map(orders("sleep 0", *["sleep 100"] * 6)):
            assert result == 0
            break
    assert time.monotonic() - started < 30
    assert eventually(lambda: not children())
