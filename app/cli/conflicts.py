"""`bookprint conflicts`: books whose metadata and texts contradict each other."""

import csv
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Annotated, Any

import orjson
import typer
from rich.text import Text

from app.cli.environment import DEFAULT_URL
from app.cli.output import UserError, drawn_table, notices, print_lines, results
from app.client import Client
from app.core.matching.conflicts import ConflictBy

_PATIENCE = 10.0  # seconds
_PAGE = 1_000
_OF_BOOK = ("id", "title", "authors", "year", "volume", "identifiers")
_COLUMNS = (
    *("agrees", "contradicts", "distance", "jaccard", "this_in_other", "other_in_this", "relation", "source"),
    *(f"{side}_{name}" for side in ("this", "other") for name in _OF_BOOK),
)

Item = Mapping[str, Any]


def conflicts(
    by: Annotated[
        ConflictBy,
        typer.Option(
            help="What the books share: isbn or title, while their texts are unrelated; text, while their "
            "ISBNs are different."
        ),
    ] = "isbn",
    limit: Annotated[int | None, typer.Option(min=1, help="Most conflicts to print [all].")] = None,
    url: Annotated[str, typer.Option(help="Where the service answers.")] = DEFAULT_URL,
    json: Annotated[bool, typer.Option("--json", help="Print the items as JSON, one a line.")] = False,
    table: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Write them to a CSV file instead.", dir_okay=False),
    ] = None,
) -> None:
    """List books of which the metadata says one thing and the text another, with the evidence."""
    if json and table is not None:
        raise UserError("Give --json or --csv, not both.", 2)
    report = _Report()
    with Client(url, patience=_PATIENCE) as service:
        service.insist()
        items = report.read(service, by, limit)
        if json:
            for item in items:
                results().print(orjson.dumps(item).decode(), soft_wrap=True)
        elif table is not None:
            _write(table, items)
        else:
            _print(items)
    report.summarise()


class _Report:
    """Reads conflicts page by page, and remembers what the pages say of themselves."""

    def __init__(self) -> None:
        self._count = 0
        self._more = False
        self._cut: dict[str, Item] = {}

    def read(self, service: Client, by: str, limit: int | None) -> Iterator[Item]:
        """Up to `limit` conflicts; None: all of them."""
        cursor = None
        while True:
            room = _PAGE if limit is None else min(limit - self._count, _PAGE)
            query = {"by": by, "limit": str(room)} | ({"cursor": cursor} if cursor else {})
            page = service.get("/v1/conflicts", query)
            self._cut |= {group["shared"]: group for group in page["cut_groups"]}
            self._count += len(page["items"])
            yield from page["items"]
            cursor = page["next_cursor"]
            self._more = cursor is not None
            if cursor is None or self._count == limit:
                return

    def summarise(self) -> None:
        """Say how many conflicts there are, and what may be missing."""
        noun = "conflict" if self._count == 1 else "conflicts"
        notices().print(f"{self._count:,} {noun}{'; there are more' if self._more else ''}.")
        for shared, group in self._cut.items():
            notices().print(
                f"{shared} is shared by {group['size']:,} books, of which {group['examined']} were examined."
            )


def _print(items: Iterator[Item]) -> None:
    console = results()
    if not console.is_terminal:
        print_lines(console, _COLUMNS, [])
        for item in items:
            print_lines(console, _cells(item), [])
        return
    rows: list[list[str | Text]] = [[*_evidence(item), _contradiction(item)] for item in items]
    if rows:
        numbers = ("distance", "jaccard")
        console.print(drawn_table((*numbers, "relation", "books"), rows, wide="books", right=numbers))


def _evidence(item: Item) -> list[str]:
    cells = dict(zip(_COLUMNS, _cells(item), strict=True))
    return [cells[name] or "–" for name in ("distance", "jaccard", "relation")]


def _contradiction(item: Item) -> Text:
    """Both books below each other, and what is the same and what is not."""
    told = Text()
    for book in item["books"]:
        known = [", ".join(book["authors"]), book["title"], book["volume"], book["year"]]
        told.append(f"{' · '.join(str(each) for each in known if each) or 'untitled'}\n")
        told.append(f"{book['id']}  {' '.join(book['identifiers'])}\n", "dim")
    told.append(f"same {', '.join(item['agrees'])}; other {', '.join(item['contradicts'])}\n")
    return told


def _write(path: Path, items: Iterator[Item]) -> None:
    with _opened(path) as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        writer.writerows(map(_cells, items))


def _opened(path: Path) -> AbstractContextManager[IO[str]]:
    try:
        return path.open("w", encoding="utf-8", newline="")
    except OSError as exc:
        raise UserError(f"{path} cannot be written: {exc.strerror}.", 2) from exc


def _cells(item: Item) -> list[str]:
    """An item as the cells of `_COLUMNS`."""
    evidence = item["evidence"]
    containment, relation = evidence["containment"], evidence["relation"] or {}
    cells = [
        " ".join(item["agrees"]),
        " ".join(item["contradicts"]),
        *(evidence["distance"], evidence["jaccard"]),
        *(containment["this_in_other"], containment["other_in_this"]),
        *(relation.get("kind"), relation.get("source")),
    ]
    for book in item["books"]:
        values = {name: book[name] for name in _OF_BOOK}
        cells += (values | {name: "; ".join(values[name]) for name in ("authors", "identifiers")}).values()
    return ["" if cell is None else str(cell) for cell in cells]
