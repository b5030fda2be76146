"""`bookprint completeness`: what the scans of a library lack, by other scans of the same printings."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from app.cli.environment import DEFAULT_URL, AsJson, KeyOption, Url, service_at
from app.cli.lookup import named_book
from app.cli.output import UserError, notices, show, write_csv
from bookprint_client import Client, Refused, calls
from bookprint_client.answers import FaultAnswer

_BOOKS_AT_ONCE = 1_000
_COLUMNS = (
    *("confidence", "kind", "book_id", "title", "pages", "between", "labels"),
    *("in_book", "in_pages", "because"),
)
_NOT_TOLD = ("completeness-unknown", "text-not-kept", "unknown-book")
"""Problems of a book that is passed over where the whole library is asked for."""


class _Row(FaultAnswer):
    """A fault of a book."""

    book_id: str
    title: str | None


def completeness(
    books: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BOOK_ID|EXTERNAL_ID]…", help="Books to look at [all].", show_default=False),
    ] = None,
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
    rows: list[_Row] = []
    compared = alone = 0
    with service_at(url, key) as service:
        for book_id, title in _named(service, books) if books else _all_books(service):
            try:
                faults = service.send(calls.read_completeness(book_id))["findings"]
            except Refused as refusal:
                if books or refusal.problem not in _NOT_TOLD:
                    raise
                alone += 1
                continue
            compared += 1
            rows += [{"book_id": book_id, "title": title, **fault} for fault in faults]
    rows.sort(key=_rank)
    if out is not None:
        write_csv(out, _COLUMNS, map(_cells, rows))
    else:
        show(rows, _COLUMNS, _cells, json=json, wide="because", right=("confidence",))
    notices().print(
        f"Findings: {len(rows):,}, in books held against other scans: {compared:,}; passed over, "
        f"for want of another scan, of pages or of text: {alone:,}."
    )


def _named(service: Client, books: Iterable[str]) -> Iterable[tuple[str, str | None]]:
    for each in dict.fromkeys(named_book(service, each) for each in books):
        book = service.send(calls.read_book(each))
        yield book["id"], book["title"]


def _all_books(service: Client) -> Iterable[tuple[str, str | None]]:
    for page in service.pages(calls.list_books(limit=_BOOKS_AT_ONCE)):
        for book in page["items"]:
            yield book["id"], book["title"]


def _rank(row: _Row) -> tuple[float, int]:
    """The surest first, then those of the most pages."""
    first, end = row["pages"] or row["in"][0]["pages"]
    return -row["confidence"], first - end


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
