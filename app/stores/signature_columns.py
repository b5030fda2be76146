"""All signatures of the catalogue by column, for building the index and for proving it."""

from collections.abc import AsyncIterator

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from app.core.packing import Columns
from app.core.recipe import Suite
from app.stores.outages import postgres_outages
from app.stores.reading import Query, Reader
from app.stores.tables import books, signatures

_READ_AT_ONCE = 20_000


class SignatureColumns:
    """Reads one kind of signature of all entries, in ascending order of entry id."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def entry_ids(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """All current entries, and which of them the band index is said to hold."""
        ids: list[int] = []
        indexed: list[bool] = []
        with postgres_outages():
            async for rows in self._reader.batches(_ENTRIES, _READ_AT_ONCE):
                ids += [row[0] for row in rows]
                indexed += [row[1] for row in rows]
        return np.array(ids, dtype=np.uint64), np.array(indexed, dtype=np.bool_)

    async def columns(self, entry_ids: NDArray[np.uint64], suite: Suite) -> Columns:
        """What the roll tells of these entries, which ascend; others are passed over."""
        columns = Columns.empty(entry_ids)
        async for found, fingerprints, _ in self._data(suite.fingerprint, 1, 16):
            rows, known = _places(entry_ids, found)
            columns.bits[rows] = np.frombuffer(b"".join(fingerprints), dtype=np.uint8).reshape(-1, 16)[known]
            columns.signed[rows] = True
        async for found, _, counts in self._data(suite.minhash, 1, 0):
            rows, known = _places(entry_ids, found)
            columns.shingle_counts[rows] = np.array(counts, dtype=np.uint32)[known]
        async for found, levels, _ in self._data(suite.sample, 1, 1):
            rows, known = _places(entry_ids, found)
            columns.levels[rows] = np.frombuffer(b"".join(levels), dtype=np.uint8)[known]
        return columns

    async def minhash_values(
        self, entry_ids: NDArray[np.uint64], recipe: str, first: int, count: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """Those of the entries that have a MinHash, and values first, first + 1, … of each, (n, count)."""
        ids, size = [np.zeros(0, dtype=np.uint64)], 0
        matrix = np.empty((entry_ids.size, count), dtype="<u4")
        async for found, values, _ in self._data(recipe, 1 + 4 * first, 4 * count):
            _, known = _places(entry_ids, found)
            ids.append(found[known])
            matrix[size : size + ids[-1].size] = np.frombuffer(b"".join(values), dtype="<u4").reshape(
                -1, count
            )[known]
            size += ids[-1].size
        return np.concatenate(ids), matrix[:size]

    async def sample_hashes(
        self, entry_ids: NDArray[np.uint64], recipe: str
    ) -> AsyncIterator[tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
        """The hashes of the entries' shingle samples, some at a time, each with its entry."""
        async for found, samples, _ in self._data(recipe, 2, _LONGEST_SAMPLE):
            _, known = _places(entry_ids, found)
            lengths = [len(sample) // 8 for sample in samples]
            owners, kept = np.repeat(found, lengths), np.repeat(known, lengths)
            yield owners[kept], np.frombuffer(b"".join(samples), dtype="<u8")[kept]

    async def _data(
        self, recipe: str, start: int, length: int
    ) -> AsyncIterator[tuple[NDArray[np.uint64], tuple[bytes, ...], tuple[int | None, ...]]]:
        with postgres_outages():
            async for rows in self._reader.batches(
                _DATA, _READ_AT_ONCE, recipe=recipe, start=start, length=length
            ):
                ids, data, counts = zip(*rows, strict=True)
                yield np.array(ids, dtype=np.uint64), data, counts


def _places(
    entry_ids: NDArray[np.uint64], found: NDArray[np.uint64]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The rows of those found that are among the entries, and which of them are."""
    at = np.searchsorted(entry_ids, found)
    known = at < entry_ids.size
    known[known] = entry_ids[at[known]] == found[known]
    return at[known], known


_LONGEST_SAMPLE = 1 << 20

_ENTRIES = Query(
    sa.select(books.c.entry_id, books.c.indexed_at.is_not(None).label("indexed")).order_by(books.c.entry_id)
)
_DATA = Query(
    sa.select(
        signatures.c.entry_id,
        sa.func.substring(
            signatures.c.data,
            sa.bindparam("start", type_=sa.Integer),
            sa.bindparam("length", type_=sa.Integer),
        ),
        signatures.c.shingle_count,
    )
    .where(signatures.c.recipe == sa.bindparam("recipe", type_=sa.Text))
    .order_by(signatures.c.entry_id)
)
