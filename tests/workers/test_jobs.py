"""Jobs that fail, hang and kill their workers: retries, failures, and the reasons given."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest
from procrastinate.jobs import Job as QueuedJob

from app.services.jobs import MOST_TRIES, UnknownJob
from app.settings import Settings
from app.stores.postgres.connections import SQL
from app.stores.postgres.jobs import Job, JobCounts
from app.wiring import Services
from bookprint_core.errors import BookprintError
from tests.open_services import open_with_stores
from tests.waiting import until
from tests.workers.faulty_worker import PACE, open_queue, run
from workers.queue_worker import QueueWorker, work_off
from workers.tasks import JobRetry

UNFINISHED = SQL(
    "SELECT FROM procrastinate_jobs WHERE id = ANY($ids) AND status NOT IN ('succeeded', 'failed')"
)


@pytest.fixture
async def services(database_url: str) -> AsyncIterator[Services]:
    async with open_with_stores(
        Settings(database_url=database_url, redis_url="redis://127.0.0.1:9")
    ) as services:
        yield services


async def defer(database_url: str, *tasks: str) -> list[int]:
    async with open_queue(database_url).open_async() as queue:
        return [await queue.tasks[task].defer_async(entry_id=n) for n, task in enumerate(tasks)]


@asynccontextmanager
async def cancelled_at_end(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Do it beside, until the block ends."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def working(database_url: str, services: Services) -> AsyncIterator[None]:
    """A worker in this process."""
    async with cancelled_at_end(run(database_url, services.jobs)):
        yield


@asynccontextmanager
async def supervised(database_url: str) -> AsyncIterator[list[int]]:
    """A worker process that is started again whenever it dies; yields the signals of its deaths."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.workers.faulty_worker"),
        env=os.environ | {"DATABASE_URL": database_url},
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    deaths: list[int] = []

    async def count() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            if line.strip().isdigit():
                deaths.append(int(line))

    counting = asyncio.create_task(count())
    try:
        yield deaths
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        await counting


async def ended(services: Services, ids: list[int]) -> list[Job]:
    """The jobs, once each of them has succeeded or failed."""

    async def all_ended() -> bool:
        return not await services.database.rows(UNFINISHED, ids=ids)

    await until(all_ended)
    return [await services.jobs.get(job_id) for job_id in ids]


async def tried(services: Services, job_id: int, state: str, attempts: int) -> bool:
    """Whether the job is in this state after so many attempts."""
    job = await services.jobs.get(job_id)
    return (job.state, job.attempts) == (state, attempts)


async def execute(services: Services, statement: str) -> None:
    await services.database.rows(SQL(statement))


async def test_a_failing_job_is_tried_again_and_then_kept_as_failed_with_its_reason(
    services: Services, database_url: str
) -> None:
    ids = await defer(database_url, "raising", "good")
    async with working(database_url, services):
        failed, good = await ended(services, ids)

    assert (failed.state, failed.attempts) == ("failed", MOST_TRIES)
    assert failed.reason == "OSError: no way to postgresql://…@db/books"
    assert (good.state, good.attempts, good.reason, good.next_try_at) == ("succeeded", 1, None, None)
    assert await services.jobs.count() == [JobCounts("raising", "failed", 1)]
    assert await services.jobs.list_failed(10) == [failed]
    assert await services.jobs.count_failures() == {"raising": MOST_TRIES}


def test_waits_grow_up_to_a_limit_and_end() -> None:
    waits = (2, 8, 32, 128, 300, None)
    assert len(waits) == MOST_TRIES
    for attempts, wait in enumerate(waits):
        job = QueuedJob(id=1, queue="q", lock=None, queueing_lock=None, task_name="t", attempts=attempts)
        begun = datetime.now(UTC)
        decision = JobRetry().get_retry_decision(exception=ValueError(), job=job)
        assert (decision is None) == (wait is None)
        if decision is not None and wait is not None:
            assert begun <= decision.retry_at - timedelta(seconds=wait) <= datetime.now(UTC)


@pytest.mark.slow
async def test_a_poison_job_that_kills_its_worker_fails_at_the_cap_and_all_others_succeed(
    services: Services, database_url: str
) -> None:
    ids = await defer(database_url, *["good"] * 20, "poison", *["good"] * 80)
    async with supervised(database_url) as deaths:
        jobs = await ended(services, ids)

    poison = jobs.pop(20)
    assert (poison.task, poison.state, poison.attempts) == ("poison", "failed", MOST_TRIES)
    assert poison.reason == f"The worker died {MOST_TRIES} times"
    assert deaths == [signal.SIGKILL] * MOST_TRIES
    assert {job.state for job in jobs} == {"succeeded"}
    # Those that ran beside it were charged with its first deaths, not with all of them.
    assert max(job.attempts for job in jobs) <= 3


@pytest.mark.slow
async def test_a_job_of_a_killed_worker_is_taken_up_by_another(services: Services, database_url: str) -> None:
    [job_id] = await defer(database_url, "endless")
    async with supervised(database_url):
        await until(lambda: tried(services, job_id, "running", 1))
    async with working(database_url, services):
        await until(lambda: tried(services, job_id, "running", 2))
        assert (await services.jobs.get(job_id)).reason == "The worker died 1 time"


async def test_a_worker_that_has_to_end_gives_its_jobs_back(services: Services, database_url: str) -> None:
    [job_id] = await defer(database_url, "endless")
    async with working(database_url, services):
        await until(lambda: tried(services, job_id, "running", 1))
    job = await services.jobs.get(job_id)
    assert (job.state, job.reason) == ("waiting", None)


def looping(database_url: str, services: Services, loop: QueueWorker) -> AbstractAsyncContextManager[None]:
    """One queue being worked off in this process."""
    return cancelled_at_end(work_off(lambda: open_queue(database_url), loop, services.jobs))


def always() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


async def test_jobs_wait_for_the_index_without_losing_a_try(services: Services, database_url: str) -> None:
    whole = asyncio.Event()
    [job_id] = await defer(database_url, "good")
    async with looping(database_url, services, QueueWorker("relate", 2, whole, pace=PACE)):
        await until(lambda: tried(services, job_id, "running", 1))
        await asyncio.sleep(0.3)
        assert await tried(services, job_id, "running", 1)
        whole.set()
        await until(lambda: tried(services, job_id, "succeeded", 1))


async def test_a_job_that_never_ends_fails_and_frees_its_place(services: Services, database_url: str) -> None:
    ids = await defer(database_url, "endless", "good")
    async with looping(database_url, services, QueueWorker("relate", 1, always(), longest=0.1, pace=PACE)):
        endless, good = await ended(services, ids)
    assert (endless.state, endless.attempts, endless.reason) == ("failed", MOST_TRIES, "TimeoutError")
    assert good.state == "succeeded"


async def test_the_jobs_of_one_queue_do_not_wait_for_those_of_another(
    services: Services, database_url: str
) -> None:
    await defer(database_url, *["endless"] * 10)
    async with open_queue(database_url).open_async() as queue:
        good = await queue.configure_task("good", queue="index").defer_async(entry_id=1)
    async with (
        working(database_url, services),
        looping(database_url, services, QueueWorker("index", 1, always(), pace=PACE)),
    ):
        assert [job.state for job in await ended(services, [good])] == ["succeeded"]


@pytest.mark.slow
async def test_a_lost_connection_does_not_lose_the_end_of_a_job(
    services: Services, database_url: str
) -> None:
    ids = await defer(database_url, *["good"] * 200)
    async with working(database_url, services):
        for _ in range(5):
            await asyncio.sleep(0.1)
            await execute(
                services,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND query ILIKE '%procrastinate%' "
                "AND pid <> pg_backend_pid()",
            )
        assert {job.state for job in await ended(services, ids)} == {"succeeded"}


async def test_failed_jobs_can_be_put_back_one_or_all(services: Services, database_url: str) -> None:
    ids = await defer(database_url, "raising", "raising", "good")
    async with working(database_url, services):
        await ended(services, ids)
    first, second, good = ids

    await services.jobs.retry(first)
    put_back = await services.jobs.get(first)
    assert (put_back.state, put_back.attempts, put_back.reason) == ("waiting", 0, None)
    assert await services.jobs.retry_all() == 1
    assert (await services.jobs.get(second)).state == "waiting"
    with pytest.raises(BookprintError, match="is succeeded"):
        await services.jobs.retry(good)
    with pytest.raises(UnknownJob):
        await services.jobs.retry(good + 1)


async def test_what_ended_long_ago_is_swept(services: Services, database_url: str) -> None:
    ids = await defer(database_url, "raising", "good", "raising", "good", "slow")
    async with working(database_url, services):
        await ended(services, ids[:4])
    old = f"job_id IN ({ids[0]}, {ids[1]}, {ids[4]})"
    assert await services.jobs.sweep() == 0
    await execute(services, f"UPDATE procrastinate_events SET at = at - interval '29 days' WHERE {old}")
    assert await services.jobs.sweep() == 1
    await execute(services, f"UPDATE procrastinate_events SET at = at - interval '2 days' WHERE {old}")
    assert await services.jobs.sweep() == 1

    assert [(await services.jobs.get(job_id)).state for job_id in ids[2:]] == [
        "failed",
        "succeeded",
        "waiting",
    ]
    for job_id in ids[:2]:
        with pytest.raises(UnknownJob):
            await services.jobs.get(job_id)
