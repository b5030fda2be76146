"""Books that are related, and their jobs, for tests without a worker."""

import sqlalchemy as sa

from app.core.matching.candidates import SelectionLimits
from app.services.relate import Relate
from app.wiring import Services

WORDS = 300
"""Words of a page."""


def pages_of(text: str, words: int = WORDS) -> list[str]:
    """The text in pages of so many words."""
    told = text.split(" ")
    return [" ".join(told[start : start + words]) for start in range(0, len(told), words)]


def with_limits(services: Services, nearest: int, representatives: int) -> Relate:
    """The service of this house with other limits."""
    own = services.relate
    limits = SelectionLimits(nearest, representatives)
    return Relate(
        services.entries,
        services.indexes,
        services.suites,
        services.reindex,
        own._candidates,
        own._relations,
        limits,
    )


async def waiting(services: Services) -> list[tuple[int, int]]:
    """The relate jobs that wait, and their entries, in the order in which a worker takes them."""
    async with services.engine.connect() as connection:
        rows = await connection.execute(
            sa.text(
                "SELECT id, CAST(args ->> 'entry_id' AS bigint) FROM procrastinate_jobs "
                "WHERE task_name = 'relate' AND status = 'todo' ORDER BY id"
            )
        )
        return [(row[0], row[1]) for row in rows]


async def run_jobs(services: Services, relate: Relate | None = None) -> int:
    """Run the relate jobs that wait as a worker would; returns how many."""
    jobs = await waiting(services)
    for job_id, entry_id in jobs:
        await (relate or services.relate).relate_entry(entry_id)
        await end(services, job_id, "succeeded")
    return len(jobs)


async def end(services: Services, job_id: int, status: str) -> None:
    """Let a job end so."""
    async with services.engine.begin() as connection:
        await connection.execute(
            sa.text(
                "UPDATE procrastinate_jobs SET status = CAST(:status AS procrastinate_job_status) "
                "WHERE id = :id"
            ),
            {"id": job_id, "status": status},
        )
