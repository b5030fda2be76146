"""All signatures of the catalogue by column, for building the index and for verifying it.

Postgres joins the values of many entries to one string for each column: to take a million rows apart costs
more than to read them.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.index.packing import EntryColumns
from app.core.recipe import Suite
from app.stores.postgres.connections import SQL, Database, Row, rows

_READ_AT_ONCE = 20_000
"""Entries."""

_LONGEST_SAMPLE = 1 << 20
"""Bytes."""

_READ_ENTRIES = SQL("""
    SELECT string_agg(int8send(2 * entry_id + (indexed_at IS NOT NULL)::integer), '') AS entries FROM books
""")
_READ_PARTS = SQL("""
    SELECT
        string_agg(int8send(entry_id), '') AS entries,
        string_agg(int8send(shingle_count), '') AS counts,
        string_agg(int8send(octet_length(part)), '') AS lengths,
        string_agg(part, '') AS data
    FROM (
        SELECT
            entry_id, coalesce(shingle_count, 0) AS shingle_count,
            substring(data FROM $start::integer FOR $length::integer) AS part
        FROM signatures
        WHERE recipe = $recipe AND entry_id BETWEEN $least AND $greatest
        ORDER BY entry_id
    ) AS parts
""")


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some entries that have a signature of the kind asked for, and what there is of it."""

    entry_ids: NDArray[np.uint64]  # (n,)
    rows: NDArray[np.intp]  # (n,), their places among all entries
    data: NDArray[np.uint8]  # the parts asked for, one after the other
    lengths: NDArray[np.int64]  # (n,), bytes of each part
    shingle_counts: NDArray[np.int64]  # (n,)


class SignatureQueries:
    """Reads one kind of signature of all entries, in ascending order of entry id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_entry_ids(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """All current entries, and which of them the band index is said to hold."""
        async with self._database.transaction() as connection:
            [row] = await rows(connection, _READ_ENTRIES)
        marked_ids = np.sort(_numbers(row["entries"]))
        return (marked_ids >> 1).astype(np.uint64), (marked_ids & 1).astype(np.bool_)

    async def read_columns(self, entry_ids: NDArray[np.uint64], suite: Suite) -> EntryColumns:
        """The columns of these entries, which ascend; others are passed over."""
        columns = EntryColumns.empty(entry_ids)
        async for part in self._read_parts(entry_ids, suite.fingerprint, 1, 16):
            columns.bits[part.rows] = part.data.reshape(-1, 16)
            columns.signed[part.rows] = True
        async for part in self._read_parts(entry_ids, suite.minhash, 1, 0):
            columns.shingle_counts[part.rows] = part.shingle_counts
        async for part in self._read_parts(entry_ids, suite.sample, 1, 1):
            columns.levels[part.rows] = part.data
        return columns

    async def read_minhash_values(
        self, entry_ids: NDArray[np.uint64], recipe: str, first: int, count: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """Those of the entries that have a MinHash, and values first, first + 1, … of each, (count, n)."""
        ids, size = [np.zeros(0, dtype=np.uint64)], 0
        matrix = np.empty((count, entry_ids.size), dtype=np.uint32)
        async for part in self._read_parts(entry_ids, recipe, 1 + 4 * first, 4 * count):
            end = size + part.entry_ids.size
            matrix[:, size:end] = part.data.view("<u4").reshape(-1, count).T
            ids.append(part.entry_ids)
            size = end
        return np.concatenate(ids), matrix[:, :size]

    async def read_sample_hashes(
        self, entry_ids: NDArray[np.uint64], recipe: str
    ) -> AsyncIterator[tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
        """The hashes of the entries' shingle samples, some at a time, each with its entry."""
        async for part in self._read_parts(entry_ids, recipe, 2, _LONGEST_SAMPLE):
            yield np.repeat(part.entry_ids, part.lengths // 8), part.data.view("<u8")

    async def _read_parts(
        self, entry_ids: NDArray[np.uint64], recipe: str, start: int, length: int
    ) -> AsyncIterator[_Part]:
        for place in range(0, entry_ids.size, _READ_AT_ONCE):
            wanted = entry_ids[place : place + _READ_AT_ONCE]
            bounds = {"least": int(wanted[0]), "greatest": int(wanted[-1])}
            async with self._database.transaction() as connection:
                [row] = await rows(
                    connection, _READ_PARTS, recipe=recipe, start=start, length=length, **bounds
                )
            yield _known(wanted, place, row)


def _known(wanted: NDArray[np.uint64], place: int, row: Row) -> _Part:
    """The wanted entries of a row; the first of `wanted` is entry `place` of all."""
    entries = _numbers(row["entries"]).astype(np.uint64)
    lengths, counts = _numbers(row["lengths"]), _numbers(row["counts"])
    data = np.frombuffer(row["data"] or b"", dtype=np.uint8)
    at = np.searchsorted(wanted, entries)
    known = wanted[at] == entries
    if not known.all():
        data = data[np.repeat(known, lengths)]
    return _Part(entries[known], place + at[known], data, lengths[known], counts[known])


def _numbers(sent: bytes | None) -> NDArray[np.int64]:
    return np.frombuffer(sent or b"", dtype=">i8").astype(np.int64)
