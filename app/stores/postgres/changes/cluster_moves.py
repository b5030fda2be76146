"""Which books have joined and left which clusters in the course of one transaction."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from app.core.clusters.cluster_name import ClusterName
from app.core.clusters.clustering import By
from app.stores.postgres.connections import Row

_MOST_BOOKS = 1000
"""Books that one change names; more are told by several."""


class ClusterMoves:
    """The clusters of books before and after, each by its founder; a book alone is its own."""

    def __init__(self) -> None:
        self._before: dict[UUID, UUID] = {}
        self._after: dict[UUID, UUID] = {}

    def note(self, moved: Iterable[Row]) -> None:
        """Take in rows with `book_id` and the founders `before` and `after`, as they were written."""
        for row in moved:
            self._before.setdefault(row["book_id"], row["before"])
            self._after[row["book_id"]] = row["after"]

    def changes(self, by: By, deleted: UUID | None) -> list[Mapping[str, Any]]:
        """One change of each cluster that books joined or left, as rows of `book_id` and `data`.

        A cluster that no book is left in is not told of: its books have joined others, or are deleted.
        """
        joined: dict[UUID, list[UUID]] = defaultdict(list)
        left: dict[UUID, list[UUID]] = defaultdict(list)
        for book, after in sorted(self._after.items()):
            before = self._before[book]
            if book == deleted:
                left[before].append(book)
            elif before != after:
                joined[after].append(book)
                left[before].append(book)
        founders = sorted(founder for founder in joined.keys() | left.keys() if founder != deleted)
        return [
            {"book_id": founder, "data": {"id": name.id, "key": name.key, "by": by, **part}}
            for founder in founders
            if self._after.get(founder, founder) == founder
            for name in [ClusterName(by, founder)]
            for part in _parts(joined[founder], left[founder])
        ]


def _parts(joined: list[UUID], left: list[UUID]) -> Iterable[Mapping[str, list[UUID]]]:
    for start in range(0, max(len(joined), len(left)), _MOST_BOOKS):
        end = start + _MOST_BOOKS
        yield {"joined": joined[start:end], "left": left[start:end]}
