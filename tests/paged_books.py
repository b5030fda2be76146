"""Books that are related, and their jobs, for tests without a worker; the loading of a corpus."""

from pathlib import Path

from app.services.books import IngestRun
from app.services.bulk.loading import Load
from app.services.pairs.relate import Relate
from app.stores.postgres.connections import SQL
from app.wiring import Services
from bookprint_core.errors import Refusal
from bookprint_core.matching.candidates import SelectionLimits
from bookprint_corpus import CorpusBooks, CorpusFolder, CorpusPairs
from tests.factories import ACTOR
from tests.open_services import OpenServices


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


async def load_corpus(services: Services, folder: Path) -> tuple[dict[str, int], dict[str, Refusal]]:
    """Load the tables in a folder: the number of books by their outcome, and the refusals by place."""
    tables, refused, run = CorpusFolder(folder), dict[str, Refusal](), IngestRun()
    load = Load(
        books=CorpusBooks(tables),
        pairs=CorpusPairs(tables),
        run=run,
        refuse=refused.__setitem__,
        progress=lambda done, total: None,
        actor=ACTOR,
    )
    await services.loading(load).run()
    return {kind: number for kind, number in run.counts.items() if number}, refused
