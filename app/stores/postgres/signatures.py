"""The signatures of all entries by kind, from which the band index is built."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.stores.postgres.connections import SQL, Database, Row, rows
from bookprint_core.index.minhash_bands import MinHashBands
from bookprint_core.index.records import EntryColumns
from bookprint_core.recipe import (
    DEFAULT_FINGERPRINT,
    DEFAULT_MINHASH,
    DEFAULT_SAMPLE,
    IDENTIFIER,
    folded_name,
    minhash_recipe,
)

_READ_AT_ONCE = 20_000
"""Number of entries read at a time."""

_LONGEST_SAMPLE, VALUES = 1 << 20, minhash_recipe(DEFAULT_MINHASH).permutations
"""Maximum bytes of a stored sample; number of values of a MinHash."""

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
        WHERE recipe IN ($recipe, $folded) AND entry_id BETWEEN $least AND $greatest
        ORDER BY entry_id
    ) AS parts
""")


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some entries with a signature of the requested kind, and the requested part of the signature."""

    entry_ids: NDArray[np.uint64]  # (n,)
    rows: NDArray[np.intp]  # (n,), indexes among all entries
    data: NDArray[np.uint8]  # the requested parts, concatenated
    lengths: NDArray[np.int64]  # (n,), bytes of each part
    shingle_counts: NDArray[np.int64]  # (n,)


class SignatureQueries:
    """Queries for one kind of signature of all entries, in ascending order of entry id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_entry_ids(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return all current entries, and which of them are marked as indexed."""
        async with self._database.transaction() as connection:
            [row] = await rows(connection, _READ_ENTRIES)
        marked_ids = np.sort(sent_numbers(row["entries"]))
        return (marked_ids >> 1).astype(np.uint64), (marked_ids & 1).astype(np.bool_)

    async def read_columns(self, entry_ids: NDArray[np.uint64]) -> EntryColumns:
        """Return the columns of these ascending entries; entries that do not exist have empty rows."""
        columns = EntryColumns.empty(entry_ids)
        async for part in self._read_parts(entry_ids, DEFAULT_FINGERPRINT, 1, 16):
            columns.bits[part.rows] = part.data.reshape(-1, 16)
            columns.signed[part.rows] = True
        async for part in self._read_parts(entry_ids, DEFAULT_MINHASH, 1, 0):
            columns.shingle_counts[part.rows] = part.shingle_counts
        async for part in self._read_parts(entry_ids, IDENTIFIER, 1, 0):
            columns.shingle_counts[part.rows] = part.shingle_counts
            columns.identified[part.rows] = True
        async for part in self._read_parts(entry_ids, DEFAULT_SAMPLE, 1, 1):
            columns.levels[part.rows] = part.data
        return columns

    async def read_posted_hashes(
        self, entry_ids: NDArray[np.uint64], bands: MinHashBands
    ) -> AsyncIterator[tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
        """Yield batches of entries, ascending, and their `posted_hashes`."""
        minhashes = self._read_parts(entry_ids, DEFAULT_MINHASH, 1, 4 * VALUES)
        async for sample in self._read_parts(entry_ids, DEFAULT_SAMPLE, 2, _LONGEST_SAMPLE):
            minhash = await anext(minhashes)
            hashes = bands.hashes(minhash.data.view("<u4").reshape(-1, VALUES))
            of_bands = np.repeat(minhash.entry_ids, bands.count)
            owners = np.concatenate([np.repeat(sample.entry_ids, sample.lengths // 8), of_bands])
            order = np.argsort(owners, kind="stable")
            yield owners[order], np.concatenate([sample.data.view("<u8"), hashes.ravel()])[order]

    async def _read_parts(
        self, entry_ids: NDArray[np.uint64], recipe: str, start: int, length: int
    ) -> AsyncIterator[_Part]:
        for place in range(0, entry_ids.size, _READ_AT_ONCE):
            wanted = entry_ids[place : place + _READ_AT_ONCE]
            bounds = {"least": int(wanted[0]), "greatest": int(wanted[-1])}
            asked = {"recipe": recipe, "folded": folded_name(recipe), "start": start, "length": length}
            async with self._database.transaction() as connection:
                [row] = await rows(connection, _READ_PARTS, **asked, **bounds)
            yield _known(wanted, place, row)


def _known(wanted: NDArray[np.uint64], place: int, row: Row) -> _Part:
    """Return the wanted entries of a row; `place` is the index of the first among all entries."""
    entries = sent_numbers(row["entries"]).astype(np.uint64)
    lengths, counts = sent_numbers(row["lengths"]), sent_numbers(row["counts"])
    data = np.frombuffer(row["data"] or b"", dtype=np.uint8)
    at = np.searchsorted(wanted, entries)
    known = wanted[at] == entries
    if not known.all():
        data = data[np.repeat(known, lengths)]
    return _Part(entries[known], place + at[known], data, lengths[known], counts[known])


def sent_numbers(sent: bytes | None) -> NDArray[np.int64]:
    """Return the numbers that Postgres has encoded by `int8send`, (n,)."""
    return np.frombuffer(sent or b"", dtype=">i8").astype(np.int64)
