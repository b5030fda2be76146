"""What the signatures of two books say about them, and when that makes them near-duplicates.

Unrelated books share no word shingle (Jaccard below 0.0005), while true copies can fall to 0.03 under OCR:
three equal MinHash values of 128 already mean kinship, and a second witness makes it certain. Kinship alone
does not: books that quote the same poems or traditions reach eight equal values.
Measured in docs/decisions/0003-near-duplicate-rule.md.
"""

from dataclasses import dataclass
from typing import Protocol

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
