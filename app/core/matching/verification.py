"""Verification: the evidence that two books' signatures give, and when it makes them near-duplicates.

Unrelated books share no word shingle (Jaccard below 0.0005), while true copies can fall to 0.03 under OCR.
Three equal MinHash values of 128 already show common text. That alone is not enough, because books that
quote the same poems reach eight. So the farther apart the fingerprints lie, the more equal values it takes.
For a part of a larger work, whose fingerprint may lie anywhere, containment decides. The rule is ours,
measured in docs/decisions/0003-near-duplicate-rule.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.index.fingerprints import NO_DISTANCE
from app.core.index.records import NO_SAMPLE
from app.core.model import Entry, Sketch, require_same_recipe
from app.core.signatures.fracminhash import TOP_LEVEL, shared_hashes, shared_shingles
from app.core.signatures.minhash import containment, equal_values_of_each
from app.core.signatures.simhash import hamming

_PERMUTATIONS = 128

HasSignatures = Sketch | Entry


@dataclass(frozen=True, slots=True)
class Evidence:
    """The similarities of two books by their signatures; None where either book lacks the signature."""

    distance: int | None  # bits, 0 to 128
    equal_values: int | None = None  # of 128
    jaccard: float | None = None  # 0 to 1
    this_in_other: float | None = None  # share of this book's shingles that the other has, 0 to 1
    other_in_this: float | None = None  # the reverse
    sampled: float | None = None  # share of the smaller book that the other has, by the samples; 0 to 1


@dataclass(frozen=True, slots=True)
class Verification:
    """The rule by which evidence makes two books near-duplicates."""

    distance_alone: int  # the most bits that suffice alone
    steps: tuple[tuple[int, int], ...]  # (equal values, bits up to which they suffice)
    min_shared: int  # equal values without which nothing but the distance counts
    containment: float  # share of the smaller book that suffices together with `min_shared` equal values


VERIFICATION = Verification(
    distance_alone=23, steps=((4, 36), (8, 40), (12, 44), (24, NO_DISTANCE)), min_shared=3, containment=0.3
)
"""Near-duplicates lie within `distance_alone` bits or have `min_shared` equal values: so they are found."""


def evidence(this: HasSignatures, other: HasSignatures) -> Evidence:
    """The evidence of two books; raises RecipeMismatch if a pair of signatures is of two recipes."""
    return evidence_of_each(this, [other])[0]


def evidence_of_each(this: HasSignatures, others: Sequence[HasSignatures]) -> list[Evidence]:
    """The evidence of one book and each of the others; raises as `evidence` does."""
    evidence = [Evidence(_distance(this, other)) for other in others]
    compared = [(row, other, other.minhash) for row, other in enumerate(others) if other.minhash is not None]
    if this.minhash is None or not compared:
        return evidence
    size = len(this.minhash.values)
    equal = equal_values_of_each(this.minhash, [minhash for _, _, minhash in compared])
    counts = np.array([minhash.shingle_count for _, _, minhash in compared])
    this_in_other, other_in_this = containment(equal, this.minhash.shingle_count, counts, size)
    columns = (equal.tolist(), (equal / size).tolist(), this_in_other.tolist(), other_in_this.tolist())
    for (row, other, _), values, jaccard, inside, around in zip(compared, *columns, strict=True):
        distance, sampled = evidence[row].distance, _sampled(this, other)
        evidence[row] = Evidence(distance, values, jaccard, inside, around, sampled)
    return evidence


def _distance(this: HasSignatures, other: HasSignatures) -> int | None:
    if this.fingerprint is None or other.fingerprint is None:
        return None
    require_same_recipe(this.fingerprint.recipe, other.fingerprint.recipe)
    return hamming(this.fingerprint.bits, other.fingerprint.bits)


def _sampled(this: HasSignatures, other: HasSignatures) -> float | None:
    if this.sample is None or other.sample is None or this.minhash is None or other.minhash is None:
        return None
    smaller = min(this.minhash.shingle_count, other.minhash.shingle_count)
    shared = shared_hashes(this.sample, other.sample)
    return min(1.0, shared_shingles(shared, this.sample.level, other.sample.level) / smaller)


def is_near_duplicate(evidence: Evidence, rule: Verification = VERIFICATION) -> bool:
    """Whether one book is a near-duplicate of the other, or contains it.

    >>> is_near_duplicate(Evidence(40, 8, jaccard=8 / 128, this_in_other=0.1, other_in_this=0.1))
    True
    >>> is_near_duplicate(Evidence(45, 8, jaccard=8 / 128, this_in_other=0.1, other_in_this=0.1))
    False
    """
    share = max(evidence.this_in_other or 0.0, evidence.other_in_this or 0.0)
    return bool(
        _suffices(
            np.array([NO_DISTANCE if evidence.distance is None else evidence.distance]),
            np.array([evidence.equal_values or 0]),
            np.array([share if evidence.sampled is None else (share + evidence.sampled) / 2]),
            rule,
        )[0]
    )


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """What the verification rule knows of books beside what they share, as arrays of one length."""

    shingle_counts: NDArray[np.uint32]  # 0 where there is no MinHash
    levels: NDArray[np.uint8]  # of the shingle samples; above 64 where there is none

    @classmethod
    def of(cls, book: HasSignatures) -> "Sizes":
        """Those of one book, (1,)."""
        count = 0 if book.minhash is None else book.minhash.shingle_count
        level = NO_SAMPLE if book.sample is None else book.sample.level
        return cls(np.array([count], dtype=np.uint32), np.array([level], dtype=np.uint8))


@dataclass(frozen=True, slots=True, eq=False)
class Candidates(Sizes):
    """Books to verify, and what each shares with its query, as arrays of one length."""

    distances: NDArray[np.uint8]  # NO_DISTANCE where either book has no fingerprint
    equal_values: NDArray[np.integer]  # equal MinHash values
    shared: NDArray[np.integer]  # shared hashes of the shingle samples


def verified(
    query: HasSignatures, candidates: Candidates, rule: Verification = VERIFICATION
) -> NDArray[np.bool_]:
    """Whether each candidate is a near-duplicate of the query, (n,): `is_near_duplicate` for all at once."""
    return verified_pairs(Sizes.of(query), candidates, rule)


def verified_pairs(
    queries: Sizes, candidates: Candidates, rule: Verification = VERIFICATION
) -> NDArray[np.bool_]:
    """Whether each candidate is a near-duplicate of the query in its place, (n,)."""
    smaller, share = _containment(queries, candidates)
    lower = np.minimum(candidates.levels, queries.levels).astype(np.float64)
    sampled = np.minimum(1.0, candidates.shared * 2.0 ** (64 - lower) / smaller)
    share = np.where(_are_sampled(queries, candidates), (share + sampled) / 2, share)
    return _suffices(candidates.distances, candidates.equal_values, share, rule)


def needs_sample(
    query: HasSignatures, candidates: Candidates, rule: Verification = VERIFICATION
) -> NDArray[np.bool_]:
    """Whether only shared hashes of the samples can decide on each candidate, (n,); `shared` is ignored."""
    sizes = Sizes.of(query)
    doubtful = (
        (candidates.equal_values >= rule.min_shared)
        & (candidates.distances > rule.distance_alone)
        & _are_sampled(sizes, candidates)
    )
    if not doubtful.any():
        return doubtful
    _, share = _containment(sizes, candidates)
    least, most = (
        _suffices(candidates.distances, candidates.equal_values, (share + sampled) / 2, rule)
        for sampled in (0.0, 1.0)
    )
    return np.asarray(doubtful & most & ~least)


def _containment(queries: Sizes, candidates: Candidates) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The smaller book's shingles, at least 1, and the share of these that the other has; (n,) each."""
    equal = candidates.equal_values / _PERMUTATIONS
    these, those = queries.shingle_counts.astype(np.float64), candidates.shingle_counts.astype(np.float64)
    smaller = np.maximum(1.0, np.minimum(these, those))
    shared = equal * (these + those) / (1 + equal)
    return smaller, np.minimum(1.0, shared / smaller)


def _are_sampled(queries: Sizes, candidates: Candidates) -> NDArray[np.bool_]:
    return np.maximum(queries.levels, candidates.levels) <= TOP_LEVEL


def _suffices(
    distances: NDArray[np.integer],
    equal_values: NDArray[np.integer],
    containment: NDArray[np.float64],
    rule: Verification,
) -> NDArray[np.bool_]:
    near = (distances <= rule.distance_alone) | (
        (equal_values >= rule.min_shared) & (containment >= rule.containment)
    )
    for values, distance in rule.steps:
        near |= (equal_values >= values) & (distances <= distance)
    return near
