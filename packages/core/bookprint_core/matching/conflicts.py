"""Metadata conflicts: pairs of books of which the metadata says one thing and the text another.

A conflict needs evidence. Books with too little text, books without signatures and books whose search for
relations has not ended give none, so they never make one. To catch anomalous books is a use that Spasojević
and Poncin (2011, section I) name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID

from bookprint_core.matching.verification import Evidence, are_joined, have_common_matter
from bookprint_core.model import BookSummary, Metadata
from bookprint_core.relations.related import PairRelation, outranking

ConflictBy = Literal["isbn", "title", "text"]
"""What two books share while something else contradicts it."""

Aspect = Literal["text", "isbn", "title", "authors", "year", "volume"]
"""What can agree or contradict in two books."""


class ConflictPlace(NamedTuple):
    """A place in a list of conflicts, to go on from; places are ordered as the conflicts are."""

    key: int  # of the group; 0 in a list by text, which has none
    left: UUID
    right: UUID


@dataclass(frozen=True, slots=True)
class NamedCopy:
    """A book with the text of another one, under a name of its own."""

    book_id: UUID
    metadata: Metadata


@dataclass(frozen=True, slots=True, eq=False)
class ConflictBook:
    """A book that may be in a conflict."""

    metadata: Metadata
    summary: BookSummary
    related: bool  # the search for its relations has ended
    text_under: NamedCopy | None = None  # the oldest copy of its text that has another title


@dataclass(frozen=True, slots=True)
class Sharing:
    """Books that share an ISBN or the words of their titles."""

    key: int  # orders groups: the ISBN, or a hash of the words
    size: int
    examined: Sequence[UUID]  # all, or as many as are examined: first the oldest of each cluster of copies


@dataclass(frozen=True, slots=True, eq=False)
class MetadataConflict:
    """Two books whose metadata and texts contradict each other."""

    left: ConflictBook  # the older one
    right: ConflictBook
    agrees: Sequence[Aspect]
    contradicts: Sequence[Aspect]
    evidence: Evidence
    relation: PairRelation | None  # None: the search for relations found none


def are_unrelated(
    left: ConflictBook, right: ConflictBook, relation: PairRelation | None, evidence: Evidence
) -> bool:
    """Return whether two texts are known to share nothing but common matter.

    A decision says so, or else pages and signatures together.
    """
    if relation is not None and relation.decided:
        return relation.summary.kind == "UNRELATED"
    if evidence.distance is None or evidence.shared is None:
        return False
    if relation is None:
        return left.related and right.related and not are_joined(evidence)
    if relation.summary.kind == "OVERLAPPING_TEXT":
        return outranking(relation.summary) is None and have_common_matter(evidence)
    return relation.summary.kind == "UNRELATED" and not are_joined(evidence)
