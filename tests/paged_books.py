"""Books that are related, and their jobs, for tests without a worker."""

from app.services.pairs.relate import Relate
from app.stores.postgres.connections import SQL
from bookprint_core.matching.candidates import SelectionLimits
from tests.open_services import OpenServices

WORDS = 300
"""Words of a page."""


def pages_of(text: str, words: int = WORDS) -> list[str]:
    """The text in pages of so many words."""
    all_words = text.split(" ")
    return [" ".join(all_words[start : start + words]) for start in range(0, len(all_words), words)]


def with_limits(services: OpenServices, nearest: int, representatives: int) -> Relate:
    """The service of relating with other limits."""
    own = services.relate
    limits = SelectionLimits(nearest, representatives)
    return Relate(
        services.entries,
        services.index,
        services.upkeep,
        own._candidates,
        own._relations,
        services.lookup,
        limits,
    )


async def waiting(services: OpenServices) -> list[tuple[int, int]]:
    """The relate jobs that wait, and their entries, in the order in which a worker takes them."""
    jobs = await services.database.rows(
        SQL(
            "SELECT id, CAST(args ->> 'entry_id' AS bigint) AS entry_id FROM procrastinate_jobs "
            "WHERE task_name = 'relate' AND status = 'todo' ORDER BY id"
        )
    )
    return [(job["id"], job["entry_id"]) for job in jobs]


async def run_jobs(services: OpenServices, relate: Relate | None = None) -> int:
    """Run the relate jobs that wait as a worker would; returns how many."""
    jobs = await waiting(services)
    for job_id, entry_id in jobs:
        await (relate or services.relate).relate_entry(entry_id)
        await end(services, job_id, "succeeded")
    return len(jobs)


async def end(services: OpenServices, job_id: int, status: str) -> None:
    """Let a job end so."""
    await services.database.rows(
        SQL("UPDATE procrastinate_jobs SET status = $status WHERE id = $id"), id=job_id, status=status
    )
