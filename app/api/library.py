"""The library as a whole, and its document."""

from pydantic import Field

from app.api.http.deps import ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.schemas.documents import Document
from app.services.library import MOST_VALUES


class YearCount(Document):
    """The number of books of a year."""

    value: int | None = Field(description="Null: of books whose year is not known.")
    count: int


class NameCount(Document):
    """The number of books of a language or a collection."""

    value: str | None = Field(description="Null: of books of which it is not known.")
    count: int


class LibraryAnswer(Document):
    """Contents of the library. Values are ordered by their numbers of books, most frequent first."""

    books: int = Field(description="The number of books.")
    estimated: bool = Field(
        description="True, above 100,000 books: the numbers are estimated from a sample, and values of few "
        "books may be missing."
    )
    years: list[YearCount] = Field(description=f"At most {MOST_VALUES}.")
    languages: list[NameCount] = Field(description=f"At most {MOST_VALUES}.")
    collections: list[NameCount] = Field(description=f"At most {MOST_VALUES}.")


router = SubjectRouter("/v1/library", tag="library", description="What the library holds as a whole.")


@router.get("", summary="Count what the library holds", scope="read")
async def read_library(services: ServicesDep) -> LibraryAnswer:
    """Answers how many books there are by year, language and collection, as of ten seconds ago at most."""
    return LibraryAnswer.model_validate(await services.library.holdings())
