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

from app.core.minhash import containment, equal_values_of_each
from app.core.model import Fingerprint, MinHashSignature, ShingleSample, require_same_recipe
from app.core.sample import shared_hashes, shared_shingles
from app.core.simhash import distances

NO_DISTANCE = 255
"""Stands among distances for two books of which one has no fingerprint."""


class Signed(Protocol):
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
    def sample(self) -> ShingleSample | None:
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
    kin: int  # equal values without which nothing but the distance counts
    containment: float  # at least so much of the smaller book in the other, with kinship


VERIFICATION = Verification(
    distance_alone=23, steps=((4, 36), (8, 40), (12, 44), (24, NO_DISTANCE)), kin=3, containment=0.3
)
"""What it accepts lies within `distance_alone` bits or has `kin` equal values: those two find it."""


def evidence(this: Signed, other: Signed) -> Evidence:
    """The evidence of two books; raises RecipeMismatch if a pair of signatures is of two recipes."""
    [found] = evidence_of_each(this, [other])
    return found


def evidence_of_each(this: Signed, others: Sequence[Signed]) -> list[Evidence]:
    """The evidence of one book and each of the others; raises as `evidence` does."""
    return [
        Evidence(distance, None, None, None, None)
        if equal is None
        else _weighed(this, other, distance, equal)
        for other, distance, equal in zip(
            others,
            _distances(this.fingerprint, [other.fingerprint for other in others]),
            _equal_values(this.minhash, [other.minhash for other in others]),
            strict=True,
        )
    ]


def _distances(this: Fingerprint | None, others: Sequence[Fingerprint | None]) -> Sequence[int | None]:
    signed = [other for other in others if other is not None]
    if this is None or not signed:
        return [None] * len(others)
    for recipe in {other.recipe for other in signed}:
        require_same_recipe(this.recipe, recipe)
    packed = np.frombuffer(b"".join([other.bits for other in signed]), dtype=np.uint8)
    found = distances(this.bits, packed.reshape(len(signed), -1)).tolist()
    return _among(others, found)


def _equal_values(
    this: MinHashSignature | None, others: Sequence[MinHashSignature | None]
) -> Sequence[int | None]:
    signed = [other for other in others if other is not None]
    if this is None or not signed:
        return [None] * len(others)
    return _among(others, equal_values_of_each(this, signed).tolist())


def _among(others: Sequence[object | None], found: Sequence[int]) -> Sequence[int | None]:
    """What was found for those of the others that are not None, and None for these."""
    if len(found) == len(others):
        return found
    given = iter(found)
    return [None if other is None else next(given) for other in others]


def _weighed(this: Signed, other: Signed, distance: int | None, equal: int) -> Evidence:
    assert this.minhash is not None
    assert other.minhash is not None
    counts = this.minhash.shingle_count, other.minhash.shingle_count
    shares = containment(equal, *counts)
    sampled = None
    if this.sample is not None and other.sample is not None:
        shared = shared_hashes(this.sample, other.sample)
        sampled = min(1.0, shared_shingles(shared, this.sample.level, other.sample.level) / min(counts))
    return Evidence(
        distance, equal, equal / len(this.minhash.values), shares.this_in_other, shares.other_in_this, sampled
    )


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


def confirmed(query: Signed, candidates: Candidates, rule: Verification = VERIFICATION) -> NDArray[np.bool_]:
    """Which candidates are near-duplicates of the query: `is_near_duplicate` of all of them at once."""
    if query.minhash is None:
        return candidates.distances <= rule.distance_alone
    equal = candidates.equal_values / len(query.minhash.values)
    counts = candidates.shingle_counts.astype(np.float64)
    smaller = np.maximum(1.0, np.minimum(query.minhash.shingle_count, counts))
    both = equal * (query.minhash.shingle_count + counts) / (1 + equal)
    share = np.minimum(1.0, both / smaller)
    if query.sample is not None:
        lower = np.minimum(candidates.levels, query.sample.level).astype(np.float64)
        sampled = np.minimum(1.0, candidates.shared * 2.0 ** (64 - lower) / smaller)
        share = np.where(candidates.levels > 64, share, (share + sampled) / 2)
    return _suffices(candidates.distances, candidates.equal_values, share, rule)


def _suffices(
    distances: NDArray[np.integer],
    equal_values: NDArray[np.integer],
    containment: NDArray[np.float64],
    rule: Verification,
) -> NDArray[np.bool_]:
    near = (distances <= rule.distance_alone) | (
        (equal_values >= rule.kin) & (containment >= rule.containment)
    )
    for values, distance in rule.steps:
        near |= (equal_values >= values) & (distances <= distance)
    return near
