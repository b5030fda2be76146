"""`bookprint ingest`, `load`, `corpus` and `dedupe`: add books, and compute whole collections."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from app.cli.environment import (
    DEFAULT_URL,
    DataDir,
    KeyOption,
    acting_user,
    load_settings,
    require_running,
    running,
)
from app.cli.maintenance import within
from app.cli.output import Refusals, Report, Reporter, UserError, complain, notices, results
from app.kernel_cache import keep_kernels
from app.secrets import forget_secrets
from app.settings import Settings
from bookprint_client import Client
from bookprint_core.metadata import FIELD

if TYPE_CHECKING:
    from app.services.books import IngestRun, Outcome
    from app.wiring import Services
    from bookprint_readers.files import BookFiles
    from bookprint_readers.unread import Unread

_POSTED_IN_PART = (
    "Not every book was posted. Run the same command again: books that are already stored are skipped."
)
_LOADED_IN_PART = "Not every book was loaded. Run the same command again: it continues where it stopped."

_PATHS = typer.Argument(
    help="Files, folders, globs, archives, JSON Lines, Parquet tables, signatures, or CSV manifests."
)
Paths = Annotated[list[Path], _PATHS]
Processes = Annotated[
    int | None, typer.Option(min=1, max=256, help="Number of processes that read and sign [one per core].")
]
Texts = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Folder of texts, each named like its record. The paths are then MARC records.",
    ),
]
ColumnOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--column", metavar="FIELD=NAME", help="Parquet column NAME contains FIELD: text, pages, id, title, …"
    ),
]


def ingest(
    paths: Annotated[list[Path] | None, _PATHS] = None,
    datasketch: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Also read keys and MinHashes of a MinHashLSH, as JSON Lines "
            '{"external_id": key, "datasketch": {"leanminhash": base64}}.',
        ),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="Post to this service [store directly if possible].")
    ] = None,
    key: KeyOption = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, max=64, help="Number of books posted at once over HTTP.")
    ] = 4,
    processes: Processes = None,
    report: Report = None,
    column: ColumnOptions = None,
    texts: Texts = None,
    collection: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Collection of the books; overrides the files."),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Add the books of files in any format, folders, archives, JSON Lines and tables.

    Books are stored directly if a service runs in the data folder, or DATABASE_URL and REDIS_URL are set.
    Otherwise they are posted over HTTP. For direct storage, set BOOKPRINT_TEXTS as for the service: it
    decides whether texts are stored. Books that exist are not changed, so after an interruption run the same
    command again. Exit status: 0 all books are added, 1 some were refused, 2 the command could not run.
    """
    settings = load_settings(data_dir)
    forget_secrets()  # the reading processes open untrusted files and would inherit the secrets
    servers = running(settings) if url is None else None
    keep_kernels(settings.data_dir if servers is not None else None)
    from app.services.books import IngestRun
    from app.services.bulk.joining import joined
    from bookprint_readers.files import texts_in, unread_books
    from bookprint_readers.processes import cores

    columns = column_options(column)
    listing = find_files([*(paths or ()), *(datasketch or ())])
    books = unread_books(listing, columns)
    if texts is not None:
        records, listing = listing, find_files(texts_in(texts))
        books = joined(records.sizes, listing)
    count, run = processes or cores(), IngestRun()
    if collection is not None:
        collection = FIELD["collection"].checked(collection)
    with Reporter("Ingesting", "books") as reporter, Refusals(report, reporter) as refusals:

        def tell(book: "Unread", outcome: "Outcome") -> None:
            if outcome.refusal is not None:
                refusals.add(book.path, book.part, outcome.refusal)
            reporter.advance(run.total, book.position / max(listing.size, 1))

        if servers is not None:
            kept = "stored" if servers.texts == "postgres" else "not stored"
            reporter.say(f"Storing books directly; their texts are {kept} (BOOKPRINT_TEXTS={servers.texts}).")
            _store(servers, books, collection, count, run, tell)
        else:
            with Client(url or DEFAULT_URL, connections=jobs, key=key) as service:
                service.insist()
                reporter.say(f"Posting books to {url or DEFAULT_URL}.")
                _post(service, books, collection, count, jobs, run, tell)
    _conclude(run, _POSTED_IN_PART)


def load(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", exists=True, file_okay=False, help="Folder that `corpus run` wrote."),
    ],
    report: Report = None,
    data_dir: DataDir = None,
) -> None:
    """Load a corpus: its books, signatures, relations with page maps, and clusters.

    Lookups, relations and clusters then answer as if the books had been posted one by one. A corpus contains
    no texts, so digests, ISCC and vectors are missing. The command needs a service that runs in the data
    folder, or DATABASE_URL and REDIS_URL. Lookups answer 503 until the index is rebuilt. Jobs relate the new
    books to the books already stored. Existing books are not changed, so after an interruption run the same
    command again. Exit status: 0 all books are loaded, 1 some were refused, 2 the command could not run.
    """
    settings = load_settings(data_dir)
    forget_secrets()  # a corpus may be untrusted
    servers = require_running(settings, status=2)
    keep_kernels(settings.data_dir)
    with Reporter("Loading", "books") as reporter, Refusals(report, reporter) as refusals:
        run = _load(servers, folder, reporter, refusals)
    _conclude(run, _LOADED_IN_PART)


def corpus() -> None:
    """Compute signatures, relations and clusters of a whole collection, without a service."""
    _become_driver()


def dedupe() -> None:
    """Find the copies in a collection and keep one book of each group of copies."""
    _become_driver()


def _become_driver() -> NoReturn:
    """Replace this process by `bookprint_corpus`, which reads the arguments itself."""
    forget_secrets()  # the reading processes open untrusted files and would inherit the secrets
    keep_kernels()
    os.execv(sys.executable, [sys.executable, "-m", "bookprint_corpus", *sys.argv[1:]])


def find_files(paths: list[Path]) -> "BookFiles":
    """Find the files to read; raises UserError if there is no file, or a file cannot be read."""
    from bookprint_readers import files

    listing = files.find(paths)
    if not listing.sizes:
        raise UserError("There is nothing to read.", 2)
    for note in listing.notes:
        notices().print(note)
    return listing


def column_options(options: list[str] | None) -> dict[str, str]:
    """Parse FIELD=NAME options into column names by field; raises InvalidInput."""
    from bookprint_readers.table import named_columns

    return named_columns(options or ())


def _store(
    settings: Settings,
    books: "Iterable[Unread]",
    collection: str | None,
    processes: int,
    run: "IngestRun",
    tell: "Callable[[Unread, Outcome], None]",
) -> None:
    from app.services.bulk.ingest import ingest_in_bulk

    async def store(services: "Services") -> None:
        await ingest_in_bulk(
            services.ingest,
            services.upkeep,
            books,
            run=run,
            processes=processes,
            tell=tell,
            actor=acting_user(),
            collection=collection,
        )

    _within(settings, run, store)


def _post(
    service: Client,
    books: "Iterable[Unread]",
    collection: str | None,
    processes: int,
    jobs: int,
    run: "IngestRun",
    tell: "Callable[[Unread, Outcome], None]",
) -> None:
    from app.cli.posting import post_all
    from bookprint_core.errors import Refusal
    from bookprint_core.model import Submission
    from bookprint_readers.processes import ReadingProcesses
    from bookprint_readers.reading import read_book, results_of

    read = partial(read_book, collection=collection)
    with ReadingProcesses(processes, read, (Submission, Refusal)) as reading:
        stopped = post_all(service, results_of(reading, books), jobs, run, tell)
    if stopped is not None:
        raise UserError(f"{stopped}\n{_POSTED_IN_PART}", 2)


def _load(settings: Settings, folder: Path, reporter: Reporter, refusals: Refusals) -> "IngestRun":
    from app.services.books import IngestRun
    from app.services.bulk.loading import Load
    from bookprint_corpus.books import CorpusBooks
    from bookprint_corpus.folder import CorpusFolder
    from bookprint_corpus.pairs import CorpusPairs

    tables = CorpusFolder(folder)
    load = Load(
        books=CorpusBooks(tables),
        pairs=CorpusPairs(tables),
        run=IngestRun(),
        refuse=lambda place, refusal: refusals.add(place, "", refusal),
        progress=reporter.counted,
        actor=acting_user(),
    )
    _within(settings, load.run, lambda services: services.loading(load).run())
    return load.run


def _within(settings: Settings, run: "IngestRun", work: "Callable[[Services], Awaitable[None]]") -> None:
    """Run `work` on the services; Ctrl-C interrupts `run`."""

    async def interruptible(services: "Services") -> None:
        with suppress(NotImplementedError, ValueError):  # not in the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, run.interrupt)
        await work(services)

    within(settings, interruptible)


def _conclude(run: "IngestRun", in_part: str) -> None:
    """Print the counts of the run, and exit with the matching status."""
    results().print(", ".join(f"{number:,} {kind}" for kind, number in run.counts.items()))
    if run.interrupted:
        complain(f"Interrupted. {in_part}")
        raise typer.Exit(130)
    if run.counts["failed"]:
        raise typer.Exit(1)
