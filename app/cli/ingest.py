"""`bookprint ingest`: the books of files, folders, archives and tables, stored or posted to a service."""

import asyncio
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.environment import DEFAULT_URL, DataDir, KeyOption, acting_user, load_settings, running
from app.cli.maintenance import within
from app.cli.output import Reporter, UserError, complain, results
from app.cli.refusals import Refusals, Report
from app.core.errors import BookprintError, InvalidInput
from app.kernel_cache import keep_kernels
from app.secrets import forget_secrets
from app.settings import Settings
from bookprint_client import Client, ClientError

if TYPE_CHECKING:
    from app.readers.files import BookFiles
    from app.readers.unread import Unread
    from app.services.storing import IngestRun
    from app.wiring import Services

_AGAIN = "Not every book was posted. Run the same command again: books that are there already are skipped."

Paths = Annotated[
    list[Path],
    typer.Argument(
        help="Files, folders, globs, archives, JSON Lines, Parquet tables, signatures, or CSV manifests."
    ),
]
Processes = Annotated[
    int | None, typer.Option(min=1, max=256, help="Processes that read and sign; unset: one per core.")
]
Texts = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Take the paths as MARC records, of the texts in this folder that are named after them.",
    ),
]
ColumnOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--column", metavar="FIELD=NAME", help="The column of Parquet tables with text, pages, id, title, …"
    ),
]


def ingest(
    paths: Paths,
    url: Annotated[
        str | None, typer.Option(help="Post to the service there; unset: store directly where possible.")
    ] = None,
    key: KeyOption = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, max=64, help="Books posted at once over HTTP.")
    ] = 4,
    processes: Processes = None,
    report: Report = None,
    column: ColumnOptions = None,
    texts: Texts = None,
    data_dir: DataDir = None,
) -> None:
    """Take in the books of files of every format, of folders, archives, JSON Lines and tables.

    They are stored directly where DATABASE_URL and REDIS_URL are set or a service runs in the data folder,
    else posted over HTTP. Set BOOKPRINT_TEXTS as for the service: it says whether texts are kept that are
    stored directly. Books that are there already stay as they are: run the command again after an
    interruption. Exit status: 0 all are in, 1 some were refused, each with its reason, 2 it could not run.
    """
    settings = load_settings(data_dir)
    forget_secrets()  # files of strangers are read by processes that would inherit them
    servers = running(settings) if url is None else None
    keep_kernels(settings.data_dir if servers is not None else None)
    from app.readers.files import texts_in, unread_books
    from app.readers.processes import cores
    from app.services.joining import joined

    columns = column_options(column)
    listing = find_files(paths)
    books = unread_books(listing, columns)
    if texts is not None:
        records, listing = listing, find_files(texts_in(texts))
        books = joined(records.sizes, listing)
    count = processes or cores()
    try:
        with Reporter("Ingesting", "books") as reporter, Refusals(report, reporter) as refusals:
            if servers is not None:
                kept = "kept" if servers.texts == "postgres" else "not kept"
                reporter.say(
                    f"Storing books directly; texts that come with them are {kept} "
                    f"(BOOKPRINT_TEXTS={servers.texts})."
                )
                run = _store(servers, books, listing.size, count, reporter, refusals)
            else:
                run = _post(url or DEFAULT_URL, key, books, listing.size, count, jobs, reporter, refusals)
    except (ClientError, BookprintError) as exc:
        raise UserError(f"{exc}", 2) from exc
    results().print(", ".join(f"{number:,} {kind}" for kind, number in run.counts.items()))
    if run.interrupted:
        complain(f"Interrupted. {_AGAIN}")
        raise typer.Exit(130)
    if run.counts["failed"]:
        raise typer.Exit(1)


def find_files(paths: list[Path]) -> "BookFiles":
    """The files to read; raises UserError where there are none, or one cannot be read."""
    from app.readers import files

    try:
        listing = files.find(paths)
    except OSError as exc:
        raise UserError(f"{exc.filename} cannot be read: {exc.strerror}", 2) from exc
    if not listing.sizes:
        raise UserError("There is nothing to read.", 2)
    return listing


def column_options(options: list[str] | None) -> dict[str, str]:
    """The columns that are named, by what they hold."""
    from app.readers.table import named_columns

    try:
        return named_columns(options or ())
    except InvalidInput as exc:
        raise UserError(str(exc), 2) from exc


def _store(
    settings: Settings,
    books: "Iterable[Unread]",
    size: int,
    processes: int,
    reporter: Reporter,
    refusals: Refusals,
) -> "IngestRun":
    """Store the books where the database is reached."""
    from app.core.book_rules import checked
    from app.services.bulk import ingest_in_bulk
    from app.services.storing import IngestRun, Outcome

    run = IngestRun()

    def tell(book: "Unread", outcome: Outcome) -> None:
        if outcome.refusal is not None:
            refusals.add(book.path, book.part, outcome.refusal)
        reporter.advance(run.total, book.position / max(size, 1))

    async def take_in(services: "Services") -> None:
        with suppress(NotImplementedError, ValueError):  # not in the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, run.interrupt)
        await ingest_in_bulk(
            services.bulk,
            services.upkeep,
            books,
            run=run,
            check=checked,
            processes=processes,
            tell=tell,
            actor=acting_user(),
        )

    within(settings, take_in)
    return run


def _post(
    url: str,
    key: str | None,
    books: "Iterable[Unread]",
    size: int,
    processes: int,
    jobs: int,
    reporter: Reporter,
    refusals: Refusals,
) -> "IngestRun":
    """Post the books to a service."""
    from app.cli.posting import post_all
    from app.core.book_rules import checked
    from app.core.errors import Refusal
    from app.core.model import Submission
    from app.readers.processes import ReadingProcesses
    from app.readers.reading import Read, results_of
    from app.services.storing import IngestRun, Outcome

    run = IngestRun()

    def report(book: "Unread", outcome: Outcome, _: object) -> None:
        if outcome.refusal is not None:
            refusals.add(book.path, book.part, outcome.refusal)
        reporter.advance(run.total, book.position / max(size, 1))

    with Client(url, connections=jobs, key=key) as service:
        service.insist()
        reporter.say(f"Posting books to {url}.")
        with ReadingProcesses(processes, Read(checked), (Submission, Refusal)) as reading:
            stopped = post_all(service, results_of(reading, books), jobs, run, report)
    if stopped is not None:
        raise UserError(f"{stopped}\n{_AGAIN}", 2)
    return run
