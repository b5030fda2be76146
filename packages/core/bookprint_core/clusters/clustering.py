"""Clusters: books joined by edges, and kept apart where a person said so.

An edge joins two books whose relation counts; a never-match pair is one that a person rejected (a cannot-link
constraint: Wagstaff et al. 2001). Without such pairs the clusters are the connected components of the edges.
With them, the edges are taken strongest first, as by Kruskal (1956). An edge that would bring the books of a
never-match pair into one cluster is refused. So the outcome depends on edges and pairs alone.

Between two clusters with a refused edge lies a border. Clusters are kept up to date without computing them
anew, because three things follow:

- An edge within a cluster changes nothing when it is added.
- An edge between two clusters with no never-match pair between them makes one cluster of them, and changes
  no other.
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
"""The relations that join the books of a cluster."""

KINDS: Mapping[By, frozenset[Kind]] = {"same_text": SAME_TEXT, "related": RELATED}
"""The relations that are edges, where they have a link or a person decided."""

Pair = tuple[UUID, UUID]
"""Two books, the older one first."""


class Edge(NamedTuple):
    """A verified relation that joins two books."""

    left: UUID
    right: UUID
    strength: float  # 0 to 1: confidence of the classifier; 1 where a person decided


class Link(NamedTuple):
    """An edge, and how much text it is that joins the two books."""

    left: UUID
    right: UUID
    kind: Kind
    share: float | None  # the larger of either book's, 0 to 1; None: a person's decision alone joins them


@dataclass(frozen=True, slots=True)
class Clustering:
    """Clusters of at least two books, each named after its oldest book, the founder."""

    founders: Mapping[UUID, UUID]  # of each member
    borders: frozenset[Pair]  # founders of clusters that edges would join; a book alone is its own founder


class Forest:
    """Disjoint sets of books, each known by its oldest book, with path halving (Tarjan 1984)."""

    def __init__(self) -> None:
        self._parents: dict[UUID, UUID] = {}

    def find(self, book: UUID) -> UUID:
        """The oldest book of the set; a book that was never joined is alone."""
        parents = self._parents
        parent = parents.get(book, book)
        while parent != book:
            above = parents.get(parent, parent)
            parents[book] = above
            book, parent = above, parents.get(above, above)
        return book

    def join(self, first: UUID, second: UUID) -> UUID:
        """Make one set of the sets of two books and return its oldest book."""
        older, younger = ordered(self.find(first), self.find(second))
        self._parents[younger] = self._parents[older] = older
        return older

    def founders(self) -> dict[UUID, UUID]:
        """The oldest book in the set of each book that was joined."""
        return {book: self.find(book) for book in list(self._parents)}


def ordered(first: UUID, second: UUID) -> Pair:
    """Two books, the older one first: book ids grow with time."""
    return (first, second) if first < second else (second, first)


def weakest_link(links: Iterable[Link]) -> Link | None:
    """The link by which the last book comes to the others, where links are taken strongest first.

    Without this one and those weaker than it, the books would fall apart (Kruskal 1956). None: no links.
    """
    forest, weakest = Forest(), None
    for link in links:
        if forest.find(link.left) != forest.find(link.right):
            forest.join(link.left, link.right)
            weakest = link
    return weakest


class Joining:
    """Clusters of edges that come in canonical order: by falling strength, equal ones by their books."""

    def __init__(self, never: Iterable[Pair]) -> None:
        self._forest = Forest()
        self._refused: set[Pair] = set()  # the oldest books of two sets, when it was refused
        self._apart: dict[UUID, set[UUID]] = defaultdict(set)  # by oldest book of a set: books apart from it
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
        """Whether no further edge between these books, which are all books, can change anything.

        This is so if each cluster borders on every other one.
        """
        count = len({self._forest.find(book) for book in books})
        return len(self._borders()) == count * (count - 1) // 2

    def clustering(self) -> Clustering:
        return Clustering(self._forest.founders(), frozenset(self._borders()))

    def _borders(self) -> set[Pair]:
        find = self._forest.find
        return {ordered(find(first), find(second)) for first, second in self._refused}


class Pieces:
    """The pieces into which a connected cluster falls when edges are removed, from as few edges as possible.

    Each piece has an end of a removed edge. So the search starts from all these ends at once, from the
    smallest piece first, until all have met or all but one are complete. The rest is then one piece.
    """

    def __init__(self, ends: Iterable[UUID]) -> None:
        self._forest = Forest()
        self._met = set(ends)
        self._unread = set(self._met)

    def to_read(self, most: int) -> list[UUID]:
        """Up to `most` books whose edges to read next; none: the pieces are known."""
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
        """The pieces of which every edge is known."""
        return [frozenset(piece) for piece in self._pieces() if not piece & self._unread]

    def _pieces(self) -> Collection[set[UUID]]:
        pieces: dict[UUID, set[UUID]] = defaultdict(set)
        for book in self._met:
            pieces[self._forest.find(book)].add(book)
        return pieces.values()
