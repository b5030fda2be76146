"""All signatures of the catalogue by column, for building the index and for proving it.

Postgres joins what it tells of many entries to one string of each kind of value, because a million rows take
longer to be told apart than to be read.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from app.core.index.packing import EntryColumns
from app.core.recipe import Suite
from app.stores.postgres.errors import postgres_outages
from app.stores.postgres.queries import Queries, Query
from app.stores.postgres.tables import books, signatures

_READ_AT_ONCE = 20_000
"""Entries."""


@dataclass(frozen=True, slots=True, eq=False)
class _Some:
    """Some entries that have a signature of the kind asked for, and what there is of it."""

    entry_ids: NDArray[np.uint64]  # (n,)
    rows: NDArray[np.intp]  # (n,), their places among all entries
    data: NDArray[np.uint8]  # the parts asked for, one after the other
    lengths: NDArray[np.int64]  # (n,), bytes of each part
    shingle_counts: NDArray[np.int64]  # (n,)


class SignatureReader:
    """Reads one kind of signature of all entries, in ascending order of entry id."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    async def entry_ids(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """All current entries, and which of them the band index is said to hold."""
        with postgres_outages():
            [row] = await self._queries.rows(_ENTRIES)
        found = np.sort(_numbers(row["entries"]))
        return (found >> 1).astype(np.uint64), (found & 1).astype(np.bool_)

    async def columns(self, entry_ids: NDArray[np.uint64], suite: Suite) -> EntryColumns:
        """What the roll tells of these entries, which ascend; others are passed over."""
        columns = EntryColumns.empty(entry_ids)
        async for some in self._data(entry_ids, suite.fingerprint, 1, 16):
            columns.bits[some.rows] = some.data.reshape(-1, 16)
            columns.signed[some.rows] = True
        async for some in self._data(entry_ids, suite.minhash, 1, 0):
            columns.shingle_counts[some.rows] = some.shingle_counts
        async for some in self._data(entry_ids, suite.sample, 1, 1):
            columns.levels[some.rows] = some.data
        return columns

    async def minhash_values(
        self, entry_ids: NDArray[np.uint64], recipe: str, first: int, count: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """Those of the entries that have a MinHash, and values first, first + 1, … of each, (count, n)."""
        ids, size = [np.zeros(0, dtype=np.uint64)], 0
        matrix = np.empty((count, entry_ids.size), dtype=np.uint32)
        async for some in self._data(entry_ids, recipe, 1 + 4 * first, 4 * count):
            end = size + some.entry_ids.size
            matrix[:, size:end] = some.data.view("<u4").reshape(-1, count).T
            ids.append(some.entry_ids)
            size = end
        return np.concatenate(ids), matrix[:, :size]

    async def sample_hashes(
        self, entry_ids: NDArray[np.uint64], recipe: str
    ) -> AsyncIterator[tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
        """The hashes of the entries' shingle samples, some at a time, each with its entry."""
        async for some in self._data(entry_ids, recipe, 2, _LONGEST_SAMPLE):
            yield np.repeat(some.entry_ids, some.lengths // 8), some.data.view("<u8")

    async def _data(
        self, entry_ids: NDArray[np.uint64], recipe: str, start: int, length: int
    ) -> AsyncIterator[_Some]:
        for place in range(0, entry_ids.size, _READ_AT_ONCE):
            wanted = entry_ids[place : place + _READ_AT_ONCE]
            bounds = {"least": int(wanted[0]), "greatest": int(wanted[-1])}
            with postgres_outages():
                [row] = await self._queries.rows(_DATA, recipe=recipe, start=start, length=length, **bounds)
            yield _known(wanted, place, row)


def _known(wanted: NDArray[np.uint64], place: int, row: dict[str, Any]) -> _Some:
    """What a row tells of the entries that are wanted, the first of which is entry `place` of all."""
    found = _numbers(row["entries"]).astype(np.uint64)
    lengths, counts = _numbers(row["lengths"]), _numbers(row["counts"])
    data = np.frombuffer(row["data"] or b"", dtype=np.uint8)
    at = np.searchsorted(wanted, found)
    known = wanted[at] == found
    if not known.all():
        data = data[np.repeat(known, lengths)]
    return _Some(found[known], place + at[known], data, lengths[known], counts[known])


def _numbers(sent: bytes | None) -> NDArray[np.int64]:
    return np.frombuffer(sent or b"", dtype=">i8").astype(np.int64)


_LONGEST_SAMPLE = 1 << 20


def _joined(values: sa.ColumnElement[Any]) -> sa.ColumnElement[bytes]:
    return sa.func.string_agg(values, sa.literal(b""))


def _sent(number: sa.ColumnElement[int]) -> sa.ColumnElement[bytes]:
    return _joined(sa.func.int8send(number))


_ENTRIES = Query(
    sa.select(
        _sent(2 * books.c.entry_id + sa.cast(books.c.indexed_at.is_not(None), sa.Integer)).label("entries")
    )
)

_PARTS = (
    sa.select(
        signatures.c.entry_id,
        sa.func.coalesce(signatures.c.shingle_count, 0).label("shingle_count"),
        sa.func.substring(
            signatures.c.data,
            sa.bindparam("start", type_=sa.Integer),
            sa.bindparam("length", type_=sa.Integer),
        ).label("part"),
    )
    .where(
        signatures.c.recipe == sa.bindparam("recipe", type_=sa.Text),
        signatures.c.entry_id.between(
            sa.bindparam("least", type_=sa.BigInteger), sa.bindparam("greatest", type_=sa.BigInteger)
        ),
    )
    .order_by(signatures.c.entry_id)
    .subquery()
)
_DATA = Query(
    sa.select(
        _sent(_PARTS.c.entry_id).label("entries"),
        _sent(_PARTS.c.shingle_count).label("counts"),
        _sent(sa.func.octet_length(_PARTS.c.part)).label("lengths"),
        _joined(_PARTS.c.part).label("data"),
    )
)
