"""Background jobs: the tables of the queue, and a table with the reasons of failed tries.

The tasks are in `workers`, which this module does not import: it identifies a job by its name and arguments.
Procrastinate's manager is not used: its counts and deletions read every job, its retry does not reset the
number of tries, and reasons are not stored. No other module names the queue's tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from asyncpg import UndefinedTableError

from app.stores.postgres.connections import SQL, Connection, Database, rows
from bookprint_core.errors import BookprintError

JobState = Literal["waiting", "running", "succeeded", "failed"]


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it is now."""

    id: int
    task: str
    state: JobState
    attempts: int  # tries so far, the running one included
    book_id: UUID | None  # None: no book, or the book was changed or deleted
    created_at: datetime
    next_try_at: datetime | None  # None: at once, or the job is not waiting
    reason: str | None  # of the failure of its last try; None if it succeeded


@dataclass(frozen=True, slots=True)
class JobCounts:
    """The number of jobs of a task in a state."""

    task: str
    state: JobState
    count: int


@dataclass(frozen=True, slots=True)
class Rescued:
    """A job whose worker died."""

    id: int
    task: str
    state: JobState  # waiting for its next try, or failed


RECONCILE = "reconcile"
RELATE = "relate"

INDEX_QUEUE = "index"
RELATE_QUEUE = "relate"

_SWEPT_AT_ONCE = 10_000

UNFINISHED_RELATE_JOBS = """
    SELECT id, status, CAST(args ->> 'entry_id' AS bigint) AS entry_id FROM procrastinate_jobs
    WHERE task_name = 'relate' AND status <> 'succeeded' AND CAST(args ->> 'entry_id' AS bigint)
"""
"""Query for waiting, running and failed relate jobs; the caller appends a condition on the entry."""


def insert_relate_jobs_of(entries: str) -> str:
    """Return SQL that defers a relate job for each `entry_id` in a table, as part of another statement.

    Procrastinate's client needs more time for this call than Postgres for a whole post.
    """
    return f"""
        SELECT procrastinate_defer_jobs_v1(array_agg(CAST(
            ROW('{RELATE_QUEUE}', '{RELATE}', 0, NULL, NULL, jsonb_build_object('entry_id', entry_id), NULL)
            AS procrastinate_job_to_defer_v1
        )))
        FROM {entries}
    """


_INSERT_MISSING = SQL(f"""
    WITH missing AS (
        SELECT entry_id FROM unnest($entry_ids::bigint[]) AS entry_id WHERE NOT EXISTS (
            {UNFINISHED_RELATE_JOBS} = entry_id AND status = 'todo'
        )
    )
    {insert_relate_jobs_of("missing")}
""")

_STATE = """
    CASE job.status
        WHEN 'todo' THEN 'waiting' WHEN 'doing' THEN 'running' WHEN 'succeeded' THEN 'succeeded' ELSE 'failed'
    END AS state
"""
_JOBS = f"""
    SELECT job.id, job.task_name AS task, {_STATE},
        job.attempts + CASE job.status WHEN 'doing' THEN 1 ELSE 0 END AS attempts,
        books.id AS book_id,
        (SELECT min(event.at) FROM procrastinate_events AS event WHERE event.job_id = job.id) AS created_at,
        CASE job.status WHEN 'todo' THEN job.scheduled_at END AS next_try_at,
        CASE
            WHEN job.status IN ('todo', 'doing') THEN failure.reason
            WHEN job.status <> 'succeeded' THEN coalesce(failure.reason, 'Cancelled, or its task is unknown')
        END AS reason
    FROM procrastinate_jobs AS job
    LEFT JOIN job_failures AS failure ON failure.job_id = job.id
    LEFT JOIN books ON books.entry_id = CAST(job.args ->> 'entry_id' AS bigint)
"""
_IS_FAILED = "job.status IN ('failed', 'cancelled', 'aborted')"

_READ = SQL(f"{_JOBS} WHERE job.id = $job_id")
_LIST_FAILED = SQL(f"{_JOBS} WHERE {_IS_FAILED} ORDER BY failure.failed_at DESC NULLS LAST LIMIT $limit")
# Each part uses an index of its jobs only. Succeeded jobs are not counted, because they are too many.
_COUNT_BY_STATE = SQL(f"""
    SELECT job.task_name AS task, {_STATE}, count(*) AS count
    FROM procrastinate_jobs AS job WHERE job.status IN ('todo', 'doing') GROUP BY job.task_name, job.status
    UNION ALL
    SELECT job.task_name, 'failed', count(*)
    FROM procrastinate_jobs AS job WHERE {_IS_FAILED} GROUP BY job.task_name
    ORDER BY task, state
""")
_COUNT_WAITING = SQL("""
    SELECT count(*) AS count
    FROM (SELECT FROM procrastinate_jobs WHERE status = 'todo' LIMIT $limit) AS waiting
""")
_COUNT_FAILURES = SQL("SELECT task, tries FROM failure_counts")
_COUNT_WORKERS = SQL(
    "SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - $silent_for::interval"
)
_INSERT_FAILURE = SQL("""
    WITH counted AS (
        INSERT INTO failure_counts (task, tries) VALUES ($task, 1)
        ON CONFLICT (task) DO UPDATE SET tries = failure_counts.tries + 1
    )
    INSERT INTO job_failures (job_id, reason)
    SELECT id, $reason FROM procrastinate_jobs WHERE id = $job_id
    ON CONFLICT (job_id) DO UPDATE SET reason = excluded.reason, failed_at = now()
""")
_UPDATE_FAILED = SQL(f"""
    WITH again AS (
        UPDATE procrastinate_jobs AS job
        SET status = 'todo', attempts = 0, scheduled_at = NULL, lock = NULL, abort_requested = false
        WHERE {_IS_FAILED} AND ($job_id::bigint IS NULL OR id = $job_id)
        RETURNING id
    ),
    forgotten AS (DELETE FROM job_failures USING again WHERE job_id = again.id)
    SELECT id FROM again ORDER BY id
""")
_UPDATE_ABANDONED = SQL(f"""
    WITH dead AS (
        SELECT job.id, job.task_name
        FROM procrastinate_jobs AS job LEFT JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
        WHERE job.status = 'doing'
            AND (worker.id IS NULL OR worker.last_heartbeat < now() - $silent_for::interval)
        FOR UPDATE OF job SKIP LOCKED
    ),
    noted AS (
        INSERT INTO job_failures (job_id, reason, deaths) SELECT id, 'The worker died 1 time', 1 FROM dead
        ON CONFLICT (job_id) DO UPDATE SET
            reason = 'The worker died ' || job_failures.deaths + 1 || ' times',
            deaths = job_failures.deaths + 1,
            failed_at = now()
    ),
    counted AS (
        INSERT INTO failure_counts (task, tries) SELECT task_name, count(*) FROM dead GROUP BY task_name
        ON CONFLICT (task) DO UPDATE SET tries = failure_counts.tries + excluded.tries
    )
    UPDATE procrastinate_jobs AS job
    SET status = CAST(
            CASE WHEN job.attempts + 1 < $most_tries THEN 'todo' ELSE 'failed' END
            AS procrastinate_job_status
        ),
        attempts = job.attempts + 1,
        scheduled_at = NULL,
        abort_requested = false,
        lock = 'rescued:' || job.queue_name
    FROM dead
    WHERE job.id = dead.id
    RETURNING job.id, job.task_name AS task, {_STATE}
""")
_DELETE_ENDED = SQL(f"""
    WITH succeeded AS (
        SELECT job.id
        FROM procrastinate_events AS event JOIN procrastinate_jobs AS job ON job.id = event.job_id
        WHERE event.type = 'succeeded' AND event.at < now() - $succeeded_for::interval
        ORDER BY event.at LIMIT $limit
        FOR UPDATE OF job SKIP LOCKED
    ),
    failed AS (
        SELECT job.id
        FROM procrastinate_jobs AS job
        WHERE {_IS_FAILED} AND now() - $failed_for::interval
            > (SELECT max(at) FROM procrastinate_events WHERE job_id = job.id)
        LIMIT $limit
        FOR UPDATE OF job SKIP LOCKED
    ),
    deleted AS (
        DELETE FROM procrastinate_jobs
        WHERE id IN (SELECT id FROM succeeded UNION ALL SELECT id FROM failed) RETURNING id
    )
    SELECT count(*) FROM deleted
""")


async def insert_relate_jobs(connection: Connection, entry_ids: Sequence[int]) -> None:
    """Defer relate jobs in this transaction for all entries without a waiting relate job."""
    await rows(connection, _INSERT_MISSING, entry_ids=list(entry_ids))


class JobStore:
    """The states of jobs in Postgres. Each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, job_id: int) -> Job | None:
        rows = await self._database.rows(_READ, job_id=job_id)
        return Job(**rows[0]) if rows else None

    async def list_failed(self, limit: int) -> list[Job]:
        """Return at most `limit` failed jobs, latest first."""
        return [Job(**row) for row in await self._database.rows(_LIST_FAILED, limit=limit)]

    async def count(self) -> list[JobCounts]:
        """Return the number of jobs by task and state, without succeeded jobs."""
        return [JobCounts(**row) for row in await self._database.rows(_COUNT_BY_STATE)]

    async def count_waiting(self, limit: int) -> int:
        """Return the number of waiting jobs, at most `limit`."""
        [row] = await self._database.rows(_COUNT_WAITING, limit=limit)
        return int(row["count"])

    async def count_failures(self) -> dict[str, int]:
        """Return the number of tries that ever failed, by task."""
        return {row["task"]: row["tries"] for row in await self._database.rows(_COUNT_FAILURES)}

    async def count_workers(self, silent_for: timedelta) -> int:
        """Return the number of workers alive in this time; raises BookprintError without tables."""
        try:
            [row] = await self._database.rows(_COUNT_WORKERS, silent_for=silent_for)
        except UndefinedTableError as exc:
            raise BookprintError("The job queue has no tables. Run `bookprint migrate`.") from exc
        return int(row["count"])

    async def insert_failure(self, job_id: int, task: str, reason: str) -> None:
        await self._database.rows(_INSERT_FAILURE, job_id=job_id, task=task, reason=reason)

    async def update_failed(self, job_id: int | None) -> list[int]:
        """Reset a failed job (None: all failed jobs) to its first try; return the ids of the jobs."""
        return [row["id"] for row in await self._database.rows(_UPDATE_FAILED, job_id=job_id)]

    async def update_abandoned(self, silent_for: timedelta, most_tries: int) -> list[Rescued]:
        """End the jobs of workers that have been silent for this time; the try counts as failed.

        When a worker dies, all its jobs end, and nothing shows which job was the cause. The jobs of a queue
        therefore share a lock and are retried one by one, so that the cause then ends no other job.
        """
        rows = await self._database.rows(_UPDATE_ABANDONED, silent_for=silent_for, most_tries=most_tries)
        return [Rescued(**row) for row in rows]

    async def delete_ended(self, succeeded_for: timedelta, failed_for: timedelta) -> int:
        """Delete jobs that ended longer ago than this, a limited number at a time; return their number."""
        [row] = await self._database.rows(
            _DELETE_ENDED, succeeded_for=succeeded_for, failed_for=failed_for, limit=_SWEPT_AT_ONCE
        )
        return int(row["count"])
