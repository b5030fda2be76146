"""`bookprint completeness`: what the scans of a library lack, by other scans of the same printings."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from app.cli.environment import DEFAULT_URL, AsJson, CollectionOption, KeyOption, Url, service_at
from app.cli.lookup import named_book
from app.cli.output import UserError, notices, show, stacked, write_csv
from bookprint_client import Client, Refused, calls
from bookprint_client.answers import BookAnswer, FaultAnswer

_BOOKS_AT_ONCE = 1_000
_PLACES = ("pages", "between", "labels")
_COLUMNS = ("confidence", "kind", "book_id", "title", *_PLACES, "in_book", "in_pages", "because")
_PASSED_OVER = ("completeness-unknown", "text-not-kept", "unknown-book")  # problems of one of all books


class _Row(FaultAnswer):
    """A fault of a book."""

    book_id: str
    title: str | None


def completeness(
    books: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BOOK_ID|EXTERNAL_ID]…", help="Books to look at [all].", show_default=False),
    ] = None,
    collection: CollectionOption = None,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
    json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write them to a CSV file instead.", dir_okay=False),
    ] = None,
) -> None:
    """List pages that scans lack, have twice, out of order or from another book, the surest first.

    Each scan is held against other scans of its printing. Pages are counted from 0, the end exclusive.
    """
    if json and out is not None:
        raise UserError("Give --json or --out, not both.", 2)
    if books and collection is not None:
        raise UserError("Name books or --collection, not both.", 2)
    rows: list[_Row] = []
    compared = alone = 0
    with service_at(url, key) as service:
        for book in _chosen(service, books, collection):
            try:
                faults = service.send(calls.read_completeness(book["id"]))["findings"]
            except Refused as refusal:
                if books or refusal.problem not in _PASSED_OVER:
                    raise
                alone += 1
                continue
            compared += 1
            rows += [{"book_id": book["id"], "title": book["title"], **fault} for fault in faults]
    rows.sort(key=lambda row: -row["confidence"])
    if out is not None:
        write_csv(out, _COLUMNS, map(_cells, rows))
    else:
        show(rows, _COLUMNS, _cells, json=json, drawn=_drawn, wide="book", right=("confidence",))
    notices().print(
        f"Findings: {len(rows):,}, in books held against other scans: {compared:,}; passed over, "
        f"for want of another scan, of pages or of text: {alone:,}."
    )


def _chosen(service: Client, books: Iterable[str] | None, collection: str | None) -> Iterator[BookAnswer]:
    for each in dict.fromkeys(named_book(service, each) for each in books or ()):
        yield service.send(calls.read_book(each))
    if not books:
        for page in service.pages(calls.list_books(collection=collection, limit=_BOOKS_AT_ONCE)):
            yield from page["items"]


def _drawn(row: _Row) -> dict[str, RenderableType]:
    cells = dict(zip(_COLUMNS, _cells(row), strict=True))
    copy = f"{cells['in_pages']} of {cells['in_book']}"
    told = stacked(row["title"] or "untitled", row["book_id"], copy, row["because"])
    return {**{name: cells[name] for name in ("confidence", "kind", *_PLACES)}, "book": told}


def _cells(row: _Row) -> list[str]:
    copy = row["in"][0]
    labels = " ".join(label or "–" for label in row["labels"]) if any(row["labels"]) else ""
    return [
        *(f"{row['confidence']:.3f}", row["kind"], row["book_id"], row["title"] or ""),
        *(_range(row["pages"]), _range(row["between"]), labels),
        *(copy["book_id"], _range(copy["pages"]), row["because"]),
    ]


def _range(pages: list[int] | None) -> str:
    return "" if pages is None else "-".join(map(str, pages))
