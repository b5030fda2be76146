"""What became of the jobs: the queue's own tables, and beside them why tries failed.

The queue keeps no reasons, and leaves the jobs of a dead worker where they were. Each method is one
transaction.
"""

from collections.abc import Sequence
from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from app.core.model import Job, JobCounts, Rescued
from app.stores.postgres.errors import postgres_outages


class JobStore:
    """The states of jobs in Postgres."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def get(self, job_id: int) -> Job | None:
        """The job with this id, if there is one."""
        with postgres_outages():
            async with self._engine.connect() as connection:
                row = (await connection.execute(_GET, {"job_id": job_id})).mappings().one_or_none()
        return None if row is None else Job(**row)

    async def failed(self, limit: int) -> list[Job]:
        """Up to `limit` failed jobs, the latest first."""
        with postgres_outages():
            async with self._engine.connect() as connection:
                rows = (await connection.execute(_FAILED, {"limit": limit})).mappings().all()
        return [Job(**row) for row in rows]

    async def counts(self) -> list[JobCounts]:
        """How many jobs there are by task and state, but for those that succeeded."""
        with postgres_outages():
            async with self._engine.connect() as connection:
                rows = (await connection.execute(_COUNTS)).mappings().all()
        return [JobCounts(**row) for row in rows]

    async def failure_counts(self) -> dict[str, int]:
        """How many tries have ever failed, by task."""
        with postgres_outages():
            async with self._engine.connect() as connection:
                rows = (await connection.execute(_FAILURE_COUNTS)).mappings().all()
        return {row["task"]: row["tries"] for row in rows}

    async def note_failure(self, job_id: int, task: str, reason: str) -> None:
        """Write down why a try failed."""
        with postgres_outages():
            async with self._engine.begin() as connection:
                values = {"job_id": job_id, "task": task, "reason": reason}
                await connection.execute(_NOTE_FAILURE, values)

    async def put_back(self, job_id: int | None) -> Sequence[int]:
        """Let a failed job, or all of them, begin anew with its first try; returns their ids."""
        with postgres_outages():
            async with self._engine.begin() as connection:
                return (await connection.scalars(_PUT_BACK, {"job_id": job_id})).all()

    async def rescue(self, silent_for: timedelta, most_tries: int) -> list[Rescued]:
        """Take the jobs from workers that have been silent for so long; the try counts as failed.

        A worker takes all its jobs along when it dies, and nobody knows which one killed it. So in each queue
        they are tried again one after the other (they share a lock), and only the culprit dies again.
        """
        with postgres_outages():
            async with self._engine.begin() as connection:
                values = {"silent_for": silent_for, "most_tries": most_tries}
                rows = (await connection.execute(_RESCUE, values)).mappings().all()
        return [Rescued(**row) for row in rows]

    async def sweep(self, succeeded_for: timedelta, failed_for: timedelta) -> int:
        """Forget jobs that ended longer ago than this; returns how many, a limited number at a time."""
        with postgres_outages():
            async with self._engine.begin() as connection:
                done = await connection.execute(
                    _SWEEP_SUCCEEDED, {"age": succeeded_for, "limit": _SWEPT_AT_ONCE}
                )
                failed = await connection.execute(_SWEEP_FAILED, {"age": failed_for, "limit": _SWEPT_AT_ONCE})
        return done.rowcount + failed.rowcount


_SWEPT_AT_ONCE = 10_000

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

_GET = sa.text(f"{_JOBS} WHERE job.id = :job_id")

_IS_FAILED = "job.status IN ('failed', 'cancelled', 'aborted')"

_FAILED = sa.text(f"{_JOBS} WHERE {_IS_FAILED} ORDER BY failure.failed_at DESC NULLS LAST LIMIT :limit")

# Each part has an index that holds no other jobs; those that succeeded are too many to be counted.
_COUNTS = sa.text(f"""
    SELECT job.task_name AS task, {_STATE}, count(*) AS count
    FROM procrastinate_jobs AS job WHERE job.status IN ('todo', 'doing') GROUP BY job.task_name, job.status
    UNION ALL
    SELECT job.task_name, 'failed', count(*)
    FROM procrastinate_jobs AS job WHERE {_IS_FAILED} GROUP BY job.task_name
    ORDER BY task, state
""")

_FAILURE_COUNTS = sa.text("SELECT task, tries FROM failure_counts")

_NOTE_FAILURE = sa.text("""
    WITH counted AS (
        INSERT INTO failure_counts (task, tries) VALUES (:task, 1)
        ON CONFLICT (task) DO UPDATE SET tries = failure_counts.tries + 1
    )
    INSERT INTO job_failures (job_id, reason) SELECT id, :reason FROM procrastinate_jobs WHERE id = :job_id
    ON CONFLICT (job_id) DO UPDATE SET reason = excluded.reason, failed_at = now()
""")

_PUT_BACK = sa.text(f"""
    WITH again AS (
        UPDATE procrastinate_jobs AS job
        SET status = 'todo', attempts = 0, scheduled_at = NULL, lock = NULL, abort_requested = false
        WHERE {_IS_FAILED} AND (CAST(:job_id AS bigint) IS NULL OR id = :job_id)
        RETURNING id
    ),
    forgotten AS (DELETE FROM job_failures USING again WHERE job_id = again.id)
    SELECT id FROM again ORDER BY id
""").bindparams(sa.bindparam("job_id", type_=sa.BigInteger))

_RESCUE = sa.text(f"""
    WITH dead AS (
        SELECT job.id, job.task_name
        FROM procrastinate_jobs AS job LEFT JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
        WHERE job.status = 'doing' AND (worker.id IS NULL OR worker.last_heartbeat < now() - :silent_for)
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
            CASE WHEN job.attempts + 1 < :most_tries THEN 'todo' ELSE 'failed' END AS procrastinate_job_status
        ),
        attempts = job.attempts + 1,
        scheduled_at = NULL,
        abort_requested = false,
        lock = 'rescued:' || job.queue_name
    FROM dead
    WHERE job.id = dead.id
    RETURNING job.id, job.task_name AS task, {_STATE}
""").bindparams(sa.bindparam("silent_for", type_=sa.Interval))

_SWEEP_SUCCEEDED = sa.text("""
    DELETE FROM procrastinate_jobs WHERE id IN (
        SELECT job.id
        FROM procrastinate_events AS event JOIN procrastinate_jobs AS job ON job.id = event.job_id
        WHERE event.type = 'succeeded' AND event.at < now() - :age
        ORDER BY event.at LIMIT :limit
        FOR UPDATE OF job SKIP LOCKED
    )
""").bindparams(sa.bindparam("age", type_=sa.Interval))

_SWEEP_FAILED = sa.text(f"""
    DELETE FROM procrastinate_jobs WHERE id IN (
        SELECT job.id
        FROM procrastinate_jobs AS job
        WHERE {_IS_FAILED}
            AND (SELECT max(at) FROM procrastinate_events WHERE job_id = job.id) < now() - :age
        LIMIT :limit
        FOR UPDATE OF job SKIP LOCKED
    )
""").bindparams(sa.bindparam("age", type_=sa.Interval))
