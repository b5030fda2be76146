"""Write the generated pages of docs/: `python -m tools.documents`.

The settings, the API and the command line come from the program, the list of decisions from their headings,
and docs/why/numbers.md from `tools/numbers.in.md` and the results of the benchmarks. A place in that file is
`{{result | table | row | column | format | factor}}`: the name of a result, the beginning of a table's
caption or its number from 1, the first cells of a row joined by ` + `, a heading, a format specification, and
a factor. `{{result | machine}}` and `{{result | command}}` insert the machine and the command.
"""

import json
import re
import sys
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from app.settings import Settings
from tools.reference import api, commands

ROOT = Path(__file__).parents[1]
RESULTS = (ROOT / "bench" / "results", ROOT / "research" / "results")
_TEMPLATE = Path(__file__).with_name("numbers.in.md")
_PLACE = re.compile(r"\{\{(.+?)\}\}", re.DOTALL)

_CONFIGURATION = """# Configuration

Settings come from the environment of each process; only `docker compose` reads `.env` files. Give the API,
the workers and the commands the same settings. `python -m tools.documents` makes this page from
`app/settings.py`.

| variable | value | default | meaning |
| --- | --- | --- | --- |
"""
_DECISIONS = """# Decisions

Each page is one choice: context, decision and consequences. `python -m tools.documents` makes this list.

"""
_MIB = 1 << 20
_NAMES = {str: "text", int: "whole number", float: "number", Path: "path"}


def documents() -> dict[Path, str]:
    """Return the text of each page by its path."""
    docs = ROOT / "docs"
    return {
        docs / "reference" / "api.md": api(),
        docs / "reference" / "commands.md": commands(),
        docs / "reference" / "configuration.md": configuration(),
        docs / "why" / "numbers.md": numbers(_TEMPLATE.read_text(encoding="utf-8")),
        docs / "why" / "decisions" / "README.md": decisions(docs / "why" / "decisions"),
    }


def configuration() -> str:
    """Return the page of the settings, with a row for each setting in the order of the class."""
    rows = [
        f"| `{field.alias}` | {_type(field.annotation)} | {_default(field)} | {field.description} |\n"
        for field in Settings.model_fields.values()
    ]
    return _CONFIGURATION + "".join(rows)


def _type(annotation: Any) -> str:
    """Return a type in words: `text`, `whole number`, or the allowed values."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(parts[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in parts)
    if origin is UnionType:
        return _type(next(part for part in parts if part is not NoneType))
    return "list" if origin in (tuple, frozenset) else _NAMES.get(annotation, "text")


def _default(field: FieldInfo) -> str:
    """Return the default. The meaning of a setting explains a default that depends on the machine."""
    value = field.default
    if field.default_factory is not None:
        return "of the machine"
    if isinstance(value, int) and value and value % _MIB == 0:
        return f"`{value}` ({value // _MIB:,} MiB)"
    return "unset" if value in (None, (), frozenset()) else f"`{value}`"


def decisions(folder: Path) -> str:
    """Return the list of decisions with their headings."""
    rows = []
    for path in sorted(folder.glob("[0-9]*.md")):
        number, _, title = (
            path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").partition(". ")
        )
        rows.append(f"{number}. [{title}]({path.name})\n")
    return _DECISIONS + "".join(rows)


def numbers(template: str) -> str:
    """Return the template with every place filled; raises LookupError if a result lacks the value."""
    return _PLACE.sub(
        lambda place: _filled([" ".join(part.split()) for part in place[1].split("|")]), template
    )


def _filled(place: list[str]) -> str:
    result = _result(place[0])
    if len(place) == 2:
        return str(result[place[1]])
    caption, row, column = place[1:4]
    tables = [
        table
        for number, table in enumerate(result["tables"], 1)
        if caption == str(number) or table["caption"].startswith(caption)
    ]
    if not tables:
        raise LookupError(f"{place[0]} has no table {caption!r}.")
    headers, rows = tables[0]["headers"], tables[0]["rows"]
    found = [cells for cells in rows if " + ".join([*map(str, cells), ""]).startswith(f"{row} + ")]
    if not found or column not in headers:
        raise LookupError(f"{place[0]}, {caption!r} has no {row!r} with {column!r}.")
    cell = found[0][headers.index(column)]
    if isinstance(cell, str):
        return cell
    return format(cell * float(place[5]) if len(place) > 5 else cell, place[4] if len(place) > 4 else "")


@cache
def _result(name: str) -> dict[str, Any]:
    path = next(path for folder in RESULTS if (path := folder / f"{name}.json").exists())
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


if __name__ == "__main__":
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(ROOT)} is written", file=sys.stderr)
