"""Completeness: what a scan lacks, and its document."""

from uuid import UUID

from pydantic import Field

from app.api.http.deps import BookId, ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.schemas.documents import Document, Share
from app.services.completeness import FaultKind


class PagesOfCopyAnswer(Document):
    """Pages of a copy."""

    book_id: UUID
    pages: tuple[int, int] = Field(description="Counted from 0; the end is exclusive.")


class FaultAnswer(Document):
    """A fault of a scan. Pages are counted from 0, the end exclusive."""

    kind: FaultKind = Field(description="Foreign: of another book, in the place of pages that the copy has.")
    pages: tuple[int, int] | None = Field(description="Of the book in the path; null: missing.")
    between: tuple[int, int] | None = Field(
        description="Pages of the book in the path between which what is missing or misplaced belongs: -1 "
        "before the first, the page count behind the last; null: they are not out of place, or the whole "
        "scan is from the back or has the halves of its spreads swapped."
    )
    labels: list[str | None] = Field(
        description="What is printed as their numbers on the pages of the first copy."
    )
    copies: list[PagesOfCopyAnswer] = Field(
        validation_alias="copies", serialization_alias="in", description="The copies that have the pages."
    )
    confidence: Share = Field(description="0 to 1.")
    because: str = Field(description="What speaks for it.")
    source: PagesOfCopyAnswer | None = Field(
        description="The book that foreign pages are of; null: they are not, or it is not known."
    )


class CompletenessAnswer(Document):
    """Faults of a scan, found by copies of its printing, in the order of its pages."""

    compared_with: list[UUID] = Field(description="The copies, at most five.")
    findings: list[FaultAnswer]


router = SubjectRouter(
    "/v1/books/{book_id}/completeness",
    tag="completeness",
    description="Pages that a scan lacks, has twice, out of order or from another book.",
)


@router.get("", summary="Tell what a scan lacks", scope="read", also=(409,))
async def read_completeness(book_id: BookId, services: ServicesDep) -> CompletenessAnswer:
    """Holds a scan, page by page, against up to five other books that are SAME_PAGINATION with it.

    A plate, an advertisement or a leaf that a copy alone has is no fault: page numbers, sentences that run
    on, the words of the book and other copies tell which is which. Both have to have pages and a text that is
    kept; page labels outrank numbers printed on the pages.
    """
    return CompletenessAnswer.model_validate(await services.completeness.of_book(book_id))
