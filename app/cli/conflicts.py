"""`bookprint conflicts`: books whose metadata and texts contradict each other."""

import csv
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Annotated

import typer
from rich.text import Text

from app.cli.environment import DEFAULT_URL, KeyOption
from app.cli.output import UserError, drawn_table, notices, print_json, print_lines, results
from app.core.matching.conflicts import ConflictBy
from bookprint_client import Client, calls
from bookprint_client.answers import ConflictAnswer, CutGroupAnswer

_PATIENCE = 10.0  # seconds
_PAGE = 1_000
_OF_BOOK = ("id", "title", "authors", "year", "volume", "identifiers")
_COLUMNS = (
    *("agrees", "contradicts", "distance", "jaccard", "this_in_other", "other_in_this"),
    *("relation", "source", "decided_by"),
    *(f"{side}_{name}" for side in ("this", "other") for name in _OF_BOOK),
)


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
    key: KeyOption = None,
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
    with Client(url, patience=_PATIENCE, key=key) as service:
        service.insist()
        items = report.read(service, by, limit)
        if json:
            for item in items:
                print_json(item)
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
        self._cut: dict[str, CutGroupAnswer] = {}

    def read(self, service: Client, by: ConflictBy, limit: int | None) -> Iterator[ConflictAnswer]:
        """Up to `limit` conflicts; None: all of them."""
        most = _PAGE if limit is None else min(limit, _PAGE)
        for page in service.pages(calls.list_conflicts(by, limit=most)):
            self._cut |= {group["shared"]: group for group in page["cut_groups"]}
            items = page["items"] if limit is None else page["items"][: limit - self._count]
            self._count += len(items)
            yield from items
            self._more = page["next_cursor"] is not None or len(items) < len(page["items"])
            if self._count == limit:
                return

    def summarise(self) -> None:
        """Say how many conflicts there are, and what may be missing."""
        noun = "conflict" if self._count == 1 else "conflicts"
        notices().print(f"{self._count:,} {noun}{'; there are more' if self._more else ''}.")
        for shared, group in self._cut.items():
            notices().print(
                f"{shared} is shared by {group['size']:,} books, of which {group['examined']} were examined."
            )


def _print(items: Iterator[ConflictAnswer]) -> None:
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


def _evidence(item: ConflictAnswer) -> list[str]:
    cells = dict(zip(_COLUMNS, _cells(item), strict=True))
    return [cells[name] or "–" for name in ("distance", "jaccard", "relation")]


def _contradiction(item: ConflictAnswer) -> Text:
    """Both books below each other, and what is the same and what is not."""
    told = Text()
    for book in item["books"]:
        known = [", ".join(book["authors"]), book["title"], book["volume"], book["year"]]
        told.append(f"{' · '.join(str(each) for each in known if each) or 'untitled'}\n")
        told.append(f"{book['id']}  {' '.join(book['identifiers'])}\n", "dim")
    told.append(f"same {', '.join(item['agrees'])}; other {', '.join(item['contradicts'])}\n")
    return told


def _write(path: Path, items: Iterator[ConflictAnswer]) -> None:
    with _opened(path) as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        writer.writerows(map(_cells, items))


def _opened(path: Path) -> AbstractContextManager[IO[str]]:
    try:
        return path.open("w", encoding="utf-8", newline="")
    except OSError as exc:
        raise UserError(f"{path} cannot be written: {exc.strerror}.", 2) from exc


def _cells(item: ConflictAnswer) -> list[str]:
    """An item as the cells of `_COLUMNS`."""
    evidence = item["evidence"]
    containment, relation = evidence["containment"], evidence["relation"]
    cells = [
        " ".join(item["agrees"]),
        " ".join(item["contradicts"]),
        *(evidence["distance"], evidence["jaccard"]),
        *(containment["this_in_other"], containment["other_in_this"]),
        *(("",) * 3 if relation is None else (relation[name] for name in ("kind", "source", "decided_by"))),
    ]
    for book in item["books"]:
        authors, identifiers = "; ".join(book["authors"]), "; ".join(book["identifiers"])
        cells += [book["id"], book["title"], authors, book["year"], book["volume"], identifiers]
    return ["" if cell is None else str(cell) for cell in cells]
