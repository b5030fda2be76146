"""Processes that read books: their order, their death, and what they may not do."""

from collections.abc import Iterator

import pytest

from bookprint_core.errors import BrokenFile
from bookprint_readers import processes as module
from bookprint_readers.processes import ReadingProcesses
from tests.readers.children import KINDS, Order, children, obey, orders
from tests.waiting import eventually


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


def test_a_book_that_hangs_its_process_is_lost_and_the_process_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SLEEP_FACTOR", 0.1)
    for hung in results("sleep 3600", "sleep 3600", count=1, seconds=10):
        assert isinstance(hung, BrokenFile)
        assert "more than 1 seconds, and took less than 10 seconds of processor time" in str(hung)
    assert eventually(lambda: not children())


def test_processor_time_is_limited_for_each_book_and_not_for_its_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SLEEP_FACTOR", 1_000)
    *read, left, computed, after = results(
        *["compute 0.3"] * 5, "limit", "compute 3600", "sleep 0", count=1, seconds=0.5
    )
    assert read == [0, 1, 2, 3, 4]
    assert left in {1, 2}  # seconds until the kernel ends it
    assert isinstance(computed, BrokenFile)
    assert "more than 0.5 seconds of processor time" in str(computed)
    assert after == 7


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
