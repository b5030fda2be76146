"""Background jobs, deferred in the very transaction that makes them necessary.

The tasks live in `workers`, which this side does not import: a job is known here by its name and arguments.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from procrastinate import App, PsycopgConnector
from sqlalchemy.ext.asyncio import AsyncConnection

INDEX_BOOK = "index_book"
RECONCILE = "reconcile"
RELATE = "relate"

INDEX_QUEUE = "index"
RELATE_QUEUE = "relate"

GRACE_SECONDS = 5
"""How long a post may take to write the index itself before `index_book` steps in."""

_DEFERRER = App(connector=PsycopgConnector())


async def defer_index_book(connection: AsyncConnection, entry_id: int) -> int:
    """Put a job into this transaction that finishes the indexing of an entry; returns the job's id."""
    return await _defer(connection, INDEX_BOOK, INDEX_QUEUE, entry_id, GRACE_SECONDS)


async def defer_relate(connection: AsyncConnection, entry_id: int) -> int:
    """Put a job into this transaction that finds the relations of an entry; returns the job's id."""
    return await _defer(connection, RELATE, RELATE_QUEUE, entry_id)


async def defer_relates(connection: AsyncConnection, entry_ids: Sequence[int]) -> None:
    """Put such jobs into this transaction for those of the entries that have none waiting."""
    waiting = set((await connection.scalars(_WAITING, {"entry_ids": list(entry_ids)})).all())
    for entry_id in entry_ids:
        if entry_id not in waiting:
            await defer_relate(connection, entry_id)


async def withdraw(connection: AsyncConnection, job_id: int) -> None:
    """Remove a waiting job that has become needless; a job that already runs is left alone."""
    await connection.execute(_WITHDRAW, {"job_id": job_id})


_WAITING = sa.text("""
    SELECT CAST(args ->> 'entry_id' AS bigint) FROM procrastinate_jobs
    WHERE task_name = 'relate' AND status = 'todo' AND status <> 'succeeded'
        AND CAST(args ->> 'entry_id' AS bigint) = ANY(:entry_ids)
""")
_WITHDRAW = sa.text("DELETE FROM procrastinate_jobs WHERE id = :job_id AND status = 'todo'")


async def _defer(
    connection: AsyncConnection, task: str, queue: str, entry_id: int, after: int | None = None
) -> int:
    raw = await connection.get_raw_connection()
    job = _DEFERRER.configure_task(
        task,
        queue=queue,
        schedule_in=None if after is None else {"seconds": after},
        connection=raw.driver_connection,
    )
    return await job.defer_async(entry_id=entry_id)
