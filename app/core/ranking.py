"""What the signatures of two books say about them, and when that makes them near-duplicates.

Unrelated books share no word shingle (Jaccard below 0.0005), while true copies can fall to 0.03 under OCR:
three equal MinHash values of 128 already mean kinship, and a second witness makes it certain. Kinship alone
does not: books that quote the same poems or traditions reach eight equal values.
Measured in docs/decisions/0003-near-duplicate-rule.md.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.minhash import containment, equal_values
from app.core.model import Fingerprint, MinHashSignature, require_same_recipe
from app.core.simhash import hamming


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


@dataclass(frozen=True, slots=True)
class Evidence:
    """What two books' signatures say; None where either book lacks the signature."""

    distance: int | None  # bits, 0 to 128
    equal_values: int | None  # of 128
    jaccard: float | None  # 0 to 1
    this_in_other: float | None  # share of this book's shingles found in the other, 0 to 1
    other_in_this: float | None  # the reverse


@dataclass(frozen=True, slots=True)
class Verification:
    """When evidence suffices."""

    distance_alone: int  # at most so many bits suffice alone
    kin: int  # equal values that suffice with a second witness
    distance: int  # at most so many bits: a second witness
    containment: float  # at least so much of either book in the other: a second witness


VERIFICATION = Verification(distance_alone=23, kin=3, distance=28, containment=0.2)
"""What it accepts lies within `distance_alone` bits or has `kin` equal values: those two find it."""


def evidence(this: Signed, other: Signed) -> Evidence:
    """The evidence of two books; raises RecipeMismatch if a pair of signatures is of two recipes."""
    distance = None
    if this.fingerprint is not None and other.fingerprint is not None:
        require_same_recipe(this.fingerprint.recipe, other.fingerprint.recipe)
        distance = hamming(this.fingerprint.bits, other.fingerprint.bits)
    if this.minhash is None or other.minhash is None:
        return Evidence(distance, None, None, None, None)
    equal = equal_values(this.minhash, other.minhash)
    shares = containment(equal, this.minhash.shingle_count, other.minhash.shingle_count)
    return Evidence(
        distance, equal, equal / len(this.minhash.values), shares.this_in_other, shares.other_in_this
    )


def is_near_duplicate(evidence: Evidence, rule: Verification = VERIFICATION) -> bool:
    """Whether two books share so much text that one is a near-duplicate of the other, or contains it.

    >>> is_near_duplicate(Evidence(40, 9, jaccard=9 / 128, this_in_other=0.1, other_in_this=0.2))
    True
    >>> is_near_duplicate(Evidence(30, 3, jaccard=3 / 128, this_in_other=0.05, other_in_this=0.1))
    False
    """
    if evidence.distance is not None and evidence.distance <= rule.distance_alone:
        return True
    if (evidence.equal_values or 0) < rule.kin:
        return False
    close = evidence.distance is not None and evidence.distance <= rule.distance
    return close or max(evidence.this_in_other or 0.0, evidence.other_in_this or 0.0) >= rule.containment


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Books held against one query, as arrays of one length."""

    distances: NDArray[np.uint8]  # 255 where either book has no fingerprint
    equal_values: NDArray[np.int64]  # equal MinHash values
    shared: NDArray[np.int64]  # shared hashes of the shingle samples
    shingle_counts: NDArray[np.uint32]  # 0 where there is no MinHash
    levels: NDArray[np.uint8]  # of the shingle samples; 255 where there is none


def confirmed(query: Signed, candidates: Candidates, rule: Verification = VERIFICATION) -> NDArray[np.bool_]:
    """Which candidates are near-duplicates of the query; the same rule as `is_near_duplicate`, in bulk."""
    close = candidates.distances <= rule.distance_alone
    if query.minhash is None:
        return close
    equal = candidates.equal_values / 128
    counts = candidates.shingle_counts.astype(np.float64)
    both = equal * (query.minhash.shingle_count + counts) / (1 + equal)
    share = both / np.maximum(1, np.minimum(query.minhash.shingle_count, counts))
    witnessed = (candidates.distances <= rule.distance) | (share >= rule.containment)
    return close | ((candidates.equal_values >= rule.kin) & witnessed)
