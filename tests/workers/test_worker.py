"""A worker process on real servers: it finishes what posts could not, and rebuilds an index that was lost."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest
from redis.asyncio import Redis

from app.services.books import new_book_id
from app.services.pairs.relations import effective_of
from app.settings import Settings
from app.stores.postgres.audit import AuditFilter
from app.stores.postgres.connections import SQL
from app.stores.redis.epoch import IndexState
from app.wiring import Services
from bookprint_core.model import Metadata, Submission
from bookprint_core.text.content import content_from_pages
from tests.api.library import prose
from tests.factories import ACTOR, a_sketch, new_content, pages_of
from tests.forks import Fork
from tests.open_services import OpenServices, open_with_stores
from tests.waiting import until

PAGES = pages_of(prose(1, 3000))
RNG = np.random.default_rng(31)


@pytest.fixture(scope="module", autouse=True)
def _loaded_forks() -> None:
    """Have the process loaded that workers are forks of, which no one test is to pay for."""
    assert Fork(["tests.loaded_kernels"], os.environ, shares_readers=True).wait(100) == 0


@pytest.fixture
async def services(database_url: str, redis_url: str) -> AsyncIterator[OpenServices]:
    async with open_with_stores(Settings(database_url=database_url, redis_url=redis_url)) as services:
        yield services


@pytest.fixture
def worker(database_url: str, redis_url: str) -> Iterator[Fork]:
    """`python -m workers`, until the test ends."""
    urls = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    environment = os.environ | urls | {"BOOKPRINT_AUDIT_DAYS": "30"}
    process = Fork(["tests.embedded.sources", WORKER, "-c", "2"], environment, shares_readers=True)
    yield process
    process.send_signal(signal.SIGKILL)
    process.wait(100)


@pytest.fixture
async def entries_of_each_day(services: OpenServices) -> None:
    """In the audit log, of the last forty days."""
    await services.database.rows(
        SQL("""
            INSERT INTO audit (at, actor, name, action, object_id)
            SELECT now() - interval '1 day' * age, 'anyone', 'anyone', 'book.deleted', gen_random_uuid()
            FROM generate_series(39, 0, -1) AS age
        """)
    )


WORKER = """
import workers.__main__
workers.__main__.main()
"""

LOST_CANCELLATION = """
import asyncio, sys
import workers.process

async def stubborn():
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass

async def run(*arguments, parts):
    asyncio.create_task(stubborn(), name="kept")
    await asyncio.sleep(0)

workers.process.run = run
sys.argv = ["workers"]
import workers.__main__
workers.__main__.main()
"""


def test_a_task_of_a_library_that_cannot_be_cancelled_does_not_keep_the_process() -> None:
    process = Fork(["tests.embedded.sources", LOST_CANCELLATION], os.environ, shares_readers=True)
    assert process.wait(100) == 0


async def test_a_worker_builds_and_rebuilds_the_index_relates_books_and_ends_on_sigterm(
    services: Services, worker: Fork, redis_url: str
) -> None:
    async def whole() -> bool:
        return await services.upkeep.state() is IndexState.COMPLETE

    async def clean() -> bool:
        return await services.is_clean()

    await until(whole)

    # As if the process that took the book in had died right after the commit.
    content = new_content(a_sketch(RNG))
    left_behind = (
        await services.ingest._catalogue.insert(new_book_id(), Metadata(), content, actor=ACTOR)
    ).book
    assert not left_behind.indexed

    async def indexed() -> bool:
        return (await services.books.get(left_behind.id)).indexed

    await until(indexed)
    assert await clean()

    book = (await services.ingest.post(Submission(sketch=a_sketch(RNG)), actor=ACTOR)).book
    async with Redis.from_url(redis_url) as redis:
        await redis.flushdb()
    await until(whole)
    assert await clean()
    assert (await services.books.get(book.id)).indexed

    first = (await services.ingest.post(Submission(content=content_from_pages(PAGES)), actor=ACTOR)).book
    second = (await services.ingest.post(Submission(content=content_from_pages(PAGES[1:])), actor=ACTOR)).book
    listed = await services.relations.of_book(second.id, None, 1, wait=60)
    assert [(related.book_id, effective_of(related).kind) for related in listed.direct] == [
        (first.id, "SAME_PAGINATION")
    ]

    worker.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(worker.wait, 100) == 0


async def test_a_worker_deletes_what_the_audit_log_need_not_keep(
    services: OpenServices, entries_of_each_day: None, worker: Fork
) -> None:
    async def swept() -> bool:
        return len(await services.audit.list_entries(AuditFilter(), None, 100)) == 30

    await until(swept)
