"""`bookprint migrate`, `reindex`, `verify` and `jobs`: the maintenance of a library."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from app.cli.environment import DataDir, load_settings, running, started
from app.cli.output import Listing, Reporter, UserError, columns, notices, print_json, print_list, results
from app.kernel_cache import keep_kernels
from app.settings import Settings

if TYPE_CHECKING:
    from app.services.index.contents import IndexReport
    from app.stores.postgres.jobs import Job, JobCounts
    from app.wiring import Services

T = TypeVar("T")

_MOST_SHOWN = 1_000  # number of failed jobs to print
_INCOMPLETE = 3
"""Exit status while the index is still being built and cannot be checked."""

_PARTS = {
    "books": "in the catalogue",
    "pending": "stored and found by lookups, but not in the index yet",
    "records": "records that the index should contain",
    "missing": "records that the index lacks",
    "superfluous": "stale or duplicate records in the index",
    "broken": "buckets with incomplete records",
}
"""Numbers of an index report, and their meanings."""

_REPORT = Listing("parts", columns("part=0 count=1 meaning=2"), wide="meaning", right=("count",))
_JOBS = Listing("jobs", columns("task state jobs=count"), wide="task", right=("jobs",))
_FAILED = Listing("jobs", columns("failed=id task book=book_id reason"), wide="reason")


def migrate(data_dir: DataDir = None) -> None:
    """Update the database to the schema of this version. A current database is not changed."""
    settings = load_settings(data_dir)
    if settings.database_url is None:
        settings = running(settings) or settings
    if settings.database_url is not None:
        upgrade_schema(settings.database_url)
    else:
        with started(settings) as own:
            upgrade_schema(str(own.database_url))
    results().print("The database has the newest schema.")


def reindex(
    data_dir: DataDir = None,
    digests: Annotated[
        bool, typer.Option("--digests", help="Compute missing digests from the stored texts.")
    ] = False,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Compute missing vectors from the stored texts.")
    ] = False,
) -> None:
    """Rebuild the whole band index; lookups answer 503 until it is complete.

    Books that were signed by other recipes are first signed again from their texts. With --digests or
    --vectors, the index is not rebuilt. After an interruption run the command again.
    """
    if digests and vectors:
        raise UserError("Give at most one of --digests and --vectors.", status=2)
    keep_kernels()
    settings = load_settings(data_dir)
    if not digests and not vectors:
        _reindex(settings)
        return
    what = "digests" if digests else "vectors"

    async def compute(services: "Services") -> int:
        missing = services.missing_digests if digests else services.missing_vectors
        return await missing.compute(reporter.counted)

    with library(settings) as complete, Reporter(f"Computing {what}", "books") as reporter:
        results().print(f"{within(complete, compute):,} books now have {what}")


def _reindex(settings: Settings) -> None:
    async def work(services: "Services") -> tuple[int, int, int]:
        signed, (_, textless) = 0, await services.outdated.count()

        async def sign() -> None:
            nonlocal signed
            signed = await services.outdated.compute(reporter.counted)

        return await services.upkeep.rebuild(reporter.counted, after=sign), signed, textless

    with library(settings, to_rebuild=True) as complete, Reporter("Reindexing", "books") as reporter:
        entries, signed, textless = within(complete, work)
    anew = f", {signed:,} of them signed again" if signed else ""
    results().print(f"{entries:,} books indexed again{anew}")
    if textless:
        notices().print(
            f"{textless:,} books were signed by other recipes and have no stored text, so lookups may not "
            "find them. Send the texts again: PUT /v1/books/{id}/content"
        )


def verify(
    data_dir: DataDir = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    wait: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Longest wait for an index that is being built.")
    ] = 300.0,
) -> None:
    """Check that the band index holds exactly the books of the catalogue.

    Books that are posted, changed or deleted during the check can appear as differences. Exit status: 0 no
    difference, 1 differences, 3 the index is still being built.
    """
    keep_kernels()
    with library(load_settings(data_dir)) as complete, Reporter("Verifying", "books") as reporter:
        report = within(complete, lambda services: _verified(services, wait, reporter))
    if json:
        print_json({name: getattr(report, name) for name in ("clean", "whole", *_PARTS)})
    else:
        print_list(_REPORT, [(part, f"{getattr(report, part):,}", text) for part, text in _PARTS.items()])
        said, style = ("clean", "bold green") if report.clean else ("not clean", "bold red")
        results().print(said if report.whole else "not complete yet", style=style)
    if not report.clean:
        notices().print(_remedy(report))
        raise typer.Exit(1 if report.whole else _INCOMPLETE)


async def _verified(services: "Services", seconds: float, reporter: Reporter) -> "IndexReport":
    """Return the report on the index once the index is complete, or after `seconds`."""
    # Imported late: the stores load slowly.
    from app.services.pairs.relations import Waiting
    from app.stores.redis.epoch import IndexState

    await Waiting().until(
        services.upkeep.state,
        lambda state: state is IndexState.COMPLETE,
        seconds,
        lambda: reporter.say("The index is being built; waiting until it is complete."),
    )
    return await services.upkeep.verify(reporter.counted)


def upgrade_schema(database_url: str) -> None:
    """Apply the migrations; raises BookprintError, for example if the database cannot be reached."""
    from app.stores.postgres.connections import upgrade

    upgrade(database_url)


@contextmanager
def library(settings: Settings, new: bool = False, to_rebuild: bool = False) -> Iterator[Settings]:
    """Yield settings that name both servers. Servers that do not run are started for the block.

    Their index is brought up to date first, except with `to_rebuild`.
    Raises UserError if the folder contains no library, unless a `new` one may be made.
    """
    complete = running(settings)
    if complete is not None:
        yield complete
        return
    with started(settings, new) as own:
        upgrade_schema(str(own.database_url))

        if not to_rebuild:
            within(own, lambda services: services.upkeep.catch_up())
        yield own


def within(settings: Settings, work: "Callable[[Services], Awaitable[T]]") -> T:
    """Run `work` on the services, in an event loop of its own."""
    from app.wiring import open_services

    async def run() -> T:
        async with open_services(settings) as services:
            await services.health.require_schema()
            return await work(services)

    return asyncio.run(run())


def _remedy(report: "IndexReport") -> str:
    if not report.whole:
        return "The index is being rebuilt by a worker (bookprint serve or worker). Verify again in a moment."
    if report.missing or report.superfluous or report.broken:
        return "Run bookprint reindex, unless books were posted, changed or deleted during the check."
    return "Books still wait for a worker (bookprint serve or worker). Verify again in a moment."


def jobs(
    data_dir: DataDir = None,
    retry: Annotated[
        str | None, typer.Option(metavar="ID|all", help="Retry this failed job, or all failed jobs.")
    ] = None,
) -> None:
    """Count the background jobs by state, and print the reason of each failure."""
    settings = load_settings(data_dir)
    if retry is None:

        async def read(services: "Services") -> "tuple[list[JobCounts], list[Job]]":
            return await services.jobs.count(), await services.jobs.list_failed(_MOST_SHOWN)

        with library(settings) as complete:
            counts, failed = within(complete, read)
        _print(counts, failed)
        return
    if retry != "all" and not (retry.isascii() and retry.isdecimal()):
        raise UserError("--retry must be the id of a failed job, or all.", status=2)

    async def put_back(services: "Services") -> int:
        if retry == "all":
            return await services.jobs.retry_all()
        await services.jobs.retry(int(retry))
        return 1

    with library(settings) as complete:
        count = within(complete, put_back)
    results().print(f"{count:,} failed {'job' if count == 1 else 'jobs'} will be retried")


def _print(counts: "list[JobCounts]", failed: "list[Job]") -> None:
    if not counts:
        results().print("No job waits, runs or has failed.")
        return
    print_list(_JOBS, counts)
    if failed:
        results().print()
        print_list(_FAILED, failed)
