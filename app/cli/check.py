"""`bookprint check` and `export`: check a list against a library, and export the library's own list."""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.environment import DEFAULT_URL, AsJson, CollectionOption, KeyOption, Url, service_at
from app.cli.ingest import ColumnOptions, Processes, column_options
from app.cli.output import Listing, Reporter, UserError, notices, print_list, require_one_form, results
from app.kernel_cache import keep_kernels
from app.secrets import forget_secrets
from bookprint_client import Client, ClientError, calls
from bookprint_client.calls import CheckLine

if TYPE_CHECKING:
    from bookprint_core.errors import Refusal
    from bookprint_core.model import Submission

_ROWS_AT_ONCE = 200
_BOOKS_AT_ONCE = 1_000
_CHARACTERS_AT_ONCE = 16 << 20
_PATIENCE = 60.0
"""Seconds during which rows that the service answers with 503 are sent again."""

_AWAY = 503
_STDIN = "-"

_ROWS = Listing(
    "rows",
    {},
    wide="book",
    narrow=("place", "verdict", "by"),
    lines=("{title} · {problem}", "{book_id}", "{because}"),
)

_Row = dict[str, Any]
"""Answer to one row, with the row's place in the list."""


def check(
    book_list: Annotated[
        str,
        typer.Argument(
            metavar="LIST",
            help="A table (CSV, Parquet), MARC records, JSON Lines, a file or folder of books, or - for "
            "a text on standard input.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.csv", help="Write the answers to a table.", dir_okay=False),
    ] = None,
    column: ColumnOptions = None,
    processes: Processes = None,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
    json: AsJson = False,
) -> None:
    """Check for each book of a list whether the library has it; nothing is stored.

    Verdicts: have (same text, and same pages if both are known), other_edition, part_of and contains (by the
    text), perhaps (only by the name, or by a number that other fields contradict), and no. The text of a row
    decides first, then its identifier, then its catalogue numbers, then its title and author.
    Exit status: 0 all rows are answered, 1 some rows are not answered, 2 the command could not run.
    """
    require_one_form(json, out, "--out")
    keep_kernels()
    forget_secrets()  # the reading processes open untrusted files and would inherit the secrets
    from app.services.bulk.lists import COLUMNS, cells

    counts: dict[str, int] = {}
    columns = column_options(column)
    with Reporter("Checking", "rows") as reporter, service_at(url, key) as service:
        rows = _counted(_answers(service, _read(book_list, columns, processes)), counts, reporter)
        try:
            listing = replace(_ROWS, columns={name: name for name in COLUMNS})
            items = rows if json else (dict(zip(COLUMNS, cells(row), strict=True)) for row in rows)
            print_list(listing, items, json=json, table=out, reporter=reporter)
        except ClientError:
            notices().print(f"The service stopped answering after {sum(counts.values()):,} rows.")
            raise
    told = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items()) or "no rows"
    (notices() if out is None else results()).print(told)
    if counts.get("not answered"):
        raise typer.Exit(1)


def export(
    identifiers: Annotated[
        bool, typer.Option("--identifiers", help="Write the identifier and the metadata of each book.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help=".parquet, .csv or .jsonl.", dir_okay=False)
    ] = Path("holdings.parquet"),
    collection: CollectionOption = None,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
) -> None:
    """Write the holdings of a library for a partner, who reads them with `ingest` or `check`.

    No text can be recovered from an identifier. Very short books have no identifier and are left out.
    """
    from app.catalog import holdings

    if not identifiers:
        raise UserError("Choose what to export: --identifiers.", 2)
    with Reporter("Exporting", "books") as reporter, service_at(url, key) as service:
        count = holdings.write(out, _holdings(service, collection, reporter))
    results().print(f"{count:,} written")


def _holdings(service: Client, collection: str | None, reporter: Reporter) -> Iterator[Mapping[str, Any]]:
    read, total = 0, service.send(calls.read_library())["books"] if collection is None else None
    for page in service.pages(calls.list_books(collection=collection, limit=_BOOKS_AT_ONCE)):
        read += len(page["items"])
        reporter.advance(read, read / total if total else None)
        for book in page["items"]:
            if (identifier := book["long_identifier"] or book["identifier"]) is not None:
                yield {**book, "identifier": identifier}


def _read(
    book_list: str, columns: Mapping[str, str], processes: int | None
) -> "Iterator[tuple[str, float, Submission | Refusal]]":
    """Yield the place of each row, the share of the list read so far, and the book."""
    from app.services.bulk.lists import listed_books, told_of
    from bookprint_core.errors import InvalidInput, Refusal
    from bookprint_core.model import Submission
    from bookprint_core.text.content import content_from_text
    from bookprint_readers.processes import ReadingProcesses, cores
    from bookprint_readers.reading import read_book, results_of

    try:
        if book_list == _STDIN:
            text = sys.stdin.buffer.read().decode("utf-8")
            yield "standard input", 1.0, Submission(content=content_from_text(text))
            return
        path = Path(book_list)
        size = sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")))
        with ReadingProcesses(processes or cores(), read_book, (Submission, Refusal)) as reading:
            for book, result in results_of(reading, listed_books(path, columns)):
                yield book.place, book.position / max(size, 1), result
        if note := told_of(path):
            notices().print(note)
    except UnicodeDecodeError as exc:
        raise UserError(f"Standard input is not UTF-8 at byte {exc.start + 1:,}. Send UTF-8.", 2) from exc
    except InvalidInput as exc:
        raise UserError(f"{book_list}: {exc}", 2) from exc


def _answers(
    service: Client, rows: "Iterable[tuple[str, float, Submission | Refusal]]"
) -> Iterator[tuple[_Row, float]]:
    """Yield the answer to each row in order. Rows are sent in batches."""
    from app.cli.posting import book_body
    from bookprint_core.errors import Refusal

    held: list[tuple[str, float, dict[str, Any] | Refusal]] = []
    characters = 0
    for place, share, book in rows:
        body = book if isinstance(book, Refusal) else book_body(book)
        held.append((place, share, body))
        content = None if isinstance(book, Refusal) else book.content
        characters += 0 if content is None else len(content.text)
        if len(held) >= _ROWS_AT_ONCE or characters >= _CHARACTERS_AT_ONCE:
            yield from _answered(service, held)
            held, characters = [], 0
    yield from _answered(service, held)


def _answered(
    service: Client, rows: "Sequence[tuple[str, float, dict[str, Any] | Refusal]]"
) -> Iterator[tuple[_Row, float]]:
    sent = [body for _, _, body in rows if isinstance(body, dict)]
    answers = iter(_patiently(service, sent))
    for place, share, body in rows:
        answer: _Row = {"place": place}
        answer |= next(answers) if isinstance(body, dict) else {"problem": {"detail": body.reason}}
        answer.pop("line", None)
        yield answer, share


def _patiently(service: Client, bodies: Sequence[dict[str, Any]]) -> list[CheckLine]:
    """Return the answers. Rows answered with 503 are sent again, for at most `_PATIENCE` seconds in all."""
    deadline = time.monotonic() + _PATIENCE
    answers: dict[int, CheckLine] = {}
    waiting = list(range(len(bodies)))
    while waiting:
        lines = (
            line for call in calls.check_rows(bodies[at] for at in waiting) for line in service.send(call)
        )
        answers |= dict(zip(waiting, lines, strict=True))
        waiting = [at for at in waiting if answers[at].get("status") == _AWAY]
        if waiting:
            wait = max(float(answers[at].get("retry_after") or 1) for at in waiting)
            if time.monotonic() + wait > deadline:
                break
            time.sleep(wait)
    return [answers[at] for at in range(len(bodies))]


def _counted(
    answers: Iterable[tuple[_Row, float]], counts: dict[str, int], reporter: Reporter
) -> Iterator[_Row]:
    for answer, share in answers:
        verdict = answer.get("verdict", "not answered")
        counts[verdict] = counts.get(verdict, 0) + 1
        reporter.advance(sum(counts.values()), share)
        yield answer
