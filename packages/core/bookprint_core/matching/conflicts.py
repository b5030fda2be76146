"""Metadata conflicts: pairs of books whose metadata and texts contradict each other.

A conflict needs evidence. Books with too little text, without signatures, or with an unfinished search
for relations give no evidence. They are never in a conflict. Spasojević and Poncin (2011, section I)
name the search for anomalous books as a use.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID

from bookprint_core.matching.verification import Evidence, are_joined, have_common_matter
from bookprint_core.model import BookSummary, Metadata
from bookprint_core.relations.related import RelationSummary, outranking

ConflictBy = Literal["isbn", "title", "text"]
"""Kind of agreement between two books that something else contradicts."""

Aspect = Literal["text", "isbn", "title", "authors", "year", "volume"]
"""Property of two books that can agree or contradict."""


class ConflictPlace(NamedTuple):
    """A place in a list of conflicts at which the next page starts; places are in the order of conflicts."""

    key: int  # of the group; 0 in a list by text, which has no groups
    left: UUID
    right: UUID


@dataclass(frozen=True, slots=True)
class NamedCopy:
    """A book with the text of another book but other metadata."""

    book_id: UUID
    metadata: Metadata


@dataclass(frozen=True, slots=True, eq=False)
class ConflictBook:
    """A book that may be in a conflict."""

    metadata: Metadata
    summary: BookSummary
    related: bool  # whether the search for its relations has ended
    text_under: NamedCopy | None = None  # the oldest copy of its text that has another title


@dataclass(frozen=True, slots=True)
class Sharing:
    """Books that share an ISBN or the words of their titles."""

    key: int  # orders groups: the ISBN, or a hash of the words
    size: int
    examined: Sequence[UUID]  # all books up to a limit, the oldest of each cluster of copies first


@dataclass(frozen=True, slots=True, eq=False)
class MetadataConflict:
    """Two books whose metadata and texts contradict each other."""

    left: ConflictBook  # the older book
    right: ConflictBook
    agrees: Sequence[Aspect]
    contradicts: Sequence[Aspect]
    evidence: Evidence
    relation: RelationSummary | None  # None: the search for relations found none


def are_unrelated(
    left: ConflictBook, right: ConflictBook, relation: RelationSummary | None, evidence: Evidence
) -> bool:
    """Return whether a decision, or else pages and signatures, exclude more than common matter."""
    if relation is not None and relation.decided:
        return relation.kind == "UNRELATED"
    if evidence.distance is None or evidence.shared is None:
        return False
    if relation is None:
        return left.related and right.related and not are_joined(evidence)
    if relation.kind == "OVERLAPPING_TEXT":
        return outranking(relation) is None and have_common_matter(evidence)
    return relation.kind == "UNRELATED" and not are_joined(evidence)
