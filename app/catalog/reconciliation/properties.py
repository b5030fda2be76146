"""The properties of books in the reconciliation service: what the columns of a table can hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.catalog.identifiers import isbns
from app.core.clusters.cluster_name import ClusterName
from app.core.model import Book
from app.core.relations.decision import RelationSummary
from app.core.signatures import identifier


@dataclass(frozen=True, slots=True)
class RelatedTo:
    """A book that another one is related to, and how."""

    book_id: UUID
    title: str | None
    summary: RelationSummary


@dataclass(frozen=True, slots=True)
class BookFacts:
    """All that the service can tell of a book."""

    book: Book
    relations: Sequence[RelatedTo] = ()  # without unrelated books, closest first


@dataclass(frozen=True, slots=True)
class Property:
    """A property of books."""

    id: str
    name: str
    description: str
    matches: bool = True  # a column of it helps to find the book
    extends: bool = True  # a column can be filled with it


PROPERTIES = (
    Property("title", "Title", "The title, where the reconciled column holds something else."),
    Property("author", "Author", "An author, family name first or last; initials do."),
    Property("year", "Year", "The year of publication, also within a date."),
    Property("language", "Language", "The language as a tag: en, pt-BR."),
    Property("volume", "Volume", "Which volume of a work or series it is."),
    Property("isbn", "ISBN", "An ISBN of 10 or 13 digits, with or without hyphens."),
    Property(
        "identifier",
        "Identifier",
        "To match: bp1:… or bp2:…, an id of a book here, or any identifier as oclc:1234. To fetch: bp1:…",
    ),
    Property("identifiers", "Catalogue identifiers", "Identifiers as scheme:value: oclc:1234, isbn:…"),
    Property("text", "Text", "The text of the book, or a part of it: found by content.", extends=False),
    Property("page_count", "Pages", "How many pages it has, blank ones too.", matches=False),
    Property("word_count", "Words", "How many words its text has.", matches=False),
    Property("cluster", "Cluster", "The name that all copies of one text share.", matches=False),
    Property("relations", "Related books", "The books whose text is related.", matches=False),
)

BY_ID = {each.id: each for each in PROPERTIES}

RELATIONS = "relations"


def book_name(title: str | None, book_id: UUID) -> str:
    """The name of a book in a list; never empty."""
    return title.strip() if title and title.strip() else f"Book {book_id}"


def plain_values(property_id: str, facts: BookFacts) -> Sequence[str | int]:
    """The values of a property of a book, but for its related books; empty for an unknown property."""
    book, metadata = facts.book, facts.book.metadata
    match property_id:
        case "title":
            return _known(metadata.title)
        case "author":
            return metadata.authors
        case "year":
            return _known(metadata.year)
        case "language":
            return _known(metadata.language)
        case "volume":
            return _known(metadata.volume)
        case "isbn":
            return isbns(metadata.identifiers)
        case "identifier":
            return [] if book.fingerprint is None else [identifier.encode(book.fingerprint, book.word_count)]
        case "identifiers":
            return metadata.identifiers
        case "page_count":
            return _known(book.page_count)
        case "word_count":
            return [book.word_count]
        case "cluster":
            return [ClusterName("same_text", book.founder_id).key]
        case _:
            return []


def _known(value: str | int | None) -> list[str | int]:
    return [] if value is None else [value]
