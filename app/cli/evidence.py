"""The evidence for a relation: `bookprint relation`, for other tools, and the page of `compare --html`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from app.cli.environment import DEFAULT_URL, KeyOption, Url, service_at
from app.cli.lookup import named_book, read_one_book
from app.cli.output import UserError, print_json, printable, results
from bookprint_client import calls

_Book = Annotated[str, typer.Argument(metavar="BOOK_ID|EXTERNAL_ID", help="The id or external id of a book.")]


def relation(
    this: _Book,
    other: _Book,
    form: Annotated[
        Literal["json", "annotations", "tei", "csv"],
        typer.Option("--format", help="JSON; W3C Web Annotations; a TEI standOff; or a row for each run."),
    ] = "json",
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
) -> None:
    """Print how two books of the service are related, with the pages that match, as seen from the first."""
    with service_at(url, key) as service:
        pair = named_book(service, this), named_book(service, other)
        if form == "json":
            print_json(service.send(calls.read_relation(*pair)))
            return
        text = service.send(calls.read_evidence(*pair, form))
    console = results()
    console.file.write(printable(text) if console.is_terminal else text)
    console.file.flush()


def write_pair_page(out: Path, this: str, other: str) -> None:
    """Write the page of two files; raises UserError."""
    from app.services.evidence import shown_pair
    from app.web.pair import self_contained_page

    read = []
    for name in (this, other):
        file = Path(name)
        if not file.exists() or file.suffix.lower() == ".json":
            raise UserError(f"{name} is no file with a text. --html shows the texts of two files.", 2)
        book = read_one_book(file)
        read.append(replace(book, metadata=replace(book.metadata, title=book.metadata.title or file.name)))
    try:
        out.write_text(self_contained_page(shown_pair(*read)), encoding="utf-8", errors="replace")
    except OSError as exc:
        raise UserError(f"{out} cannot be written: {exc.strerror}.", 2) from exc
