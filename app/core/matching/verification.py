"""What the signatures of two books say about them, and when that makes them near-duplicates.

Unrelated books share no word shingle (Jaccard below 0.0005), while true copies can fall to 0.03 under OCR:
three equal MinHash values of 128 already mean kinship. Kinship alone is not enough: books that quote the same
poems or traditions reach eight equal values. So the farther apart the fingerprints lie, the more equal values
are asked for; and a part of a larger work, whose fingerprint may lie anywhere, is told by containment.
Measured in docs/decisions/0003-near-duplicate-rule.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.index.hamming import distances, words
from app.core.model import Fingerprint, FracMinHash, MinHashSignature, require_same_recipe
from app.core.signatures.fracminhash import shared_hashes, shared_shingles
from app.core.signatures.minhash import containment, equal_values_of_each

NO_DISTANCE = 255
"""Stands among distances for two books of which one has no fingerprint."""


class HasSignatures(Protocol):
    """Anything that carries a book's signatures: a Sketch, or an Entry of the catalogue."""

    @property
    def fingerprint(self) -> Fingerprint | None:
        """Its fingerprint, if it has one."""
        ...

    @property
    def minhash(self) -> MinHashSignature | None:
        """Its MinHash, if it has one."""
        ...

    @property
    def sample(self) -> FracMinHash | None:
        """The sample of its shingles, if it has one."""
        ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """What two books' signatures say; None where either book lacks the signature."""

    distance: int | None  # bits, 0 to 128
    equal_values: int | None  # of 128
    jaccard: float | None  # 0 to 1
    this_in_other: float | None  # share of this book's shingles found in the other, 0 to 1
    other_in_this: float | None  # the reverse
    sampled: float | None = None  # share of the smaller book found in the other, by the samples; 0 to 1


@dataclass(frozen=True, slots=True)
class Verification:
    """When evidence suffices."""

    distance_alone: int  # at most so many bits suffice alone
    steps: tuple[tuple[int, int], ...]  # (values, bits): so many equal values suffice up to so many bits
    min_shared: int  # equal values without which nothing but the distance counts
    containment: float  # at least so much of the smaller book in the other, with `min_shared` equal values


VERIFICATION = Verification(
    distance_alone=23, steps=((4, 36), (8, 40), (12, 44), (24, NO_DISTANCE)), min_shared=3, containment=0.3
)
"""What it accepts lies within `distance_alone` bits or has `min_shared` equal values: those two find it."""


def evidence(this: HasSignatures, other: HasSignatures) -> Evidence:
    """The evidence of two books; raises RecipeMismatch if a pair of signatures is of two recipes."""
    [found] = evidence_of_each(this, [other])
    return found


def evidence_of_each(this: HasSignatures, others: Sequence[HasSignatures]) -> list[Evidence]:
    """The evidence of one book and each of the others; raises as `evidence` does."""
    return [
        Evidence(distance, *shared)
        for distance, shared in zip(_distances(this, others), _shared(this, others), strict=True)
    ]


def _distances(this: HasSignatures, others: Sequence[HasSignatures]) -> Sequence[int | None]:
    fingerprints = [other.fingerprint for other in others]
    signed = [fingerprint for fingerprint in fingerprints if fingerprint is not None]
    if this.fingerprint is None or not signed:
        return [None] * len(others)
    for recipe in {fingerprint.recipe for fingerprint in signed}:
        require_same_recipe(this.fingerprint.recipe, recipe)
    packed = np.frombuffer(b"".join([fingerprint.bits for fingerprint in signed]), dtype=np.uint8)
    found = iter(distances(this.fingerprint.bits, words(packed.reshape(len(signed), -1))).tolist())
    return [None if fingerprint is None else next(found) for fingerprint in fingerprints]


_Shared = tuple[int | None, float | None, float | None, float | None, float | None]
"""The fields of `Evidence` that come from the shingles."""

_NOTHING_SHARED: _Shared = (None, None, None, None, None)


def _shared(this: HasSignatures, others: Sequence[HasSignatures]) -> Sequence[_Shared]:
    minhashes = [other.minhash for other in others]
    signed = [minhash for minhash in minhashes if minhash is not None]
    if this.minhash is None or not signed:
        return [_NOTHING_SHARED] * len(others)
    equal = equal_values_of_each(this.minhash, signed)
    counts = np.array([minhash.shingle_count for minhash in signed])
    size = len(this.minhash.values)
    columns = (equal, equal / size, *containment(equal, this.minhash.shingle_count, counts, size))
    found = zip(*(column.tolist() for column in columns), strict=True)
    return [
        _NOTHING_SHARED if other.minhash is None else (*next(found), _sampled(this, other))
        for other in others
    ]


def _sampled(this: HasSignatures, other: HasSignatures) -> float | None:
    if this.sample is None or other.sample is None or this.minhash is None or other.minhash is None:
        return None
    smaller = min(this.minhash.shingle_count, other.minhash.shingle_count)
    shared = shared_hashes(this.sample, other.sample)
    return min(1.0, shared_shingles(shared, this.sample.level, other.sample.level) / smaller)


def is_near_duplicate(evidence: Evidence, rule: Verification = VERIFICATION) -> bool:
    """Whether two books share so much text that one is a near-duplicate of the other, or contains it.

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
class Candidates:
    """Books held against one query, as arrays of one length."""

    distances: NDArray[np.uint8]  # NO_DISTANCE where either book has no fingerprint
    equal_values: NDArray[np.int64]  # equal MinHash values
    shared: NDArray[np.int64]  # shared hashes of the shingle samples
    shingle_counts: NDArray[np.uint32]  # 0 where there is no MinHash
    levels: NDArray[np.uint8]  # of the shingle samples; above 64 where there is none


def verified(
    query: HasSignatures, candidates: Candidates, rule: Verification = VERIFICATION
) -> NDArray[np.bool_]:
    """Which candidates are near-duplicates of the query: `is_near_duplicate` of all of them at once."""
    if query.minhash is None:
        return candidates.distances <= rule.distance_alone
    smaller, share = _containment(query.minhash, candidates)
    if query.sample is not None:
        lower = np.minimum(candidates.levels, query.sample.level).astype(np.float64)
        sampled = np.minimum(1.0, candidates.shared * 2.0 ** (64 - lower) / smaller)
        share = np.where(_is_sampled(candidates), (share + sampled) / 2, share)
    return _suffices(candidates.distances, candidates.equal_values, share, rule)


def needs_sample(
    query: HasSignatures, candidates: Candidates, rule: Verification = VERIFICATION
) -> NDArray[np.bool_]:
    """Which candidates the shared hashes of the samples confirm or dismiss, whatever `shared` says now."""
    doubtful = (
        (candidates.equal_values >= rule.min_shared)
        & (candidates.distances > rule.distance_alone)
        & _is_sampled(candidates)
    )
    if query.minhash is None or query.sample is None or not doubtful.any():
        return np.zeros_like(doubtful)
    _, share = _containment(query.minhash, candidates)
    least, most = (
        _suffices(candidates.distances, candidates.equal_values, (share + sampled) / 2, rule)
        for sampled in (0.0, 1.0)
    )
    return np.asarray(doubtful & most & ~least)


def _containment(
    minhash: MinHashSignature, candidates: Candidates
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The smaller book's shingles, at least 1, and the share of them that the other has, by MinHash."""
    equal = candidates.equal_values / len(minhash.values)
    counts = candidates.shingle_counts.astype(np.float64)
    smaller = np.maximum(1.0, np.minimum(minhash.shingle_count, counts))
    both = equal * (minhash.shingle_count + counts) / (1 + equal)
    return smaller, np.minimum(1.0, both / smaller)


def _is_sampled(candidates: Candidates) -> NDArray[np.bool_]:
    return candidates.levels <= 64


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
