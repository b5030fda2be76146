"""`bookprint jobs`: the states of background jobs, and the reasons of failures."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.environment import DataDir, load_settings
from app.cli.maintenance import library, within
from app.cli.output import UserError, drawn_table, print_lines, results

if TYPE_CHECKING:
    from app.stores.postgres.jobs import Job, JobCounts
    from app.wiring import Services

_MOST_SHOWN = 1_000


def jobs(
    data_dir: DataDir = None,
    retry: Annotated[
        str | None, typer.Option(metavar="ID|all", help="Try this failed job again, or all of them.")
    ] = None,
) -> None:
    """Count the background jobs by state, and print the reason of each failure."""
    settings = load_settings(data_dir)
    if retry is None:

        async def read(services: "Services") -> "tuple[list[JobCounts], list[Job]]":
            return await services.jobs.counts(), await services.jobs.failed(_MOST_SHOWN)

        with library(settings) as complete:
            counts, failed = within(complete, read)
        _show(counts, failed)
        return
    job_id = _number(retry)

    async def put_back(services: "Services") -> int:
        if job_id is None:
            return await services.jobs.retry_all()
        await services.jobs.retry(job_id)
        return 1

    with library(settings) as complete:
        count = within(complete, put_back)
    results().print(f"{count:,} failed {'job is' if count == 1 else 'jobs are'} to be tried again")


def _number(argument: str) -> int | None:
    """The id of one job; None for all."""
    if argument == "all":
        return None
    if not argument.isascii() or not argument.isdecimal():
        raise UserError("--retry takes the id of a failed job, or all.", status=2)
    return int(argument)


def _show(counts: "list[JobCounts]", failed: "list[Job]") -> None:
    if not counts:
        results().print("No job waits, runs or has failed.")
        return
    _print(
        ("task", "state", "jobs"),
        [(counted.task, counted.state, f"{counted.count:,}") for counted in counts],
        wide="task",
    )
    if failed:
        results().print()
        _print(
            ("failed", "task", "book", "reason"),
            [
                (str(job.id), job.task, "-" if job.book_id is None else str(job.book_id), job.reason or "-")
                for job in failed
            ],
            wide="reason",
        )


def _print(columns: tuple[str, ...], rows: list[tuple[str, ...]], wide: str) -> None:
    console = results()
    if console.is_terminal:
        console.print(drawn_table(columns, rows, wide=wide, right=("jobs",)))
    else:
        print_lines(console, columns, rows)
