"""The relations within a library, found as the service finds them, and the clusters that they make."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from app.core.clusters.clustering import Edge, Joining
from app.core.matching.search import Proposed, related_entries
from app.core.matching.verification import Candidates
from app.core.model import Metadata, Sketch
from app.core.relations.relation import ComparedBook, relate

_NOT_INDEXED = Proposed(
    np.zeros(0, dtype=np.uint64),
    Candidates(
        distances=np.zeros(0, dtype=np.uint8),
        equal_values=np.zeros(0, dtype=np.int64),
        shared=np.zeros(0, dtype=np.int64),
        shingle_counts=np.zeros(0, dtype=np.uint32),
        levels=np.zeros(0, dtype=np.uint8),
    ),
)
"""What an empty index proposes: every book is compared as one that waits for it."""


@dataclass(frozen=True, slots=True)
class FoundRelation:
    """Two books by their numbers, and how they are related."""

    left: int
    right: int
    kind: str
    confidence: float  # 0 to 1


def found_relations(books: Sequence[tuple[Sketch, Metadata]]) -> list[FoundRelation]:
    """The relations of all candidates, UNRELATED ones too, in the order of the books."""
    entries = [made.to_entry(number) for number, (made, _) in enumerate(books)]
    compared = [ComparedBook(made.pages, made.minhash, metadata) for made, metadata in books]
    found = []
    for number, entry in enumerate(entries):
        for other in sorted(related_entries(entry, _NOT_INDEXED, entries[number + 1 :])):
            outcome = relate(compared[number], compared[other]).classification
            found.append(FoundRelation(number, other, outcome.kind, outcome.confidence))
    return found


def clusters(relations: Sequence[FoundRelation], kinds: Collection[str]) -> list[frozenset[int]]:
    """The clusters of at least two books that relations of these kinds join."""
    edges = [
        Edge(UUID(int=each.left), UUID(int=each.right), each.confidence)
        for each in relations
        if each.kind in kinds
    ]
    joining = Joining(())
    joining.take(sorted(edges, key=lambda edge: (-edge.strength, edge.left, edge.right)))
    members: dict[UUID, set[int]] = {}
    for book, founder in joining.clustering().founders.items():
        members.setdefault(founder, set()).add(book.int)
    return [frozenset(books) for books in members.values()]


def kinds_within(cluster: frozenset[int], relations: Sequence[FoundRelation]) -> Mapping[str, int]:
    """The number of relations of each kind between books of a cluster."""
    counts: dict[str, int] = {}
    for each in relations:
        if each.left in cluster and each.right in cluster:
            counts[each.kind] = counts.get(each.kind, 0) + 1
    return counts
