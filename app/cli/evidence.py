"""`bookprint relation`: how two books are related, and the pages that match, for other tools."""

from typing import Annotated, Literal

import typer

from app.cli.environment import DEFAULT_URL, KeyOption, Url, service_at
from app.cli.lookup import named_book
from app.cli.output import print_json, printable, results
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
