"""`bookprint completeness`: what the scans of a library lack, by other scans of the same printings."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from app.cli.environment import DEFAULT_URL, AsJson, KeyOption, Url, service_at
from app.cli.lookup import named_book
from app.cli.output import UserError, notices, print_json, show, write_csv
from bookprint_client import Client, Refused, calls
from bookprint_client.answers import FaultAnswer

_BOOKS_AT_ONCE = 1_000
_COLUMNS = (
    *("confidence", "kind", "book_id", "title", "pages", "between", "labels"),
    *("in_book", "in_pages", "because"),
)
_NOT_TOLD = ("completeness-unknown", "text-not-kept")
"""Problems of a book that is passed over where the whole library is asked for."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A fault of a book."""

    book_id: str
    title: str | None
    fault: FaultAnswer

    def rank(self) -> tuple[float, int]:
        """The surest first, then those of the most pages."""
        first, end = self.fault["pages"] or self.fault["in"][0]["pages"]
        return -self.fault["confidence"], first - end

    def document(self) -> dict[str, object]:
        return {"book_id": self.book_id, "title": self.title, **self.fault}

    def cells(self) -> list[str]:
        fault, [copy, *_] = self.fault, self.fault["in"]
        labels = [label or "–" for label in fault["labels"]]
        return [
            f"{fault['confidence']:.3f}",
            fault["kind"],
            self.book_id,
            self.title or "",
            _range(fault["pages"]),
            _range(fault["between"]),
            " ".join(labels) if any(fault["labels"]) else "",
            copy["book_id"],
            _range(copy["pages"]),
            fault["because"],
        ]


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
    rows, counts = [], {True: 0, False: 0}
    with service_at(url, key) as service:
        named = {str(named_book(service, each)): None for each in books or ()}
        for book_id, title in named.items() or _all_books(service):
            try:
                faults = service.send(calls.read_completeness(book_id))["findings"]
            except Refused as refusal:
                if books or refusal.problem not in _NOT_TOLD:
                    raise
                counts[False] += 1
                continue
            counts[True] += 1
            rows += [_Row(book_id, title, fault) for fault in faults]
    rows.sort(key=_Row.rank)
    if out is not None:
        write_csv(out, _COLUMNS, map(_Row.cells, rows))
    elif json:
        for row in rows:
            print_json(row.document())
    else:
        show(rows, _COLUMNS, _Row.cells, wide="because", right=("confidence",))
    notices().print(
        f"Findings: {len(rows):,}, in books: {counts[True]:,}; books without another scan to hold them "
        f"against: {counts[False]:,}."
    )


def _all_books(service: Client) -> Iterator[tuple[str, str | None]]:
    for page in service.pages(calls.list_books(limit=_BOOKS_AT_ONCE)):
        for book in page["items"]:
            yield book["id"], book["title"]


def _range(pages: list[int] | None) -> str:
    return "" if pages is None else "-".join(map(str, pages))
