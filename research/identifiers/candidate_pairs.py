"""Evidence of all candidate pairs of a signed set, as the index would propose them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.records import (
    POSTING_CAP,
    Buckets,
    SharedHashes,
    entries_sharing,
)
from bookprint_core.index.tables import POSTINGS, Keys
from research.identifiers.all_pairs_join import brute_pairs
from research.identifiers.paper_sets import SignedSet

_NO_DISTANCE = 255


@dataclass(frozen=True, slots=True, eq=False)
class CandidatePairs:
    """Candidates of every text in both directions, by query, then by candidate."""

    query: NDArray[np.int64]
    other: NDArray[np.int64]
    distance: NDArray[np.uint8]  # 255 if either has no fingerprint
    shared: NDArray[np.int64]  # number of hashes in both samples


def candidate_pairs(texts: SignedSet, reach: int, least: int) -> CandidatePairs:
    """Return pairs within `reach` bits, or with at least `least` shared hashes of their samples."""
    samples = _Postings.of(texts.sample, texts.sample_ends)
    near = _Neighbours.of(texts, reach)
    pairs = []
    for row in range(texts.size):
        shared = samples.sharing(row)
        others = np.setdiff1d(np.union1d(near.near(row), shared.at_least(least)), [np.uint64(row)])
        distance = np.bitwise_count(texts.gap[others] ^ texts.gap[row]).sum(axis=1, dtype=np.uint8)
        distance[~(texts.has_gap[others] & texts.has_gap[row])] = _NO_DISTANCE
        query = np.full(others.size, row)
        pairs.append((query, others, distance, shared.counts_of(others)))
    query, other, distance, hashes = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return CandidatePairs(query, other.astype(np.int64), distance, hashes)


@dataclass(frozen=True, slots=True, eq=False)
class _Postings:
    """The texts of each hash, as records of the index."""

    records: bytes  # records of all hashes in order
    starts: NDArray[np.int64]  # index of the first record of each hash
    hashes: NDArray[np.intp]  # hash numbers of all texts in order
    ends: NDArray[np.int64]  # end of each text in `hashes`

    @classmethod
    def of(cls, hashes: NDArray[np.uint64], ends: NDArray[np.int64]) -> "_Postings":
        numbers = np.unique(hashes, return_inverse=True)[1]
        owners = np.searchsorted(ends, np.arange(hashes.size), side="right")
        # Each hash has its own bucket, so no tag is needed to distinguish hashes.
        records = owners[np.argsort(numbers, kind="stable")].astype("<u4").tobytes()
        starts = np.concatenate([[0], np.cumsum(np.bincount(numbers))])
        return cls(records, starts, numbers, ends)

    def sharing(self, row: int) -> SharedHashes:
        """Return the texts that share hashes with this one, with counts; very frequent hashes are ignored."""
        numbers = self.hashes[self.ends[row - 1] if row else 0 : self.ends[row]]
        buckets = [
            self.records[POSTINGS.width * start : POSTINGS.width * end]
            if end - start <= POSTING_CAP
            else None
            for start, end in zip(
                self.starts[numbers].tolist(), self.starts[numbers + 1].tolist(), strict=True
            )
        ]
        none = np.zeros(len(buckets), dtype=np.uint32)
        most = np.full(len(buckets), POSTINGS.most.bit_length() - 1, dtype=np.uint32)
        return entries_sharing(Buckets(buckets, none, most), Keys(POSTINGS, none, none))


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbours:
    """The texts within a distance of each text."""

    others: NDArray[np.uint64]  # neighbours of all texts in order
    starts: NDArray[np.intp]  # (n + 1,)

    @classmethod
    def of(cls, texts: SignedSet, reach: int) -> "_Neighbours":
        rows = np.flatnonzero(texts.has_gap)
        pairs = brute_pairs(texts.gap[rows], reach)
        left, right = rows[pairs.left], rows[pairs.right]
        queries, others = np.concatenate([left, right]), np.concatenate([right, left])
        order = np.argsort(queries, kind="stable")
        starts = np.searchsorted(queries[order], np.arange(texts.size + 1))
        return cls(others[order].astype(np.uint64), starts)

    def near(self, row: int) -> NDArray[np.uint64]:
        """Return the texts within the distance of this one."""
        return self.others[self.starts[row] : self.starts[row + 1]]
