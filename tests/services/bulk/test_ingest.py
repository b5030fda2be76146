"""Taking in many books: their order, and an early end."""

import json
from collections.abc import Iterator
from multiprocessing import forkserver
from typing import Any

import pytest

from app.services.books import IngestRun, Outcome
from app.services.bulk.ingest import ingest_in_bulk
from bookprint_readers.unread import Unread, UnreadLine
from tests.factories import ACTOR
from tests.open_services import OpenServices


@pytest.fixture(scope="module", autouse=True)
def _kernels_of_readers() -> Iterator[None]:
    """Have the processes that read begin with all kernels, and what they prepare books with."""
    server: Any = forkserver._forkserver
    preloaded = server._preload_modules
    server._stop()
    forkserver.set_forkserver_preload([*preloaded, "tests.loaded_kernels", "app.services.bulk.ingest"])
    yield
    server._stop()
    forkserver.set_forkserver_preload(preloaded)


def line(number: int, text: str | None = None) -> UnreadLine:
    data = {"title": str(number), "text": text or f"The text of book {number}. " * 40}
    return UnreadLine("books.jsonl", f"line {number}", number, json.dumps(data).encode())


async def take_in(
    services: OpenServices, books: Iterator[UnreadLine], run: IngestRun
) -> list[tuple[Unread, Outcome]]:
    told: list[tuple[Unread, Outcome]] = []
    await ingest_in_bulk(
        services.ingest,
        services.upkeep,
        books,
        run=run,
        processes=2,
        tell=lambda *each: told.append(each),
        actor=ACTOR,
        collection=None,
    )
    return told


async def test_what_became_of_each_book_is_told_in_order(services: OpenServices) -> None:
    run = IngestRun()
    books = (line(n, "—" if n == 70 else None) for n in [*range(150), 3])
    told = await take_in(services, books, run)
    assert [book.position for book, _ in told] == [*range(150), 3]
    assert run.counts == {"created": 149, "already there": 1, "pending": 0, "failed": 1}
    assert [outcome.refusal.problem for _, outcome in told if outcome.refusal is not None] == ["empty-text"]
    assert await services.is_clean()


async def test_an_early_end_stores_what_was_read(services: OpenServices) -> None:
    run, taken = IngestRun(), 0

    def books() -> Iterator[UnreadLine]:
        nonlocal taken
        for number in range(1_000):
            if number == 100:
                run.interrupt()
            taken += 1
            yield line(number)

    told = await take_in(services, books(), run)
    assert taken < 200
    assert {outcome.kind for _, outcome in told} == {"created"}
    assert run.total == len(told) > 64
    assert (await services.upkeep.verify(lambda done, total: None)).books == len(told)
