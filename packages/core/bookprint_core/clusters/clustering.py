"""Clusters: books joined by edges, unless a person has decided that they stay apart.

An edge joins two books whose relation counts. A never-match pair is a pair that a person rejected (a
cannot-link constraint: Wagstaff et al. 2001). Without never-match pairs the clusters are the connected
components of the edges. With such pairs, edges are added strongest first (Kruskal 1956). An edge that would
join the books of a never-match pair is refused. The outcome depends only on edges and pairs.

Two clusters with a refused edge between them share a border. Clusters are updated without a new computation,
by three rules:

- A new edge within a cluster changes nothing.
- A new edge between two clusters without a never-match pair between them joins these clusters only.
- A cluster without borders changes only with its own edges. A never-match pair matters only within a cluster
  or across a border.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID

from bookprint_core.relations.classification import RELATED, SAME_TEXT, Kind

By = Literal["same_text", "related"]
"""Relations that join the books of a cluster."""

KINDS: Mapping[By, frozenset[Kind]] = {"same_text": SAME_TEXT, "related": RELATED}
"""Kinds of relations that are edges, if they have a link or a person decided."""

Pair = tuple[UUID, UUID]
"""Two books, the older book first."""


class Edge(NamedTuple):
    """A verified relation that joins two books."""

    left: UUID
    right: UUID
    strength: float  # 0 to 1: confidence of the classifier; 1 if a person decided


class Link(NamedTuple):
    """An edge and the share of text that joins the two books."""

    left: UUID
    right: UUID
    kind: Kind
    share: float | None  # the larger share of either text, 0 to 1; None: only a person's decision joins them


@dataclass(frozen=True, slots=True)
class Clustering:
    """Clusters of at least two books, each named after its oldest book, the founder."""

    founders: Mapping[UUID, UUID]  # from each member to its founder
    borders: frozenset[Pair]  # founders of clusters with a refused edge; a single book is its own founder


class Forest:
    """Disjoint sets of books, each identified by its oldest book, with path halving (Tarjan 1984)."""

    def __init__(self) -> None:
        self._parents: dict[UUID, UUID] = {}

    def find(self, book: UUID) -> UUID:
        """Return the oldest book in the set of a book; a book that was never joined is a set of its own."""
        parents = self._parents
        parent = parents.get(book, book)
        while parent != book:
            above = parents.get(parent, parent)
            parents[book] = above
            book, parent = above, parents.get(above, above)
        return book

    def join(self, first: UUID, second: UUID) -> UUID:
        """Join the sets of two books and return the oldest book of the new set."""
        older, younger = ordered(self.find(first), self.find(second))
        self._parents[younger] = self._parents[older] = older
        return older

    def founders(self) -> dict[UUID, UUID]:
        """Return the oldest book of the set, for every joined book."""
        return {book: self.find(book) for book in list(self._parents)}


def ordered(first: UUID, second: UUID) -> Pair:
    """Return two books, the older book first: book ids grow with time."""
    return (first, second) if first < second else (second, first)


def weakest_link(links: Iterable[Link]) -> Link | None:
    """Return the link that completes the cluster, for links sorted strongest first; None without links.

    Without this link and all weaker links, the books would form several clusters (Kruskal 1956).
    """
    forest, weakest = Forest(), None
    for link in links:
        if forest.find(link.left) != forest.find(link.right):
            forest.join(link.left, link.right)
            weakest = link
    return weakest


class Joining:
    """Clusters of edges in canonical order: strongest first, equally strong edges in order of their books."""

    def __init__(self, never: Iterable[Pair]) -> None:
        self._forest = Forest()
        self._refused: set[Pair] = set()  # oldest books of two sets at the time of the refusal
        self._apart: dict[UUID, set[UUID]] = defaultdict(set)  # oldest book of a set to books apart from it
        for left, right in never:
            self._apart[left].add(right)
            self._apart[right].add(left)

    def take(self, edges: Iterable[Edge]) -> None:
        forest, apart = self._forest, self._apart
        for left, right, _ in edges:
            first, second = forest.find(left), forest.find(right)
            if first == second:
                continue
            if any(forest.find(book) == second for book in apart.get(first, ())):
                self._refused.add(ordered(first, second))
                continue
            oldest = forest.join(first, second)
            if met := apart.pop(first, set()) | apart.pop(second, set()):
                apart[oldest] = met

    def is_final(self, books: Iterable[UUID]) -> bool:
        """Return whether every cluster borders on every other cluster, so that no further edge matters.

        `books` must contain all books.
        """
        count = len({self._forest.find(book) for book in books})
        return len(self._borders()) == count * (count - 1) // 2

    def clustering(self) -> Clustering:
        return Clustering(self._forest.founders(), frozenset(self._borders()))

    def _borders(self) -> set[Pair]:
        find = self._forest.find
        return {ordered(find(first), find(second)) for first, second in self._refused}


class Pieces:
    """The pieces that remain of a cluster after edges are removed, found with few edges read.

    Each piece contains an end of a removed edge. The search starts from all these ends, smallest piece first,
    until all pieces have joined or all but one are complete. The remaining books then form one piece.
    """

    def __init__(self, ends: Iterable[UUID]) -> None:
        self._forest = Forest()
        self._met = set(ends)
        self._unread = set(self._met)

    def to_read(self, most: int) -> list[UUID]:
        """Return up to `most` books whose edges must be read next; none if the pieces are known."""
        open_pieces = [piece for piece in self._pieces() if piece & self._unread]
        open_pieces.sort(key=lambda piece: (len(piece), min(piece)))
        return [book for piece in open_pieces[:-1] for book in sorted(piece & self._unread)][:most]

    def read(self, books: Iterable[UUID], edges: Iterable[Pair]) -> None:
        for left, right in edges:
            self._forest.join(left, right)
            self._unread |= {left, right} - self._met
            self._met |= {left, right}
        self._unread.difference_update(books)

    def complete(self) -> list[frozenset[UUID]]:
        """Return the pieces whose edges are all known."""
        return [frozenset(piece) for piece in self._pieces() if not piece & self._unread]

    def _pieces(self) -> Collection[set[UUID]]:
        pieces: dict[UUID, set[UUID]] = defaultdict(set)
        for book in self._met:
            pieces[self._forest.find(book)].add(book)
        return pieces.values()
