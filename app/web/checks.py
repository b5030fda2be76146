"""The page that tells for each book of a list, a text or a file whether the library has it.

The rows are answered while the list is read: in memory are the list itself, at most 16 MiB, and four rows.
"""

import asyncio
import csv
import io
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import structlog
from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.responses import Response, StreamingResponse

from app.api.http.deps import MetricsDep, PermitDep, ServicesDep
from app.api.http.files import shown_name, spooled
from app.api.http.lines import LINES_AT_ONCE, in_order, turn_of_line
from app.api.http.problems import problem_of
from app.core.book_rules import checked
from app.core.errors import FileTooLarge, InvalidInput
from app.core.model import Submission
from app.core.text.content import content_from_text
from app.services.checks import VERDICTS, row_of
from app.services.lookups import Verified
from app.web.languages import N_
from app.web.rendering import HEADERS, page, rendered
from app.web.routes import PageRouter

log = structlog.get_logger()

MOST_LIST_BYTES = 16 << 20
MOST_SHOWN = 10_000
"""Rows on a page; a table has all."""

WORDS = {
    "have": N_("Yes"),
    "other_edition": N_("Another edition"),
    "part_of": N_("Part of a book here"),
    "contains": N_("Contains a book here"),
    "perhaps": N_("Perhaps"),
    "no": N_("No"),
    "problem": N_("Not answered"),
}
EVIDENCE = {"text": N_("by its text"), "identifier": N_("by its number"), "name": N_("by its name alone")}

_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 1 << 14
_ROWS, _SUMMARY = "<!-- rows -->", "<!-- summary -->"
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")

router = PageRouter()


@router.get("/check", scope="read")
async def show_check(request: Request) -> Response:
    """The form that takes a list, a text or a file."""
    return page(request, "check.html", text="", is_list=True)


@router.post("/check", scope="read")
async def answer_check(
    request: Request, services: ServicesDep, metrics: MetricsDep, permit: PermitDep
) -> Response:
    """Answer row by row, as a page or as a table (`as=csv`)."""
    form = await request.form()
    file, text, is_list = form.get("file"), str(form.get("text", "")), form.get("is") != "text"
    if isinstance(file, UploadFile) and file.filename:
        rows = await _rows_of_file(request, file, permit.memory.hold)
    elif text.strip():
        permit.memory.hold(len(text))
        rows = await asyncio.to_thread(_rows_of_text, text, is_list)
    else:
        raise InvalidInput("Nothing was sent to be checked. Paste a list or a text, or choose a file.")
    first = await asyncio.to_thread(next, rows, None)
    if first is None:
        raise InvalidInput("The list has no rows.", "file")

    async def answer(row: _AskedRow) -> _AnsweredRow:
        told: dict[str, Any] = {"place": row.place}
        asked = row.told
        try:
            async with turn_of_line(request, permit, 1):
                book = await asyncio.to_thread(lambda: checked(row.read()))
                metrics.count_lookup(Verified())
                found = await services.checks.check(row_of(book))
                asked = asked or _told_of(book)
                told |= asdict(found)
                for item in told["items"]:
                    item["link"] = f"/books/{item['book_id']}"
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                log.exception("row failed", place=row.place)
            told["problem"] = {"detail": problem.detail}
        return _AnsweredRow(asked, row.share, told)

    answers = in_order(_asked(first, rows), answer, LINES_AT_ONCE)
    if form.get("as") == "csv":
        fields = HEADERS | {"Content-Disposition": 'attachment; filename="answers.csv"'}
        return StreamingResponse(_table(answers), headers=fields, media_type="text/csv")
    whole = rendered(request, "check_answers.html", text=text, is_list=is_list, words=WORDS)
    return StreamingResponse(_page(request, whole, answers), headers=HEADERS, media_type="text/html")


@dataclass(frozen=True, slots=True)
class _AskedRow:
    """A row that is yet to be read."""

    place: str
    share: float  # of the list up to its end
    read: Callable[[], Submission]
    told: str | None = None  # the row as it was pasted


@dataclass(frozen=True, slots=True)
class _AnsweredRow:
    """What a row asked for, and its answer in the form of POST /v1/checks with its place."""

    asked: str | None
    share: float
    answer: Mapping[str, Any]

    @property
    def outcome(self) -> str:
        """The verdict, or `problem`."""
        return str(self.answer.get("verdict", "problem"))


async def _rows_of_file(
    request: Request, file: UploadFile, hold: Callable[[int], None]
) -> Iterator[_AskedRow]:
    """The rows of a list, or the one book of a file; the file is not needed any more."""
    name, head = shown_name(file.filename), await file.read(_HEAD_BYTES)
    # What expands is left to the process that reads books.
    if not head.startswith(_GZIP) and await asyncio.to_thread(_listed, head, name) is not None:
        size = file.size or 0
        if size > MOST_LIST_BYTES:
            raise FileTooLarge(f"A list may have {MOST_LIST_BYTES >> 20} MiB. Split it.")
        hold(size)
        return _listed(head + await file.read(), name) or iter(())
    descriptor = await asyncio.to_thread(spooled, file.file)
    book = await request.app.state.reading.read(descriptor, name, {})
    return iter([_AskedRow(name, 1.0, lambda: book)])


def _listed(data: bytes, name: str) -> Iterator[_AskedRow] | None:
    """The rows of a list; None: it is none."""
    # Late, because a process that is sent no list needs no reader.
    from app.readers.source import Source
    from app.services.bulk.lists import listed_rows

    rows = listed_rows(Source.of_bytes(data, name), {})
    if rows is None:
        return None
    return (
        _AskedRow(row.part or row.place, min(row.position / max(len(data), 1), 1.0), row.read) for row in rows
    )


def _rows_of_text(text: str, is_list: bool) -> Iterator[_AskedRow]:
    if not is_list:
        return iter([_AskedRow("text", 1.0, lambda: Submission(content=content_from_text(text)))])
    from app.services.bulk.lists import pasted_lines

    return (
        _AskedRow(row.part, min(row.position / len(text), 1.0), row.read, row.text)
        for row in pasted_lines(text)
    )


async def _asked(first: _AskedRow, rows: Iterator[_AskedRow]) -> AsyncIterator[_AskedRow]:
    row: _AskedRow | None = first
    while row is not None:
        yield row
        row = await asyncio.to_thread(next, rows, None)


def _told_of(book: Submission) -> str | None:
    metadata = book.metadata
    return metadata.title or " ".join(metadata.identifiers) or metadata.external_id


async def _page(request: Request, whole: str, answers: AsyncIterator[_AnsweredRow]) -> AsyncIterator[str]:
    head, _, rest = whole.partition(_ROWS)
    table_end, _, end = rest.partition(_SUMMARY)
    yield head
    row_of_page = partial(rendered, request, "check_row.html", words=WORDS, evidence=EVIDENCE)
    counts = Counter[str]()
    async for row in answers:
        if counts.total() == MOST_SHOWN:
            counts["more"] += 1
            break
        counts[row.outcome] += 1
        yield row_of_page(row=row)
    yield table_end
    told = {name: counts[name] for name in (*VERDICTS, "problem")}
    yield rendered(request, "check_summary.html", counts=told, words=WORDS, is_cut=counts["more"] > 0)
    yield end


async def _table(answers: AsyncIterator[_AnsweredRow]) -> AsyncIterator[str]:
    """The lines of a CSV file; what a spreadsheet would take for a formula is marked as text."""
    from app.services.bulk.lists import COLUMNS, cells

    yield "\ufeff" + _line(COLUMNS)
    async for row in answers:
        yield _line([f"'{cell}" if cell.startswith(_FORMULAS) else cell for cell in cells(row.answer)])


def _line(row: Any) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(row)
    return text.getvalue()
