"""Completeness: the faults of a scan, as a document."""

from uuid import UUID

from pydantic import Field

from app.api.http.deps import BookId, ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.schemas.documents import Document, Share
from app.services.completeness import FaultKind


class PagesOfCopyAnswer(Document):
    """Pages of a copy."""

    book_id: UUID
    pages: tuple[int, int] = Field(description="Pages, counted from 0, end exclusive.")


class FaultAnswer(Document):
    """A fault of a scan. Pages are counted from 0, end exclusive."""

    kind: FaultKind = Field(description="Foreign pages are from another book and replace pages of the copy.")
    pages: tuple[int, int] | None = Field(description="Pages of the book in the path; null: missing.")
    between: tuple[int, int] | None = Field(
        description="Pages of the book in the path that enclose the right place of missing or misplaced "
        "pages: -1 before the first, the page count after the last. Null: not out of place, or the whole "
        "scan is in reverse order or has the halves of its spreads swapped."
    )
    labels: list[str | None] = Field(description="Page labels of the pages in the first copy.")
    copies: list[PagesOfCopyAnswer] = Field(
        validation_alias="copies", serialization_alias="in", description="Copies that contain the pages."
    )
    confidence: Share = Field(description="Confidence, 0 to 1.")
    because: str = Field(description="Evidence for the fault.")
    source: PagesOfCopyAnswer | None = Field(
        description="Book that contains the foreign pages; null: not foreign, or book unknown."
    )


class CompletenessAnswer(Document):
    """Faults of a scan, found with copies of the same printing, in page order."""

    compared_with: list[UUID] = Field(description="Ids of the copies, at most five.")
    findings: list[FaultAnswer]


router = SubjectRouter(
    "/v1/books/{book_id}/completeness",
    tag="completeness",
    description="Missing, doubled, misplaced and foreign pages of a scan.",
)


@router.get("", summary="Read the faults of a scan", scope="read", also=(409,))
async def read_completeness(book_id: BookId, services: ServicesDep) -> CompletenessAnswer:
    """Compares a scan, page by page, with up to five books that are SAME_PAGINATION with it.

    A plate, an advertisement or a leaf in only one copy is not a fault. Page numbers, sentences across pages,
    the words of the book and other copies show the difference. The scan and a copy must have page breaks and
    stored texts. Page labels take precedence over numbers in the text.
    """
    return CompletenessAnswer.model_validate(await services.completeness.of_book(book_id))
