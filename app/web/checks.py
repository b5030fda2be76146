"""The page that checks whether the library has the books of a list, a text or a file.

Rows are answered while the list is read. Only the list (at most 16 MiB) and four rows are in memory.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog
from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response, StreamingResponse

from app.api.http.admission import Permit
from app.api.http.deps import MetricsDep, PermitDep, ServicesDep
from app.api.http.files import shown_name, spooled
from app.api.http.lines import LINES_AT_ONCE, in_order, turn_of_line
from app.api.http.problems import problem_of
from app.services.checks import VERDICTS, row_of
from app.services.index.questions import Verified
from app.web.rendering import HEADERS, page, rendered
from app.web.routes import PageRouter
from bookprint_core.book_rules import checked
from bookprint_core.csv_tables import csv_line
from bookprint_core.errors import FileTooLarge, InvalidInput

if TYPE_CHECKING:
    from bookprint_readers.unread import Unread

log = structlog.get_logger()

MOST_LIST_BYTES = 16 << 20
MOST_BOOKS_SHOWN = 5  # books shown in a row
MOST_SHOWN = 10_000  # rows on a page; a table contains all

WORDS = {
    "have": "Yes",
    "other_edition": "Another edition",
    "part_of": "Part of a book here",
    "contains": "Contains a book here",
    "perhaps": "Perhaps",
    "no": "No",
    "unanswered": "Not answered",
}
EVIDENCE = {
    "text": "by its text",
    "identifier": "by its number",
    "name": "by title and author only",
}

_HEAD_BYTES = 1 << 14
_ROWS, _SUMMARY = "<!-- rows -->", "<!-- summary -->"

_Answer = dict[str, Any]
"""Answer to a row, as from POST /v1/checks, with the row's place, its share of the list, and its text."""

router = PageRouter()


@router.get("/check", scope="read")
async def show_check(request: Request) -> Response:
    """Show the form for a list, a text or a file."""
    return page(request, "check.html", text="", is_list=True)


@router.post("/check", scope="read")
async def answer_check(
    request: Request, services: ServicesDep, metrics: MetricsDep, permit: PermitDep
) -> Response:
    """Answer row by row, as a page or as a table (`as=csv`)."""
    form = await request.form()
    rows, size = await _rows(request, form, permit)
    first = await asyncio.to_thread(next, rows, None)
    if first is None:
        raise InvalidInput("The list has no rows.", "file")

    is_table = form.get("as") == "csv"

    async def answer(row: "Unread") -> _Answer:
        told: _Answer = {"place": row.part or row.place, "share": min(row.position / max(size, 1), 1.0)}
        told["asked"], told["known"] = getattr(row, "text", None), {}
        try:
            async with turn_of_line(request, permit, 1):
                book = await asyncio.to_thread(lambda: checked(row.read()))
                metrics.count_lookup(Verified())
                found = await services.checks.check(row_of(book))
            told["asked"] = told["asked"] or book.metadata.title or " ".join(book.metadata.identifiers)
            told |= asdict(found)
            shown = [item["book_id"] for item in told["items"][: MOST_BOOKS_SHOWN * (not is_table)]]
            told["known"] = await services.reconciliation.read_books(shown)
            for item in told["items"]:
                item["link"] = f"/books/{item['book_id']}"
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                log.exception("row failed", place=row.place)
            told["problem"] = {"detail": problem.detail}
        return told

    answers = in_order(_in_turn(first, rows), answer, LINES_AT_ONCE)
    if is_table:
        fields = HEADERS | {"Content-Disposition": 'attachment; filename="answers.csv"'}
        return StreamingResponse(_table(answers), headers=fields, media_type="text/csv")
    text, is_list = str(form.get("text", "")), form.get("is") != "text"
    whole = rendered(request, "check_answers.html", text=text, is_list=is_list, words=WORDS)
    return StreamingResponse(_page(request, whole, answers), headers=HEADERS, media_type="text/html")


async def _rows(request: Request, form: FormData, permit: Permit) -> tuple[Iterator["Unread"], int]:
    """Return the rows of the form, and its size in bytes or characters. The file may be closed afterwards."""
    # Imported late: most processes never read a list.
    from app.services.bulk.lists import ListedBook, pasted_lines, pasted_text, sent_rows

    file, text = form.get("file"), str(form.get("text", ""))
    if isinstance(file, UploadFile) and file.filename:
        name, head, size = shown_name(file.filename), await file.read(_HEAD_BYTES), file.size or 0
        if sent_rows(head, name) is None:
            descriptor = await asyncio.to_thread(spooled, file.file)
            return iter(
                [ListedBook(name, "", 1, await request.app.state.reading.read(descriptor, name, {}))]
            ), 1
        if size > MOST_LIST_BYTES:
            raise FileTooLarge(f"A list may have at most {MOST_LIST_BYTES >> 20} MiB. Split it.")
        permit.memory.hold(size)
        await file.seek(0)
        return sent_rows(await file.read(), name) or iter(()), size
    if not text.strip():
        raise InvalidInput("There is nothing to check. Paste a list or a text, or choose a file.")
    permit.memory.hold(len(text))
    return (pasted_text(text) if form.get("is") == "text" else pasted_lines(text)), len(text)


async def _in_turn(first: "Unread", rows: Iterator["Unread"]) -> AsyncIterator["Unread"]:
    row: Unread | None = first
    while row is not None:
        yield row
        row = await asyncio.to_thread(next, rows, None)


async def _page(request: Request, whole: str, answers: AsyncIterator[_Answer]) -> AsyncIterator[str]:
    head, _, rest = whole.partition(_ROWS)
    table_end, _, end = rest.partition(_SUMMARY)
    yield head
    row_of_page = partial(rendered, request, "check_row.html", words=WORDS, evidence=EVIDENCE)
    counts = Counter[str]()
    async for row in answers:
        if counts.total() == MOST_SHOWN:
            counts["more"] += 1
            break
        counts[row.get("verdict", "unanswered")] += 1
        yield row_of_page(answer=row, known=row["known"], most=MOST_BOOKS_SHOWN)
    yield table_end
    told = {name: counts[name] for name in (*VERDICTS, "unanswered")}
    yield rendered(request, "check_summary.html", counts=told, words=WORDS, is_cut=counts["more"] > 0)
    yield end


async def _table(answers: AsyncIterator[_Answer]) -> AsyncIterator[str]:
    from app.services.bulk.lists import COLUMNS, cells

    yield "\ufeff" + csv_line(COLUMNS)
    async for row in answers:
        yield csv_line(cells(row))
