"""`bookprint demo`: a synthetic library, posted to a real service, and searched for near-duplicates."""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from app.cli.environment import KeyOption
from app.cli.output import Reporter, UserError, results
from app.cli.serve import listen, url_of
from app.core.model import Metadata, Submission
from app.embedded.processes import end, spawn
from app.kernel_cache import keep_kernels
from bookprint_client import Client, Refused, calls

if TYPE_CHECKING:
    from app.synthesis.library import SyntheticBook

_COPIES = (1, 4)  # of a work
_NAMESPACE = "bookprint-demo"
_HOST = "127.0.0.1"
_CONNECTIONS = 4
_START_SECONDS = 180.0
_STOP_SECONDS = 25.0
_LOG_LINES = 15
_NOT_PASSED_ON = {"DATABASE_URL", "REDIS_URL", "BOOKPRINT_AUTH"}


def demo(
    url: Annotated[
        str | None,
        typer.Option(help="Use the service that runs there; the demo's books are deleted in the end."),
    ] = None,
    key: KeyOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed makes another library.")] = 1,
    works: Annotated[int, typer.Option(min=2, max=2000, help="Works; of each there are 1 to 4 copies.")] = 40,
    keep: Annotated[bool, typer.Option("--keep", help="Let the service run on until Ctrl-C.")] = False,
) -> None:
    """Show the whole way in under a minute: make books, post them, find near-duplicates, and clean up.

    The books are synthetic prose. The copies have OCR errors in up to 5 % of their characters. Up to 8 % of
    their sentences are lost or come from another book.
    """
    keep_kernels()
    console = results()
    console.print(Text("Bookprint demo\n", style="bold"))
    if url is None:
        _on_own_service(console, seed, works, keep)
    else:
        with Client(url, connections=_CONNECTIONS, key=key) as service:
            service.insist()
            _on_running_service(service, console, seed, works)
    console.print("Next, a library of your own:", style="bold")
    if url is None:
        console.print("  bookprint serve            # in this terminal; its data is kept in ./data")
    option = (
        f" --url {url}" if url is not None else "    # in another one; files of any format, archives, tables"
    )
    console.print(f"  bookprint ingest FOLDER{option}\n", soft_wrap=True)


def _on_own_service(console: Console, seed: int, works: int, keep: bool) -> None:
    with listen(_HOST, 0)[0] as free:
        port = free.getsockname()[1]
    url = url_of(_HOST, port)
    with (
        tempfile.TemporaryDirectory(prefix="bookprint-demo-", ignore_cleanup_errors=True) as folder,
        _serving(Path(folder), port) as process,
        Client(url, connections=_CONNECTIONS) as service,
    ):
        books = _make(console, seed, works)
        _await_ready(service, console, process, Path(folder))
        _show(service, console, seed, books, {})
        if keep:
            console.print(
                f"The service runs on at {url} until Ctrl-C. In another terminal:", style="bold green"
            )
            console.print(f"  bookprint ingest FOLDER --url {url}", soft_wrap=True)
            console.print(f"  bookprint lookup FILE --url {url}\n", soft_wrap=True)
            _wait_for_interrupt(process)
    console.print("Everything is stopped, and the temporary data is gone.\n")


def _on_running_service(service: Client, console: Console, seed: int, works: int) -> None:
    posted: dict[str, Any] = {}
    try:
        _show(service, console, seed, _make(console, seed, works), posted)
    finally:
        for answer in posted.values():
            with suppress(Refused):  # it is gone already
                service.send(calls.delete_book(answer["id"]))
        console.print(f"The {len(posted):,} books of the demo are deleted again.\n")


def _show(
    service: Client, console: Console, seed: int, books: "Sequence[SyntheticBook]", posted: dict[str, Any]
) -> None:
    """Post the books and search them; `posted` gets the service's answer for each book as it arrives."""
    from app.cli import showcase

    _post(service, console, seed, books, posted)
    library = showcase.Library({book.id: book for book in books}, posted)
    showcase.show_near_duplicates(service, library, console)
    showcase.show_relations(service, library, console)
    showcase.show_exact_lookup(service, library, console)
    showcase.show_evaluation(library, seed, console)
    showcase.show_request(service, library, console)


@contextmanager
def _serving(folder: Path, port: int) -> Iterator[Popen[bytes]]:
    """A whole service of its own in `folder`, stopped at the end; its output goes to a file."""
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    command = [sys.executable, "-P", "-m", "app.cli", "serve", "--host", _HOST, "--port", str(port)]
    with _log(folder).open("wb") as log:
        process = spawn(
            [*command, "--data-dir", str(folder / "data")],
            folder=folder,
            environment=environment,
            death_signal=signal.SIGTERM,
            output=log,
        )
    try:
        yield process
    finally:
        end(process, ((signal.SIGTERM, _STOP_SECONDS),))


def _log(folder: Path) -> Path:
    return folder / "serve.log"


def _await_ready(service: Client, console: Console, process: Popen[bytes], folder: Path) -> None:
    started = time.monotonic()
    with console.status("Starting the service; the first time compiles its kernels …"):
        while not service.is_ready():
            if process.poll() is not None or time.monotonic() - started > _START_SECONDS:
                lines = _log(folder).read_text(errors="replace").splitlines()[-_LOG_LINES:]
                raise UserError("\n  ".join(["The service did not start. Its last lines:", *lines]))
            time.sleep(0.1)
    console.print("Started PostgreSQL, Valkey, the API and a worker.")


def _make(console: Console, seed: int, works: int) -> "Sequence[SyntheticBook]":
    from app.synthesis.library import synthetic_library

    started = time.monotonic()
    with console.status("Making books …"):
        books = list(synthetic_library(seed, works, _COPIES))
    characters = sum(len(book.text) for book in books)
    console.print(
        f"Made {len(books):,} books with {characters / 1e6:.1f} million characters in "
        f"{time.monotonic() - started:.1f} s: {works} works and their copies."
    )
    return books


def _post(
    service: Client, console: Console, seed: int, books: "Sequence[SyntheticBook]", posted: dict[str, Any]
) -> None:
    from app.cli.posting import post_all
    from app.readers.unread import Unread
    from app.services.bulk.storing import IngestRun, Outcome

    started = time.monotonic()
    run = IngestRun()
    submissions = ((Unread(book.id, "", 0), _submission(book, seed)) for book in books)
    with Reporter("Posting", "books") as reporter:

        def report(book: Unread, outcome: Outcome, answer: Mapping[str, Any]) -> None:
            if outcome.refusal is not None:
                raise UserError(f"{book.place} could not be posted: {outcome.refusal.reason}")
            posted[book.place] = answer
            reporter.counted(run.total, len(books))

        stopped = post_all(service, submissions, _CONNECTIONS, run, report)
    if stopped is not None:
        raise stopped
    if run.interrupted:
        raise KeyboardInterrupt
    seconds = time.monotonic() - started
    console.print(
        f"Posted {len(books):,} books over HTTP in {seconds:.1f} s, {len(books) / seconds:,.0f} a second.\n"
    )


def _submission(book: "SyntheticBook", seed: int) -> Submission:
    from app.core.text.content import content_from_pages

    metadata = Metadata(
        title=book.title,
        authors=(book.author,),
        year=book.year,
        external_id=f"{_NAMESPACE}:{seed}:{book.id}",
    )
    return Submission(metadata, content_from_pages(book.pages))


def _wait_for_interrupt(process: Popen[bytes]) -> None:
    try:
        process.wait()
    except KeyboardInterrupt:
        return
    raise UserError("The service has ended.")
