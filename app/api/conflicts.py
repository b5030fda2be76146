"""Metadata conflicts: the query, and the documents."""

from typing import Annotated, Literal, Self
from uuid import UUID

from fastapi import Query
from pydantic import BeforeValidator, Field

from app.api.http.deps import ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.schemas.documents import CollectionFilter, Cursors, Document, PageQuery, Share, TitledBook, part
from bookprint_core.matching.conflicts import Aspect, ConflictBy, ConflictPlace, MetadataConflict
from bookprint_core.relations.classification import Kind


class ConflictQuery(PageQuery):
    """The conflicts to list."""

    by: ConflictBy = Field(
        description="isbn or title: the same ISBN or title, but unrelated texts. text: the same text, but "
        "different ISBNs."
    )
    collection: CollectionFilter = Field(
        default=None, description="Only conflicts with at least one book of this collection."
    )


class NamedCopyAnswer(TitledBook):
    """A book with the same text under another title."""

    volume: str | None = part("metadata.volume")
    identifiers: list[str] = part("metadata.identifiers")


class ConflictBookAnswer(NamedCopyAnswer):
    """A book in a conflict."""

    id: UUID = part("summary.book_id")
    text_under: NamedCopyAnswer | None = Field(
        description="Oldest book with the same text under another title; null: none, or `by` is text."
    )


class ConflictContainment(Document):
    """Share of each book that the other book contains, estimated from their MinHash signatures."""

    this_in_other: Share | None = Field(description="Share of the first book found in the second, 0 to 1.")
    other_in_this: Share | None = Field(description="Share of the second book found in the first, 0 to 1.")


def _source(decided: bool) -> str:
    return "person" if decided else "machine"


class ConflictRelation(Document):
    """The effective relation of the two books."""

    kind: Kind
    confidence: Share = Field(description="Confidence, 0 to 1; 1 for a person's decision.")
    source: Annotated[Literal["machine", "person"], BeforeValidator(_source)] = part("decided")
    decided_by: str | None = Field(
        description="Name of the API key of the person's decision; null: no decision, or unknown."
    )


class ConflictEvidence(Document):
    """Evidence from the two texts; a figure is null if a signature is missing."""

    distance: int | None = Field(description="Bits in which the fingerprints differ, 0 to 128.")
    jaccard: Share | None = Field(description="Estimated share of common shingles, 0 to 1.")
    containment: ConflictContainment
    relation: ConflictRelation | None = Field(
        description="Null: the search for relations has ended and found none between the two books."
    )


class ConflictAnswer(Document):
    """Two books whose metadata and texts contradict each other."""

    books: tuple[ConflictBookAnswer, ConflictBookAnswer] = Field(description="Both books, the older first.")
    agrees: list[Aspect] = Field(description="Aspects that both books state and that agree.")
    contradicts: list[Aspect]
    evidence: ConflictEvidence

    @classmethod
    def of(cls, conflict: MetadataConflict) -> Self:
        measured = conflict.evidence
        evidence = {"distance": measured.distance, "jaccard": measured.jaccard, "containment": measured}
        return cls.model_validate(
            {
                "books": (conflict.left, conflict.right),
                "agrees": conflict.agrees,
                "contradicts": conflict.contradicts,
                "evidence": evidence | {"relation": conflict.relation},
            }
        )


class CutGroupAnswer(Document):
    """Books with the same ISBN or title, too many to examine every pair."""

    shared: str = Field(description="The ISBN, such as isbn:9780141439600, or the title.")
    size: int = Field(description="Number of books that share it.")
    examined: int = Field(description="Number of examined books: first the oldest of each cluster of copies.")


class ConflictList(Document):
    """One page of metadata conflicts."""

    items: list[ConflictAnswer] = Field(
        description="Conflicts, possibly fewer than `limit` or none: follow next_cursor for more."
    )
    cut_groups: list[CutGroupAnswer] = Field(description="Groups of this page that may hide conflicts.")
    next_cursor: str | None = Field(description="Cursor of the next page; null on the last page.")


router = SubjectRouter(
    "/v1/conflicts", tag="conflicts", description="Books whose metadata and texts contradict each other."
)


@router.get("", summary="List metadata conflicts", scope="read")
async def list_conflicts(query: Annotated[ConflictQuery, Query()], services: ServicesDep) -> ConflictList:
    """Lists pairs of books whose metadata contradict their texts.

    By isbn: the same valid ISBN and unrelated texts. By title: the same words in the title, no different
    authors or volumes, and unrelated texts. By text: the same text and only different valid ISBNs. Decisions
    of people override the classifier. Pairs without evidence are not conflicts: a text is too short, a
    signature is missing, or the search for relations has not ended.
    """
    cursors = Cursors("conflicts", query.by, query.collection)
    place = cursors.place(query.cursor, ConflictPlace)
    page = await services.conflicts.list_conflicts(query.by, place, query.limit, query.collection)
    items = [ConflictAnswer.of(conflict) for conflict in page.conflicts]
    return ConflictList.model_validate(
        {"items": items, "cut_groups": page.cut, "next_cursor": cursors.at(page.next)}
    )
