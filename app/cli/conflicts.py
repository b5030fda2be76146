"""`bookprint conflicts`: books whose metadata and texts contradict each other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from app.cli.environment import DEFAULT_URL, AsJson, CollectionOption, KeyOption, Url, service_at
from app.cli.output import UserError, notices, show, write_csv
from app.core.matching.conflicts import ConflictBy
from bookprint_client import Client, calls
from bookprint_client.answers import ConflictAnswer, CutGroupAnswer

_PAGE = 1_000
_NUMBERS = ("distance", "jaccard")
_OF_BOOK = ("id", "title", "authors", "year", "volume", "identifiers")
_COLUMNS = (
    *("agrees", "contradicts", "distance", "jaccard", "this_in_other", "other_in_this"),
    *("relation", "source", "decided_by"),
    *(f"{side}_{name}" for side in ("this", "other") for name in _OF_BOOK),
    *(f"{side}_text_under_{name}" for side in ("this", "other") for name in ("id", "title")),
)


def conflicts(
    by: Annotated[
        ConflictBy,
        typer.Option(
            help="What the books share: isbn or title, while their texts are unrelated; text, while their "
            "ISBNs are different."
        ),
    ] = "isbn",
    collection: CollectionOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Most conflicts to print [all].")] = None,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
    json: AsJson = False,
    table: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Write them to a CSV file instead.", dir_okay=False),
    ] = None,
) -> None:
    """List books of which the metadata says one thing and the text another, with the evidence."""
    if json and table is not None:
        raise UserError("Give --json or --csv, not both.", 2)
    report = _Report()
    with service_at(url, key) as service:
        items = report.read(service, by, collection, limit)
        if table is not None:
            write_csv(table, _COLUMNS, map(_cells, items))
        else:
            show(items, _COLUMNS, _cells, json=json, drawn=_drawn, wide="books", right=_NUMBERS)
    report.summarise()


class _Report:
    """Reads conflicts page by page, and remembers what the pages say of themselves."""

    def __init__(self) -> None:
        self._count = 0
        self._more = False
        self._cut: dict[str, CutGroupAnswer] = {}

    def read(
        self, service: Client, by: ConflictBy, collection: str | None, limit: int | None
    ) -> Iterator[ConflictAnswer]:
        """Up to `limit` conflicts; None: all of them."""
        most = _PAGE if limit is None else min(limit + 1, _PAGE)
        for page in service.pages(calls.list_conflicts(by, collection=collection, limit=most)):
            self._cut |= {group["shared"]: group for group in page["cut_groups"]}
            for item in page["items"]:
                if self._count == limit:
                    self._more = True
                    return
                self._count += 1
                yield item

    def summarise(self) -> None:
        """Say how many conflicts there are, and what may be missing."""
        noun = "conflict" if self._count == 1 else "conflicts"
        notices().print(f"{self._count:,} {noun}{'; there are more' if self._more else ''}.")
        for shared, group in self._cut.items():
            notices().print(
                f"{shared} is shared by {group['size']:,} books, of which {group['examined']} were examined."
            )


def _drawn(item: ConflictAnswer) -> dict[str, RenderableType]:
    """The evidence; both books below each other, and what is the same and what is not."""
    told = Text()
    for book in item["books"]:
        known = [", ".join(book["authors"]), book["title"], book["volume"], book["year"]]
        told.append(f"{' · '.join(str(each) for each in known if each) or 'untitled'}\n")
        told.append(f"{book['id']}  {' '.join(book['identifiers'])}\n", "dim")
        if (copy := book["text_under"]) is not None:
            told.append(f"its text is also under {copy['title']}  {copy['id']}\n")
    told.append(f"same {', '.join(item['agrees'])}; other {', '.join(item['contradicts'])}\n")
    cells = dict(zip(_COLUMNS, _cells(item), strict=True))
    return {**{name: cells[name] or "–" for name in (*_NUMBERS, "relation")}, "books": told}


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
    for book in item["books"]:
        copy = book["text_under"]
        cells += ("", "") if copy is None else (copy["id"], copy["title"])
    return ["" if cell is None else str(cell) for cell in cells]
