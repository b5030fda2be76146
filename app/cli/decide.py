"""`bookprint decide`: record a person's decisions on one pair of books, or on the pairs of a file."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, get_args

import typer

from app.cli.environment import DEFAULT_URL, KeyOption, Url, service_at
from app.cli.lookup import named_book
from app.cli.output import Reporter, UserError, notices
from bookprint_client import calls
from bookprint_core.relations.classification import Kind

_AT_ONCE = 200
_VERDICTS = ("confirmed", "rejected", "withdrawn", "undone", "unsure")


def decide(
    left: Annotated[str | None, typer.Argument(metavar="BOOK", help="Id or external id.")] = None,
    right: Annotated[str | None, typer.Argument(metavar="BOOK")] = None,
    verdict: Annotated[
        str | None,
        typer.Argument(metavar="VERDICT", help="confirmed, rejected, withdrawn, undone, unsure or a kind."),
    ] = None,
    note: Annotated[str | None, typer.Option(help="Note that is shown in the history.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="CSV file with the columns left_id, right_id, verdict and note; each row is a decision.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    all_or_none: Annotated[
        bool, typer.Option(help="Store all rows (at most 500), or none if one is refused.")
    ] = False,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
) -> None:
    """Decide on the relation of two books, or on every row of a file that `bookprint reviews --csv` wrote.

    Rows without a verdict are skipped.
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
        with Reporter("Deciding", "pairs") as reporter:
            for start in range(0, len(items), step):
                sent = calls.decide_many(items[start : start + step], all_or_none=all_or_none)
                for item in service.send(sent)["items"]:
                    if (problem := item["problem"]) is not None:
                        refused += 1
                        reporter.say(f"{item['left']} {item['right']}: {problem['detail']}")
                reporter.counted(min(start + step, len(items)), len(items))
    notices().print(f"Decisions: {len(items) - refused:,}; refused: {refused:,}.")
    if refused:
        raise typer.Exit(1)


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as opened:
        reader = csv.DictReader(opened)
        missing = {"left_id", "right_id", "verdict"} - set(reader.fieldnames or ())
        if missing:
            raise UserError(f"{file} lacks the columns: {', '.join(sorted(missing))}.", 2)
        return [row for row in reader if row["verdict"]]


def _item(left: str, right: str, verdict: str, note: str | None) -> Mapping[str, str]:
    if verdict not in (*_VERDICTS, *get_args(Kind)):
        raise UserError(f"{verdict} is not a verdict. Use {', '.join(_VERDICTS)} or a kind of relation.", 2)
    name = "verdict" if verdict in _VERDICTS else "kind"
    return {"left": left, "right": right, name: verdict} | ({"note": note} if note else {})
