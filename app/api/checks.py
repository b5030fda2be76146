"""Checks of lists: for each row, whether the library has the book."""

import asyncio
from dataclasses import asdict, replace
from typing import Annotated, Any, ClassVar, Self

from fastapi import Request
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.books import book_path
from app.api.http import examples
from app.api.http.bodies import parsed, validated
from app.api.http.deps import MetricsDep, PermitDep, ServicesDep
from app.api.http.lines import DuplexResponse, answered_lines, described_answers, described_lines
from app.api.http.routes import SubjectRouter
from app.api.schemas.submissions import BookBody
from app.services.checks import CheckRow
from app.services.index.questions import Verified
from bookprint_core.metadata import LONGEST_IDENTIFIER
from bookprint_core.model import Metadata


class CheckBody(BookBody):
    """Row of a list: a text, pages, signatures or an identifier, or numbers and names."""

    may_lack_all: ClassVar[bool] = True

    isbn: Annotated[str, Field(max_length=LONGEST_IDENTIFIER)] | None = Field(
        default=None, description="An ISBN of 10 or 13 digits; equivalent to isbn:… in `identifiers`."
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        names = (*self.one_of, "isbn", "identifiers", "external_id", "title", "authors", "marc")
        if not any(getattr(self, name) for name in names):
            raise PydanticCustomError(
                "nothing_to_check", "None of {names} was sent", {"names": ", ".join(names), "field": "title"}
            )
        return self

    def to_metadata(self) -> Metadata:
        """Return the metadata, with the ISBN in the identifiers."""
        metadata = super().to_metadata()
        if self.isbn is None:
            return metadata
        return replace(metadata, identifiers=(*metadata.identifiers, f"isbn:{self.isbn}"))

    def to_row(self) -> CheckRow:
        return CheckRow(self.to_submission(), self.to_identifier())


router = SubjectRouter(
    "/v1/checks", tag="checks", description="Check for each book of a list whether the library has it."
)

_ROWS = [{"isbn": "0-14-143960-2"}, {"title": examples.TITLE, "authors": ["E. M. Harbour"], "year": 1913}]


@router.post(
    "",
    summary="Check a list",
    response_class=DuplexResponse,
    responses=described_answers([examples.CHECK, examples.LINE_PROBLEM]),
    scope="read",
    openapi_extra={"requestBody": {"required": True, "content": described_lines(_ROWS)}},
    also=None,
)
async def check_rows(
    request: Request, services: ServicesDep, metrics: MetricsDep, permit: PermitDep
) -> DuplexResponse:
    """Reads one JSON object per line and answers each with one line, in order, while the request arrives.

    A row is a body of `POST /v1/books`, or an `identifier`, `isbn` or `identifiers`, or a `title` with
    `authors` and `year`. The strongest evidence decides: text, then `identifier`, then catalogue numbers,
    then names; `by` is its kind. `verdict` is `have` (the same text, and the same pages if known),
    `other_edition`, `part_of` (a book contains the row), `contains` (the row contains a book), `perhaps` or
    `no`. Names alone, and numbers that title, volume or check digit contradict, give at most `perhaps`.
    `items` are the books, each with its own verdict and `evidence`. A row that cannot be answered has
    `status` and `problem` instead, and does not affect other rows. A row with status 503 can be sent again
    after `retry_after` seconds. Each row counts as a lookup, and waits for the key's limit.
    """

    async def answer(line: bytes) -> dict[str, Any]:
        row = await asyncio.to_thread(lambda: validated(CheckBody, parsed(line)).to_row())
        metrics.count_lookup(Verified())
        found = await services.checks.check(row)
        items = [asdict(item) | {"link": book_path(item.book_id)} for item in found.items]
        return {"verdict": found.verdict, "by": found.by, "because": found.because, "items": items}

    return answered_lines(request, permit, answer, are_lookups=True)
