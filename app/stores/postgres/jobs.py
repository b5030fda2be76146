"""Background jobs, deferred in the very transaction that makes them necessary.

The tasks live in `workers`, which this side does not import: a job is known here by its name and arguments.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

RECONCILE = "reconcile"
RELATE = "relate"

INDEX_QUEUE = "index"
RELATE_QUEUE = "relate"


async def defer_relate(connection: AsyncConnection, entry_id: int) -> int:
    """Put a job into this transaction that finds the relations of an entry; returns the job's id."""
    [job_id] = await connection.scalar(_DEFER, {"entry_ids": [entry_id]})
    return int(job_id)


async def defer_relates(connection: AsyncConnection, entry_ids: Sequence[int]) -> None:
    """Put such jobs into this transaction for those of the entries that have none waiting."""
    await connection.execute(_DEFER_MISSING, {"entry_ids": list(entry_ids)})


def deferring(entries: str) -> str:
    """In SQL: defers such a job for each `entry_id` in a table; one row, with the ids of the jobs.

    Procrastinate's own client takes longer for the same call than Postgres for a whole post.
    """
    return f"""
        SELECT procrastinate_defer_jobs_v1(array_agg(CAST(
            ROW('{RELATE_QUEUE}', '{RELATE}', 0, NULL, NULL, jsonb_build_object('entry_id', entry_id), NULL)
            AS procrastinate_job_to_defer_v1
        )))
        FROM {entries}
    """


def _with_entries(sql: str) -> sa.TextClause:
    return sa.text(sql).bindparams(sa.bindparam("entry_ids", type_=ARRAY(sa.BigInteger)))


_DEFER = _with_entries(deferring("unnest(:entry_ids) AS entry_id"))
_DEFER_MISSING = _with_entries(f"""
    WITH missing AS (
        SELECT entry_id FROM unnest(:entry_ids) AS entry_id WHERE NOT EXISTS (
            SELECT FROM procrastinate_jobs
            WHERE task_name = 'relate' AND status = 'todo' AND status <> 'succeeded'
                AND CAST(args ->> 'entry_id' AS bigint) = entry_id
        )
    )
    {deferring("missing")}
""")
