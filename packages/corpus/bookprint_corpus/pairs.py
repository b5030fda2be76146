"""Reader of a corpus's compared pairs, with their page maps, in the order of the younger book.

Many pairs are read ahead, so that tables in any order are read quickly. Tables whose rows are ordered by the
younger book are read only once.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bookprint_corpus.books import rows_of
from bookprint_corpus.folder import CorpusFolder, NumberedRows
from bookprint_corpus.tables import TABLES

if TYPE_CHECKING:
    import pyarrow as pa

_READ_AHEAD = 50_000
"""Number of pairs to read ahead, of about 5 KB each."""

_ROWS_AT_ONCE = 10_000
_RELATION = tuple(column.name for column in TABLES["relations"])
_PAGE_MAP = tuple(column.name for column in TABLES["page_maps"])


@dataclass(frozen=True, slots=True)
class CorpusPair:
    """Numbers of two compared books, and their relation as seen from the left book."""

    left: int
    right: int  # the younger book
    relation: dict[str, Any]  # the columns of the table `relations` except the numbers
    runs: str  # JSON: [{"left": [first, end], "right": [first, end]}, …], pages from 0
    page_map: bytes | None  # per match: left page, right page, 255 · similarity, as little-endian int32


class CorpusPairs:
    """Reader of the compared pairs of a corpus."""

    def __init__(self, folder: CorpusFolder) -> None:
        self._relations = NumberedRows(folder, "relations", "right")
        self._page_maps = NumberedRows(folder, "page_maps", "right")
        self.lefts: NDArray[np.int64] = np.unique(folder.numbers("relations", "left"))
        """Older books of all pairs, ascending."""
        self._rights = self._relations.numbers
        self._read = 0  # number of `_rights` that have been read
        self._ahead: list[CorpusPair] = []  # by descending number of the younger book

    @property
    def count(self) -> int:
        return self._rights.size

    def skip(self, book: int) -> None:
        """Skip the pairs whose younger book is at most `book`."""
        self._read = int(np.searchsorted(self._rights, book, side="right"))

    def up_to(self, book: int) -> list[CorpusPair]:
        """Return the remaining pairs whose younger book is at most `book`, in order."""
        taken = []
        while True:
            while self._ahead and self._ahead[-1].right <= book:
                taken.append(self._ahead.pop())
            if self._ahead or self._read == self._rights.size or self._rights[self._read] > book:
                return taken
            self._read_ahead()

    def _read_ahead(self) -> None:
        first = int(self._rights[self._read])
        last = int(self._rights[min(self._read + _READ_AHEAD, self._rights.size) - 1])
        self._read = int(np.searchsorted(self._rights, last, side="right"))
        maps = {
            (left, right): (runs, page_map)
            for batch in self._page_maps.between(first, last, _PAGE_MAP, _ROWS_AT_ONCE)
            for left, right, runs, page_map in _page_maps(batch)
        }
        pairs = [
            _pair(row, maps)
            for batch in self._relations.between(first, last, _RELATION, _ROWS_AT_ONCE)
            for row in rows_of(batch)
        ]
        self._ahead = sorted(pairs, key=lambda pair: (pair.right, pair.left), reverse=True)


def _pair(row: dict[str, Any], maps: dict[tuple[int, int], tuple[str, bytes]]) -> CorpusPair:
    left, right = row.pop("left"), row.pop("right")
    if row["unit"] is None:
        return CorpusPair(left, right, row, "[]", None)
    runs, page_map = maps.get((left, right), ("[]", b""))
    return CorpusPair(left, right, row, runs, page_map)


def _page_maps(batch: "pa.RecordBatch") -> Iterator[tuple[int, int, str, bytes]]:
    """Yield left book, right book, runs (JSON) and page map (bytes) of each row."""
    lefts, rights = (batch.column(name).to_numpy().tolist() for name in ("left", "right"))
    runs, pages = (_rows_in(batch.column(name)) for name in ("runs", "pages"))
    for left, right, run, page in zip(lefts, rights, runs, pages, strict=True):
        ranges = [{"left": each[:2], "right": each[2:]} for each in run.tolist()]
        yield left, right, json.dumps(ranges), page.tobytes()


def _rows_in(column: Any) -> list[NDArray[np.int32]]:
    """Return each list of structs of int32 as an array with one row per struct, little-endian."""
    structs = column.flatten()
    fields = [structs.field(place).to_numpy(zero_copy_only=False) for place in range(structs.type.num_fields)]
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    return np.split(np.column_stack(fields).astype("<i4"), np.cumsum(lengths)[:-1]) if len(column) else []
