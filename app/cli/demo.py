"""`bookprint demo`: post a synthetic library to a real service, and find its near-duplicates."""

import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from app.cli.environment import KeyOption
from app.cli.output import Reporter, UserError, drawn_table, results
from app.cli.serve import listen, url_of
from app.embedded.processes import end, spawn
from app.kernel_cache import keep_kernels
from bookprint_client import Client, Refused, calls
from bookprint_client.answers import NearDuplicate
from bookprint_core.model import Metadata, Submission

if TYPE_CHECKING:
    from app.synthesis.library import SyntheticBook

_COPIES = (1, 4)  # minimum and maximum number of copies of a work
_NAMESPACE = "bookprint-demo"
_HOST = "127.0.0.1"
_START_SECONDS = 180.0
_STOP_SECONDS = 25.0
_LOG, _LOG_LINES = "serve.log", 15
_SHOWN_WORKS = 4
_RELATE_SECONDS, _WAIT_SECONDS = 120.0, 10.0
_NOT_PASSED_ON = {"DATABASE_URL", "REDIS_URL", "BOOKPRINT_AUTH"}


def demo(
    url: Annotated[
        str | None,
        typer.Option(help="Use this running service; the demo deletes its books at the end."),
    ] = None,
    key: KeyOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random books.")] = 1,
    works: Annotated[
        int, typer.Option(min=2, max=2000, help="Number of works; each has 1 to 4 copies.")
    ] = 40,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the service running until Ctrl-C.")] = False,
) -> None:
    """Make a small library, post it, find its near-duplicates, and show it in a browser.

    The texts are synthetic prose. Up to 5 % of a copy's characters are OCR errors, and up to 8 % of its
    sentences are lost or foreign. Eleven more books are other editions, parts of books or have errors.
    """
    keep_kernels()
    console = results()
    console.print(Text("Bookprint demo\n", style="bold"))
    if url is None:
        _on_own_service(_Demo(console, seed, works), keep)
    else:
        with Client(url, key=key) as service:
            service.insist()
            _on_running_service(service, _Demo(console, seed, works))
    console.print("Next, a library of your own:", style="bold")
    if url is None:
        console.print("  bookprint serve            # in this terminal; its data is stored in ./data")
    option = (
        f" --url {url}"
        if url is not None
        else "    # in another terminal; files of any format, archives, tables"
    )
    console.print(f"  bookprint ingest FOLDER{option}\n", soft_wrap=True)


def _on_own_service(demo: "_Demo", keep: bool) -> None:
    console = demo.console
    with listen(_HOST, 0)[0] as free:
        port = free.getsockname()[1]
    url = url_of(_HOST, port)
    ending = "they stay until Ctrl-C" if keep else "they end with the demo, unless you add --keep"
    with (
        tempfile.TemporaryDirectory(prefix="bookprint-demo-", ignore_cleanup_errors=True) as folder,
        _serving(Path(folder), port) as process,
        Client(url) as service,
    ):
        demo.make()
        _await_ready(service, console, process, Path(folder))
        console.print(f"Pages: {url}/ ({ending})", style="bold green", soft_wrap=True)
        demo.post(service)
        demo.show_near_duplicates(service)
        if keep:
            demo.show_pages(service, url)
            console.print("The service runs until Ctrl-C. In another terminal:")
            console.print(f"  bookprint ingest FOLDER --url {url}", soft_wrap=True)
            console.print(f"  bookprint lookup FILE --url {url}\n", soft_wrap=True)
            try:
                process.wait()
            except KeyboardInterrupt:
                pass
            else:
                raise UserError("The service has stopped.")
    console.print("The service is stopped, and its temporary data is deleted.\n")


def _on_running_service(service: Client, demo: "_Demo") -> None:
    demo.make()
    try:
        demo.post(service)
        demo.show_near_duplicates(service)
    finally:
        for answer in demo.posted.values():
            with suppress(Refused):  # already deleted
                service.send(calls.delete_book(answer["id"]))
        demo.console.print(f"The {len(demo.posted):,} books of the demo are deleted.\n")


@contextmanager
def _serving(folder: Path, port: int) -> Iterator[Popen[bytes]]:
    """Yield the process of a service with its data in `folder`. Its output goes to a file."""
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    command = [sys.executable, "-P", "-m", "app.cli", "serve", "--host", _HOST, "--port", str(port)]
    with (folder / _LOG).open("wb") as log:
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


def _await_ready(service: Client, console: Console, process: Popen[bytes], folder: Path) -> None:
    started = time.monotonic()
    with console.status("Starting the service; the first start compiles its kernels …"):
        while not service.is_ready():
            if process.poll() is not None or time.monotonic() - started > _START_SECONDS:
                lines = (folder / _LOG).read_text(errors="replace").splitlines()[-_LOG_LINES:]
                raise UserError("\n  ".join(["The service did not start. Its last lines:", *lines]))
            time.sleep(0.1)
    console.print("Started PostgreSQL, Valkey, the API and a worker.")


class _Demo:
    """The books of a demo, and the answers to their posts by the ids of the books in the demo."""

    def __init__(self, console: Console, seed: int, works: int) -> None:
        self.console, self._seed, self._works = console, seed, works
        self._books: Sequence[SyntheticBook] = ()
        self.posted: dict[str, Mapping[str, Any]] = {}

    def make(self) -> None:
        from app.synthesis.library import synthetic_library
        from app.synthesis.shelf import readable, shelf

        with self.console.status("Making books …"):
            works = map(readable, synthetic_library(self._seed, self._works, _COPIES))
            self._books = [*works, *shelf(self._seed)]
        self.console.print(
            f"Made {len(self._books):,} books: {self._works} works with copies, editions, parts and errors."
        )

    def post(self, service: Client) -> None:
        from app.cli.posting import book_body
        from bookprint_core.text.content import content_from_pages

        started = time.monotonic()
        with Reporter("Posting", "books") as reporter:
            for book in self._books:
                metadata = Metadata(
                    title=book.title,
                    authors=(book.author,),
                    year=book.year,
                    external_id=f"{_NAMESPACE}:{self._seed}:{book.id}",
                    volume=book.volume,
                    identifiers=tuple(f"isbn:{isbn}" for isbn in book.isbns),
                )
                body = book_body(Submission(metadata, content_from_pages(book.pages)))
                answer = service.send(calls.post_book(body))
                self.posted[book.id] = answer
                reporter.counted(len(self.posted), len(self._books))
        seconds = time.monotonic() - started
        self.console.print(f"Posted {len(self._books):,} books over HTTP in {seconds:.1f} s.\n")

    def show_near_duplicates(self, service: Client) -> None:
        """Read the near-duplicates of every book, print some of them, and count right and wrong ones."""
        counted = [book for book in self._books if book.work >= 0]  # the shelf's books have other relations
        by_id = {self.posted[book.id]["id"]: book for book in counted}
        works = Counter(book.work for book in counted)
        rows: list[tuple[str | Text, ...]] = []
        found = wrong = 0
        for book_id, book in by_id.items():
            items = service.items(calls.near_duplicates(book_id, limit=1000))
            near = [(by_id[item["id"]], item) for item in items if item["id"] in by_id]
            copies = [(other, item) for other, item in near if other.work == book.work]
            found += len(copies)
            wrong += sum(not _is_related(book, other) for other, _ in near)
            if book.work < _SHOWN_WORKS and book.error_rate == 0:
                rows.append((Text(book.title, style="bold"), "", "", "", ""))
                rows += [_row(other, item) for other, item in copies]
        columns = ("near-duplicates found", "distance", "jaccard", "OCR errors", "edited")
        self.console.print(drawn_table(columns, rows, wide=columns[0], right=columns[1:]), soft_wrap=False)
        self.console.print(
            f"For {len(counted):,} books the service found {found:,} of "
            f"{sum(count * (count - 1) for count in works.values()):,} near-duplicates, and {wrong:,} books "
            "that are not.\n"
        )

    def show_pages(self, service: Client, url: str) -> None:
        """Wait until the books of the shelf are related, then print the addresses of pages to look at."""
        ids = {book.id: self.posted[book.id]["id"] for book in self._books if book.work < 0}
        with Reporter("Comparing pages", "books") as reporter:
            for number, book_id in enumerate(ids.values(), 1):
                deadline = time.monotonic() + _RELATE_SECONDS
                asked = calls.list_relations(book_id, wait=_WAIT_SECONDS, limit=1)
                while service.send(asked)["pending"] and time.monotonic() < deadline:
                    pass
                reporter.counted(number, len(ids))
        road = f"/pairs/{ids['road']}"
        places = (
            ("The library", "/"),
            ("Copies of one book", f"{road}/{ids['road-copy']}"),
            ("Another edition", f"{road}/{ids['road-1911']}"),
            ("A volume and its whole", f"{road}/{ids['road-2']}"),
            ("Two annual reports", f"/pairs/{ids['report-1901']}/{ids['report-1902']}"),
            ("A scan that lacks pages", f"/pairs/{ids['road-lacking']}/{ids['road']}"),
            ("A record with a wrong text", "/conflicts"),
            ("A pair to decide", f"/pairs/{ids['ferry']}/{ids['winter-wrong']}"),
            ("All pairs to decide", "/review"),
        )
        self.console.print("Look at:", style="bold")
        for name, path in places:
            self.console.print(f"  {name:<28}{url}{path}", soft_wrap=True)
        self.console.print()


def _is_related(book: "SyntheticBook", other: "SyntheticBook") -> bool:
    """Return whether the books are copies of one work, or one contains a chapter of the other."""
    return book.work in (other.work, other.shares_chapter_with) or other.work == book.shares_chapter_with


def _row(copy: "SyntheticBook", item: NearDuplicate) -> tuple[str, ...]:
    distance = "–" if item["distance"] is None else str(item["distance"])
    measures = (distance, f"{item['jaccard']:.2f}", f"{copy.error_rate:.1%}", f"{copy.edited:.1%}")
    return f"  copy {int(copy.id[-2:])}", *measures
