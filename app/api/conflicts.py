"""Metadata conflicts: which of them to list, and their documents."""

from typing import Annotated, Literal, Self
from uuid import UUID

from fastapi import Query
from pydantic import Field

from app.api.documents import CollectionFilter, Cursors, Document, PageQuery, Share
from app.api.http.deps import ServicesDep
from app.api.http.routes import SubjectRouter
from app.services.conflicts import ConflictPage
from bookprint_core.matching.conflicts import (
    Aspect,
    ConflictBook,
    ConflictBy,
    ConflictPlace,
    MetadataConflict,
    NamedCopy,
)
from bookprint_core.relations.classification import Kind


class ConflictQuery(PageQuery):
    """The conflicts to list."""

    by: ConflictBy = Field(
        description="What the books share: isbn or title, while their texts are unrelated; text, while they "
        "have different ISBNs."
    )
    collection: CollectionFilter = Field(
        default=None, description="Only conflicts in which at least one book is of this collection."
    )


class NamedCopyAnswer(Document):
    """A book with the same text under another title."""

    id: UUID
    title: str | None
    authors: list[str]
    year: int | None
    volume: str | None
    identifiers: list[str]

    @classmethod
    def of(cls, copy: NamedCopy) -> Self:
        known = copy.metadata
        return cls(
            id=copy.book_id,
            title=known.title,
            authors=list(known.authors),
            year=known.year,
            volume=known.volume,
            identifiers=list(known.identifiers),
        )


class ConflictBookAnswer(Document):
    """A book in a conflict."""

    id: UUID
    title: str | None
    authors: list[str]
    year: int | None
    volume: str | None
    identifiers: list[str]
    text_under: NamedCopyAnswer | None = Field(
        description="The oldest book that has the text of this one under another title; null: none is known, "
        "or the conflict is one of the text."
    )

    @classmethod
    def of(cls, book: ConflictBook) -> Self:
        known = book.metadata
        return cls(
            id=book.summary.book_id,
            title=known.title,
            authors=list(known.authors),
            year=known.year,
            volume=known.volume,
            identifiers=list(known.identifiers),
            text_under=book.text_under and NamedCopyAnswer.of(book.text_under),
        )


class ConflictContainment(Document):
    """The share of each book that the other one contains, estimated from their MinHash signatures."""

    this_in_other: Share | None = Field(description="Share of the first book found in the second, 0 to 1.")
    other_in_this: Share | None = Field(description="Share of the second book found in the first, 0 to 1.")


class ConflictRelation(Document):
    """The effective relation of the two books."""

    kind: Kind
    confidence: Share = Field(description="0 to 1; of a person's decision 1.")
    source: Literal["machine", "person"]
    decided_by: str | None = Field(
        description="Name of the API key with which a person decided; null: by the machine, or not known."
    )


class ConflictEvidence(Document):
    """What is known of the two texts; null where a signature is missing."""

    distance: int | None = Field(description="Bits in which the fingerprints differ, 0 to 128.")
    jaccard: Share | None = Field(description="Estimated share of common shingles, 0 to 1.")
    containment: ConflictContainment
    relation: ConflictRelation | None = Field(
        description="Null: the search for relations has ended and found none between these two."
    )


class ConflictAnswer(Document):
    """Two books whose metadata and texts contradict each other."""

    books: tuple[ConflictBookAnswer, ConflictBookAnswer] = Field(description="The older one first.")
    agrees: list[Aspect] = Field(description="What is the same in both, as far as both say something of it.")
    contradicts: list[Aspect]
    evidence: ConflictEvidence

    @classmethod
    def of(cls, conflict: MetadataConflict) -> Self:
        measured, relation = conflict.evidence, conflict.relation
        return cls(
            books=(ConflictBookAnswer.of(conflict.left), ConflictBookAnswer.of(conflict.right)),
            agrees=list(conflict.agrees),
            contradicts=list(conflict.contradicts),
            evidence=ConflictEvidence(
                distance=measured.distance,
                jaccard=measured.jaccard,
                containment=ConflictContainment.model_validate(measured),
                relation=relation
                and ConflictRelation(
                    kind=relation.summary.kind,
                    confidence=relation.summary.confidence,
                    source="person" if relation.decided else "machine",
                    decided_by=relation.decided_by,
                ),
            ),
        )


class CutGroupAnswer(Document):
    """Books that share an ISBN or a title, and are too many to examine every pair of them."""

    shared: str = Field(description="The ISBN, as isbn:9780141439600, or the title.")
    size: int = Field(description="How many books share it.")
    examined: int = Field(description="How many were examined: first the oldest of each cluster of copies.")


class ConflictList(Document):
    """One page of metadata conflicts."""

    items: list[ConflictAnswer] = Field(
        description="Fewer than `limit`, even none, where finding more takes another request."
    )
    cut_groups: list[CutGroupAnswer] = Field(description="Groups met for this page that may hide conflicts.")
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")

    @classmethod
    def of(cls, page: ConflictPage, next_cursor: str | None) -> Self:
        return cls(
            items=[ConflictAnswer.of(conflict) for conflict in page.conflicts],
            cut_groups=[CutGroupAnswer.model_validate(group) for group in page.cut],
            next_cursor=next_cursor,
        )


router = SubjectRouter(
    "/v1/conflicts", tag="conflicts", description="Books whose metadata and texts contradict each other."
)


@router.get("", summary="List metadata conflicts", scope="read")
async def list_conflicts(query: Annotated[ConflictQuery, Query()], services: ServicesDep) -> ConflictList:
    """Lists pairs of books of which the metadata says one thing and the text another.

    By isbn: two books with the same valid ISBN and unrelated texts. By title: the same words in the title, no
    different authors or volumes, and unrelated texts. By text: the same text under different valid ISBNs,
    none in common. Decisions of people outrank the machine. Without evidence there is no conflict: a text too
    short, no signatures, or a search for relations that has not ended.
    """
    cursors = Cursors("conflicts", query.by, query.collection)
    place = cursors.place(query.cursor, ConflictPlace)
    page = await services.conflicts.list_conflicts(query.by, place, query.limit, query.collection)
    return ConflictList.of(page, cursors.at(page.next))
