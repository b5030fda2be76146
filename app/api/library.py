"""Counts of the whole library, as a document."""

from pydantic import Field

from app.api.http.deps import ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.schemas.documents import Document
from app.services.library import MOST_VALUES


class YearCount(Document):
    """The number of books of a year."""

    value: int | None = Field(description="Year; null: unknown.")
    count: int


class NameCount(Document):
    """The number of books of a language or a collection."""

    value: str | None = Field(description="Language or collection; null: unknown or none.")
    count: int


class LibraryAnswer(Document):
    """Numbers of books by year, language and collection, most frequent values first."""

    books: int = Field(description="Number of books.")
    estimated: bool = Field(
        description="True above 100,000 books: the numbers are estimated from a sample, and rare values may "
        "be missing."
    )
    years: list[YearCount] = Field(description=f"At most {MOST_VALUES} years.")
    languages: list[NameCount] = Field(description=f"At most {MOST_VALUES} languages.")
    collections: list[NameCount] = Field(description=f"At most {MOST_VALUES} collections.")


router = SubjectRouter("/v1/library", tag="library", description="Counts of the whole library.")


@router.get("", summary="Count the books of the library", scope="read")
async def read_library(services: ServicesDep) -> LibraryAnswer:
    """Returns the number of books by year, language and collection, at most ten seconds old."""
    return LibraryAnswer.model_validate(await services.library.holdings())
