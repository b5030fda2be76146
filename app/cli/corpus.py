"""`bookprint corpus`, `dedupe` and `load`: a whole collection computed by an engine, and taken in."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from app.cli.environment import DataDir, acting_user, load_settings, running
from app.cli.maintenance import within
from app.cli.output import Reporter, UserError, complain, results
from app.cli.refusals import Refusals, Report
from app.core.errors import BookprintError
from app.kernel_cache import keep_kernels
from app.secrets import forget_secrets
from app.settings import Settings

if TYPE_CHECKING:
    from app.services.storing import IngestRun
    from app.wiring import Services

_AGAIN = "Not every book was loaded. Run the same command again: it goes on where it ended."


def corpus() -> None:
    """Compute a whole collection on an engine for much data."""
    _become_driver()


def dedupe() -> None:
    """Find the copies in a collection, and keep one of each."""
    _become_driver()


def _become_driver() -> NoReturn:
    """Let this process become the driver, which reads the arguments and is no part of the service."""
    forget_secrets()  # files of strangers are read by processes that would inherit them
    os.execv(sys.executable, [sys.executable, "-m", "workers.batch", *sys.argv[1:]])


def load(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", exists=True, file_okay=False, help="What `corpus run` has written."),
    ],
    report: Report = None,
    data_dir: DataDir = None,
) -> None:
    """Load a corpus: its books, their signatures, relations with page maps, and clusters.

    Lookups, relations and clusters then answer as after posting the books one by one, but for the texts,
    which a corpus does not hold, and what is computed from them: digests, ISCC and vectors. It needs
    DATABASE_URL and REDIS_URL, or a service that runs in the data folder. Lookups answer 503 until the books
    are in and the index is built anew; jobs find the relations with other books that are there. Books that
    are there already stay as they are: run the command again after an interruption. Exit status: 0 all are
    in, 1 some were refused, each with its reason, 2 it could not run.
    """
    settings = load_settings(data_dir)
    forget_secrets()  # a corpus may be a stranger's
    servers = running(settings)
    if servers is None:
        raise UserError(
            f"No service runs in {settings.data_dir}. Start one with `bookprint serve`, or set DATABASE_URL "
            "and REDIS_URL.",
            2,
        )
    keep_kernels(settings.data_dir)
    try:
        with Reporter("Loading", "books") as reporter, Refusals(report, reporter) as refusals:
            run = _load(servers, folder, reporter, refusals)
    except BookprintError as exc:
        raise UserError(str(exc), 2) from exc
    results().print(", ".join(f"{number:,} {kind}" for kind, number in run.counts.items()))
    if run.interrupted:
        complain(f"Interrupted. {_AGAIN}")
        raise typer.Exit(130)
    if run.counts["failed"]:
        raise typer.Exit(1)


def _load(settings: Settings, folder: Path, reporter: Reporter, refusals: Refusals) -> "IngestRun":
    from app.corpus.books import CorpusBooks
    from app.corpus.folder import CorpusFolder
    from app.corpus.pairs import CorpusPairs
    from app.services.loading import Load
    from app.services.storing import IngestRun

    tables = CorpusFolder(folder)
    load = Load(
        books=CorpusBooks(tables),
        pairs=CorpusPairs(tables),
        run=IngestRun(),
        refuse=lambda place, refusal: refusals.add(place, "", refusal),
        progress=reporter.counted,
        actor=acting_user(),
    )

    async def put_in(services: "Services") -> None:
        with suppress(NotImplementedError, ValueError):  # not in the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, load.run.interrupt)
        await services.loading(load).run()

    within(settings, put_in)
    return load.run
