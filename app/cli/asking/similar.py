"""`bookprint similar`: books with other texts that are like a book."""

from typing import Annotated

import typer
from rich.text import Text

from app.cli.book_file import named_book
from app.cli.environment import DEFAULT_URL, KeyOption
from app.cli.output import drawn_table, notices, print_json, print_lines, results
from bookprint_client import Client, calls
from bookprint_client.answers import SimilarBookAnswer

_COLUMNS = ("similarity", "title", "authors", "id")
_SHOWN = ("similarity", "book")
_PATIENCE = 10.0  # seconds


def similar(
    book: Annotated[
        str,
        typer.Argument(
            metavar="BOOK_ID|EXTERNAL_ID", help="The id or external id of a book that was posted as a text."
        ),
    ],
    k: Annotated[int, typer.Option("--k", min=1, max=1000, help="The number of books.")] = 10,
    copies: Annotated[
        bool, typer.Option("--copies", help="With copies: of the book, and all those of the others.")
    ] = False,
    url: Annotated[str, typer.Option(help="Where the service answers.")] = DEFAULT_URL,
    key: KeyOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the items as JSON, one a line.")] = False,
) -> None:
    """Find books with other texts that are like a book, as others of its series or subject.

    Similarity is an estimated cosine, 1 at most. It is a hint: nothing says from where on books belong
    together.
    """
    with Client(url, patience=_PATIENCE, key=key) as service:
        service.insist()
        items = service.send(calls.similar_books(named_book(service, book), k=k, copies=copies))["items"]
    console = results()
    if json:
        for item in items:
            print_json(item)
    elif not console.is_terminal:
        print_lines(console, _COLUMNS, [_row(item) for item in items])
    elif items:
        rows = [_drawn(item) for item in items]
        console.print(drawn_table(_SHOWN, rows, wide="book", right=_SHOWN[:1]))
    if not items:
        notices().print(f"{'No' if copies else 'But for copies of it no'} other book has a vector.")


def _row(item: SimilarBookAnswer) -> tuple[str, str, str, str]:
    return f"{item['similarity']:.3f}", item["title"] or "", "; ".join(item["authors"]), item["id"]


def _drawn(item: SimilarBookAnswer) -> tuple[str, Text]:
    similarity, title, authors, book_id = _row(item)
    name = f"{title} ({authors})" if authors else title
    return similarity, Text.assemble(name, "\n", (book_id, "dim"))
