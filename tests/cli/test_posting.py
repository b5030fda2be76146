"""Posting many books to a service that is not always well: a real HTTP server with prescribed answers."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.posting import ReadBook, post_all
from app.services.books import IngestRun, Outcome
from bookprint_client import Client, NoService
from bookprint_core.model import Metadata, Submission
from bookprint_core.text.content import content_from_text
from bookprint_readers.unread import Unread
from tests.cli.command_line import in_a_process
from tests.forks import Fork
from tests.prescribed_server import BUSY, CREATED, Answer, Prescribed, prescribing
from tests.waiting import eventually


@pytest.fixture
def server() -> Iterator[Prescribed]:
    with prescribing() as server:
        yield server


def records(count: int) -> list[ReadBook]:
    return [
        (Unread(f"book {n}", "", n), Submission(Metadata(title=str(n)), content_from_text(f"book {n}")))
        for n in range(count)
    ]


class NoWaits(threading.Event):
    """Takes no time to wait."""

    def wait(self, timeout: float | None = None) -> bool:
        return self.is_set()


def post(
    url: str, books: list[ReadBook], jobs: int = 2, patience: float = 60.0
) -> tuple[IngestRun, list[tuple[Unread, Outcome]], NoService | None]:
    """The counts, what became of each book, and why posting stopped early."""
    run, told = IngestRun(), list[tuple[Unread, Outcome]]()
    with Client(url, jobs, patience) as service:
        service.stop = NoWaits()
        stopped = post_all(service, books, jobs, run, lambda book, outcome: told.append((book, outcome)))
    return run, told, stopped


def test_a_book_refused_for_the_moment_is_posted_again_until_it_is_taken(server: Prescribed) -> None:
    tries = dict.fromkeys(map(str, range(10)), 0)

    def answer(body: dict[str, object]) -> Answer:
        tries[str(body["title"])] += 1
        return CREATED if tries[str(body["title"])] == 2 else BUSY

    server.answer = answer
    run, _, stopped = post(server.url, records(10), jobs=5)
    assert run.counts == {"created": 10, "already there": 0, "pending": 0, "failed": 0}
    assert stopped is None
    assert set(tries.values()) == {2}


def test_a_service_that_stays_away_ends_the_run_and_says_so(server: Prescribed) -> None:
    server.answer = lambda body: BUSY
    _, told, stopped = post(server.url, records(100), patience=0.5)
    assert isinstance(stopped, NoService)
    assert "Postgres is away" in str(stopped)
    assert not told


def test_each_outcome_is_counted_and_each_failure_has_its_reason(server: Prescribed) -> None:
    answers: dict[str, Answer] = {
        "0": CREATED,
        "1": (200, {}, {"created": False, "status": "indexed"}),
        "2": (201, {}, {"created": True, "status": "pending"}),
        "3": (409, {}, {"title": "Conflict", "detail": "Another book has this external_id."}),
        "4": (500, {}, "oops"),
    }
    server.answer = lambda body: answers[str(body["title"])]
    run, told, _ = post(server.url, records(5))
    assert run.counts == {"created": 1, "already there": 1, "pending": 1, "failed": 2}
    reasons = {book.place: outcome.refusal.reason for book, outcome in told if outcome.refusal is not None}
    assert reasons == {
        "book 3": "HTTP 409: Conflict. Another book has this external_id.",
        "book 4": "HTTP 500",
    }


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_ctrl_c_finishes_what_is_under_way_and_says_that_not_all_was_posted(
    server: Prescribed, tmp_path: Path, jobs: str
) -> None:
    def slowly(body: dict[str, object]) -> Answer:
        time.sleep(0.3)
        return CREATED

    server.answer = slowly
    file = tmp_path / "books.jsonl"
    file.write_text("".join(json.dumps({"text": f"book {n}"}) + "\n" for n in range(1000)))

    def interrupt(process: Fork) -> None:
        assert eventually(lambda: bool(server.bodies))
        process.send_signal(signal.SIGINT)

    done = in_a_process("ingest", file, "--url", server.url, "--jobs", jobs, meanwhile=interrupt)
    assert done.returncode == 130
    assert len(server.bodies) < 1000
    assert done.stdout == f"{len(server.bodies)} created, 0 already there, 0 pending, 0 failed\n"
    assert "Interrupted" in done.stderr
    assert "Traceback" not in done.stderr
