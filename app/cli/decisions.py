"""`bookprint reviews`, `decide` and `decisions`: what people should look at, and what they have decided."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

import typer
from rich.console import RenderableType

from app.cli.environment import DEFAULT_URL, AsJson, CollectionOption, KeyOption, Url, service_at
from app.cli.lookup import named_book
from app.cli.output import UserError, notices, show, stacked, write_csv
from app.core.relations.classification import Kind
from bookprint_client import Client, calls
from bookprint_client.answers import PastDecisionAnswer, ReviewAnswer

_PAGE, _AT_ONCE = 500, 200
_OF_BOOK = ("id", "title", "authors", "year")
_REVIEW = (
    *("kind", "direction", "confidence", "because"),
    *(f"{side}_{name}" for side in ("left", "right") for name in _OF_BOOK),
)
_DECISION = (
    *("at", "by", "verdict", "kind", "outcome", "left", "right", "note"),
    *("verdict_before", "kind_before", "by_before"),
)
_VERDICTS = ("confirmed", "rejected", "withdrawn", "undone", "unsure")
_Csv = Annotated[
    Path | None,
    typer.Option("--csv", metavar="FILE", help="Write them to a CSV file instead.", dir_okay=False),
]
_Limit = Annotated[int, typer.Option(min=1, help="Most to print.")]


def reviews(
    kind: Annotated[Kind | None, typer.Option(help="Only relations of this kind.")] = None,
    collection: CollectionOption = None,
    language: Annotated[str | None, typer.Option(help="Only with a book in this language.")] = None,
    year: Annotated[int | None, typer.Option(help="Only with a book of this year.")] = None,
    limit: _Limit = 100,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
    json: AsJson = False,
    table: _Csv = None,
) -> None:
    """List relations that a person should look at, the most doubtful first."""
    _require_one_form(json, table)
    call = calls.list_reviews(
        kind=kind, collection=collection, language=language, year=year, limit=min(limit, _PAGE)
    )
    with service_at(url, key) as service:
        items = _first(service, call, limit)
        if table is not None:
            write_csv(table, _REVIEW, map(_review_cells, items))
        else:
            show(items, _REVIEW, _review_cells, json=json, drawn=_drawn, wide="books", right=("confidence",))


def decide(
    left: Annotated[str | None, typer.Argument(metavar="BOOK", help="Id or external id.")] = None,
    right: Annotated[str | None, typer.Argument(metavar="BOOK")] = None,
    verdict: Annotated[
        str | None,
        typer.Argument(metavar="VERDICT", help="confirmed, rejected, withdrawn, undone, unsure or a kind."),
    ] = None,
    note: Annotated[str | None, typer.Option(help="For those who read the history.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Decide on each row of a CSV file with the columns left_id, right_id, verdict and note.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    all_or_none: Annotated[bool, typer.Option(help="Decide on all rows, 500 at most, or on none.")] = False,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
) -> None:
    """Decide on the relation of two books, or on those of a file, as `bookprint reviews --csv` writes it.

    Rows without a verdict are passed over.
    """
    with service_at(url, key) as service:
        if file is not None and left is None:
            items = [
                _item(row["left_id"], row["right_id"], row["verdict"], row.get("note")) for row in _rows(file)
            ]
        elif file is None and left and right and verdict:
            items = [_item(str(named_book(service, left)), str(named_book(service, right)), verdict, note)]
        else:
            raise UserError("Name two books and a verdict, or --file.", 2)
        refused = 0
        step = max(len(items), 1) if all_or_none else _AT_ONCE
        for start in range(0, len(items), step):
            sent = calls.decide_many(items[start : start + step], all_or_none=all_or_none)
            for each in service.send(sent)["items"]:
                if (problem := each["problem"]) is not None:
                    refused += 1
                    notices().print(f"{each['left']} {each['right']}: {problem['detail']}")
    notices().print(f"Decisions: {len(items) - refused:,}; refused: {refused:,}.")
    if refused:
        raise typer.Exit(1)


def decisions(
    by: Annotated[str | None, typer.Option(help="Only those of the key with this name.")] = None,
    after: Annotated[
        str | None, typer.Option(help="Only those made after this time, as 2027-01-31T18:00:00Z.")
    ] = None,
    limit: _Limit = 100,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
    json: AsJson = False,
    table: _Csv = None,
) -> None:
    """List what people have decided, also what was withdrawn or replaced, the newest first."""
    _require_one_form(json, table)
    with service_at(url, key) as service:
        items = _first(service, calls.list_decisions(by=by, after=after, limit=min(limit, _PAGE)), limit)
        if table is not None:
            write_csv(table, _DECISION, map(_decision_cells, items))
        else:
            show(items, _DECISION, _decision_cells, json=json, drawn=_drawn_decision, wide="books")


def _require_one_form(json: bool, table: Path | None) -> None:
    if json and table is not None:
        raise UserError("Give --json or --csv, not both.", 2)


def _first(service: Client, call: calls.PagedCall[Any, Any], limit: int) -> Iterator[Any]:
    for number, item in enumerate(service.items(call), 1):
        yield item
        if number == limit:
            return


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as opened:
        reader = csv.DictReader(opened)
        missing = {"left_id", "right_id", "verdict"} - set(reader.fieldnames or ())
        if missing:
            raise UserError(f"{file} lacks the columns: {', '.join(sorted(missing))}.", 2)
        return [row for row in reader if row["verdict"]]


def _item(left: str, right: str, verdict: str, note: str | None) -> Mapping[str, str]:
    if verdict not in (*_VERDICTS, *get_args(Kind)):
        raise UserError(f"{verdict} is no verdict: say {', '.join(_VERDICTS)} or a kind of relation.", 2)
    name = "verdict" if verdict in _VERDICTS else "kind"
    return {"left": left, "right": right, name: verdict} | ({"note": note} if note else {})


def _drawn(item: ReviewAnswer) -> dict[str, RenderableType]:
    told = [
        f"{' · '.join(str(each) for each in known if each) or 'untitled'}  {book['id']}"
        for book in item["books"]
        for known in [[", ".join(book["authors"]), book["title"], book["year"]]]
    ]
    return {
        "kind": item["kind"],
        "confidence": f"{item['confidence']:.2f}",
        "books": stacked(told[0], told[1], item["because"]),
    }


def _review_cells(item: ReviewAnswer) -> list[str]:
    cells: list[object] = [item[name] for name in cast(tuple[Literal["kind"], ...], _REVIEW[:4])]
    for book in item["books"]:
        cells += [book["id"], book["title"], "; ".join(book["authors"]), book["year"]]
    return ["" if cell is None else str(cell) for cell in cells]


def _drawn_decision(item: PastDecisionAnswer) -> dict[str, RenderableType]:
    cells = dict(zip(_DECISION, _decision_cells(item), strict=True))
    said = cells["kind"] if item["verdict"] == "kind" else cells["verdict"]
    told = stacked(cells["left"], cells["right"], cells["note"])
    return {
        "at": cells["at"][:19],
        "by": cells["by"],
        "verdict": stacked(said, cells["outcome"]),
        "books": told,
    }


def _decision_cells(item: PastDecisionAnswer) -> list[str]:
    before = item["before"] or {"verdict": None, "kind": None, "by": None}
    cells = [
        item["at"],
        item["by"],
        item["verdict"],
        item["kind"],
        item["outcome"],
        item["left"],
        item["right"],
    ]
    cells += [item["note"], before["verdict"], before["kind"], before["by"]]
    return ["" if cell is None else str(cell) for cell in cells]
