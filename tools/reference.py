"""Generated pages of docs/reference: the operations of the API, and the command line."""

import inspect
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import click
import typer

from app.cli.commands import run
from app.main import create_app
from app.settings import Settings

_API = """# API

REST with JSON over HTTP. `/docs` of a running service describes every operation with parameters, schemas and
an example; `/openapi.json` is the OpenAPI 3.1 document. `python -m tools.documents` makes this page from it.

- **Keys.** If keys are required, send `Authorization: Bearer KEY` or `X-API-Key: KEY`. Each operation
  requires a [scope](../guides/keys.md#scopes).
- **Books.** `POST /v1/books` accepts JSON with one of `text`, `pages`, `signatures` and `identifier`, or a
  [file](formats.md#send-a-file) as `multipart/form-data`. The status is 201 for a new book, and 200 with
  `created: false` for a known book.
- **Ids** are UUIDs of version 7. `external_id` is your own id of a book: `GET /v1/books?external_id=…`.
- **Paging.** A list contains `items` and `next_cursor`. Send the cursor as `cursor` until it is null. `limit`
  is at most 1,000.
- **Versions.** A book has an `ETag`. Send it as `If-Match` with a change; another version answers 412.
- **Errors** are problem documents (RFC 9457): `type`, `title`, `status`, `detail`, and `errors` with the
  field and the remedy. 422 says what is wrong with the request. 429 and 503 say in `Retry-After` when to try
  again.
- **Other forms.** `GET /v1/books/{book_id}` also answers [MARC and JSON-LD](marc.md#out). A relation also
  answers [annotations and CSV](../guides/evidence.md#for-other-tools).

"""
_COMMANDS = """# Command line

`bookprint COMMAND --help` prints the same text. `python -m tools.documents` makes this page from it.

Many commands share these options:

| option | meaning |
| --- | --- |
| `--url` | Address of the service, by default http://127.0.0.1:8000. |
| `--key` | API key. Set `BOOKPRINT_KEY` instead: other users can see the arguments of a command. |
| `--data-dir` | Folder of the embedded servers, by default `BOOKPRINT_DATA_DIR`, else `./data`. |
| `--json` | Print the items as JSON, one per line. |
| `--csv` | Write a table for a spreadsheet. |
| `--limit` | Maximum number of items to print. |

In a terminal a command prints a table; piped, it prints lines with tabs. Exit status: 0 done, 1 something was
refused or differs, 2 the command could not run, 130 Ctrl-C.

"""
_SHARED = {"--url", "--key", "--data-dir", "--json", "--csv", "--limit", "--help"}


def api() -> str:
    """Return the page of the API: a table for each subject, with a row for each operation."""
    subjects: dict[str, list[str]] = defaultdict(list)
    for path, operations in create_app(Settings()).openapi()["paths"].items():
        for method, operation in operations.items():
            scope = operation.get("x-scope") or "–"
            row = f"| `{method.upper()} {path}` | {scope} | {operation['summary']} |\n"
            subjects[operation["tags"][0]].append(row)
    tables = [
        f"## {subject.capitalize()}\n\n| operation | scope | |\n| --- | --- | --- |\n{''.join(rows)}"
        for subject, rows in sorted(subjects.items())
    ]
    return _API + "\n".join(tables)


def commands() -> str:
    """Return the page of the command line: a section for each command, with arguments and options."""
    return _COMMANDS + "\n".join(_sections(program(), ("bookprint",)))


def program() -> Any:
    """Return the program as a click command, without running it."""
    programs: list[typer.Typer] = []
    with patch.object(typer.Typer, "__call__", lambda program, **_: programs.append(program)):
        run()
    return typer.main.get_command(programs[0])


def _sections(group: Any, names: tuple[str, ...]) -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _sections(command, (*names, name))
        else:
            yield _section(command, " ".join((*names, name)))


def _section(command: Any, name: str) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if not {*each.opts, *each.secondary_opts} & _SHARED]
    usage = " ".join([name, *(each.make_metavar(click.Context(command)) for each in arguments)])
    shown = f"`{usage}`\n\n" if arguments else ""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    summary = " ".join(paragraphs[paragraphs[0].startswith("Example:")].split())
    rows = [_row(option) for option in options if option.param_type_name == "option"]
    table = f"\n| option | meaning |\n| --- | --- |\n{''.join(rows)}" if rows else ""
    return f"## {name}\n\n{shown}{summary}\n{table}"


def _row(option: Any) -> str:
    default = option.default
    is_shown = isinstance(default, str | int | float) and not isinstance(default, bool) and default != ""
    suffix = f" Default: {default}." if is_shown else ""
    return f"| `{max(option.opts, key=len)}` | {' '.join((option.help or '').split())}{suffix} |\n"
