"""Metadata conflicts: which of them to list, and their documents."""

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
        description="What the books share: isbn or title, while their texts are unrelated; text, while they "
        "have different ISBNs."
    )
    collection: CollectionFilter = Field(
        default=None, description="Only conflicts in which at least one book is of this collection."
    )


class NamedCopyAnswer(TitledBook):
    """A book with the same text under another title."""

    volume: str | None = part("metadata.volume")
    identifiers: list[str] = part("metadata.identifiers")


class ConflictBookAnswer(NamedCopyAnswer):
    """A book in a conflict."""

    id: UUID = part("summary.book_id")
    text_under: NamedCopyAnswer | None = Field(
        description="The oldest book that has the text of this one under another title; null: none is known, "
        "or the conflict is one of the text."
    )


class ConflictContainment(Document):
    """The share of each book that the other one contains, estimated from their MinHash signatures."""

    this_in_other: Share | None = Field(description="Share of the first book found in the second, 0 to 1.")
    other_in_this: Share | None = Field(description="Share of the second book found in the first, 0 to 1.")


def _source(decided: bool) -> str:
    return "person" if decided else "machine"


class ConflictRelation(Document):
    """The effective relation of the two books."""

    kind: Kind = part("summary.kind")
    confidence: Share = part("summary.confidence", "0 to 1; of a person's decision 1.")
    source: Annotated[Literal["machine", "person"], BeforeValidator(_source)] = part("decided")
    decided_by: str | None = Field(
        description="Name of the API key with which a person decided; null: by the machine, or not known."
    )


class ConflictEvidence(Document):
    """Evidence from the two texts; null if a signature is missing."""

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
    items = [ConflictAnswer.of(conflict) for conflict in page.conflicts]
    return ConflictList.model_validate(
        {"items": items, "cut_groups": page.cut, "next_cursor": cursors.at(page.next)}
    )
