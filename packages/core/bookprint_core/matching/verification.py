"""Verification: the evidence of two books' signatures, and the rule for near-duplicates.

Books with fingerprints within 15 bits are copies. Books farther apart must share text, as their samples show;
the share of the smaller book must increase with the distance. Among 42 million pairs of different books of
one language no pair was within 15 bits, and eight were within 23. Volumes of one journal may differ in 16
bits, and share set phrases, 2 % of the samples. For a part of a larger work, at any distance, the share alone
decides. The rule is ours; measurements: docs/why/decisions/0038-letter-samples.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.fingerprints import NO_DISTANCE
from bookprint_core.index.records import NO_SAMPLE
from bookprint_core.matching.places import Where, where
from bookprint_core.model import Entry, Sketch, require_same_recipe
from bookprint_core.recipe import DEFAULT_SAMPLE, sample_recipe
from bookprint_core.signatures.fracminhash import kept_shares, shared_hashes
from bookprint_core.signatures.minhash import containment, equal_values_of_each
from bookprint_core.signatures.simhash import hamming

HasSignatures = Sketch | Entry

_SAMPLE = sample_recipe(DEFAULT_SAMPLE)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The similarities of two books by their signatures; None if either book lacks the signature."""

    distance: int | None  # bits, 0 to 128
    equal_values: int | None = None  # of 128
    jaccard: float | None = None  # 0 to 1
    this_in_other: float | None = None  # share of this book's shingles that the other has, 0 to 1
    other_in_this: float | None = None  # share of the other book's shingles that this book has, 0 to 1
    shared: int | None = None  # hashes in both samples
    sampled: float | None = None  # share of the smaller book that the other has, by the samples; 0 to 1
    where: Where | None = None  # None: within 23 bits, or places are not known, or no hash is shared


@dataclass(frozen=True, slots=True)
class ShareStep:
    """A share of the smaller book that suffices up to a distance."""

    shared: int  # hashes in both samples, at least
    share: float  # of the smaller book that the other has, by the samples, at least
    distance: int  # bits, at most


@dataclass(frozen=True, slots=True)
class Verification:
    """The rule by which evidence makes two books near-duplicates, or worth comparing page by page."""

    distance_alone: int  # maximum distance that suffices alone, bits
    distance_unsampled: int  # maximum distance that suffices if either book has no sample, bits
    min_shared: int  # minimum number of hashes in both samples, over all steps
    steps: tuple[ShareStep, ...]  # of near-duplicates
    passage: tuple[ShareStep, ...]  # of near-duplicates that share one passage, as places show
    compared: tuple[ShareStep, ...]  # of books that are compared without being near-duplicates


VERIFICATION = Verification(
    distance_alone=15,
    distance_unsampled=23,
    min_shared=2,
    steps=(
        ShareStep(2, 0.03, 23),
        ShareStep(12, 0.07, 46),
        ShareStep(16, 0.12, NO_DISTANCE),
        ShareStep(4, 0.25, NO_DISTANCE),
    ),
    passage=(ShareStep(2, 0.25, NO_DISTANCE),),
    # Books of one language and one size share two hashes by chance more often than any other number.
    compared=(ShareStep(2, 0.01, NO_DISTANCE), ShareStep(3, 0.0, NO_DISTANCE)),
)
"""Verification rule in use. Lookups find near-duplicates by `min_shared` hashes or within `distance_alone`
bits, `distance_unsampled` if either book has no sample."""


def evidence(this: HasSignatures, other: HasSignatures) -> Evidence:
    """Compute the evidence of two books; raise RecipeMismatch if their signatures have different recipes."""
    return evidence_of_each(this, [other])[0]


def evidence_of_each(this: HasSignatures, others: Sequence[HasSignatures]) -> list[Evidence]:
    """Compute the evidence of a book and each of the others; raise the errors of `evidence`."""
    evidence = [
        Evidence(distance, shared=shared, sampled=sampled, where=_where(this, other, distance))
        for other in others
        for distance, (shared, sampled) in [(_distance(this, other), _sampled(this, other))]
    ]
    compared = [(row, other.minhash) for row, other in enumerate(others) if other.minhash is not None]
    if this.minhash is None or not compared:
        return evidence
    size = len(this.minhash.values)
    equal = equal_values_of_each(this.minhash, [minhash for _, minhash in compared])
    counts = np.array([minhash.shingle_count for _, minhash in compared])
    this_in_other, other_in_this = containment(equal, this.minhash.shingle_count, counts, size)
    columns = (equal.tolist(), (equal / size).tolist(), this_in_other.tolist(), other_in_this.tolist())
    for (row, _), values, jaccard, inside, around in zip(compared, *columns, strict=True):
        evidence[row] = replace(
            evidence[row], equal_values=values, jaccard=jaccard, this_in_other=inside, other_in_this=around
        )
    return evidence


def _where(this: HasSignatures, other: HasSignatures, distance: int | None) -> Where | None:
    """Return the places of the text that two distant samples share; raise RecipeMismatch."""
    near = distance is not None and distance <= VERIFICATION.distance_unsampled
    if near or this.sample is None or other.sample is None:
        return None
    return where(this.sample, other.sample, this.word_count, other.word_count)


def _distance(this: HasSignatures, other: HasSignatures) -> int | None:
    if this.fingerprint is None or other.fingerprint is None:
        return None
    require_same_recipe(this.fingerprint.recipe, other.fingerprint.recipe)
    return hamming(this.fingerprint.bits, other.fingerprint.bits)


def _sampled(this: HasSignatures, other: HasSignatures) -> tuple[int, float] | tuple[None, None]:
    """Return the number of hashes in both samples, and the share of the smaller book that they represent."""
    if this.sample is None or other.sample is None:
        return None, None
    shared = shared_hashes(this.sample, other.sample)
    levels = np.array([this.sample.level]), np.array([other.sample.level])
    return shared, float(_shares(*levels, np.array([shared]))[0])


def is_accepted(evidence: Evidence) -> bool:
    """Return whether two books share enough. Only `verdict` says what they are to each other.

    >>> is_accepted(Evidence(40, shared=16, sampled=0.08)), is_accepted(Evidence(50, shared=16, sampled=0.08))
    (True, False)
    """
    candidates, where = Candidates.of(evidence), evidence.where
    steps = VERIFICATION.passage if where is not None and where.is_one_passage else ()
    return bool((verified(candidates) | meets(candidates, steps))[0])


def is_compared(evidence: Evidence) -> bool:
    """Return whether two books are compared page by page: near-duplicates, and books that share a little.

    >>> is_compared(Evidence(50, shared=2, sampled=0.008)), is_compared(Evidence(50, shared=3, sampled=0.012))
    (False, True)
    """
    candidates = Candidates.of(evidence)
    return bool((verified(candidates) | meets(candidates, VERIFICATION.compared))[0])


MatchVerdict = Literal["near_duplicate", "overlap", "common_matter", "none"]
"""Verdict on two books by their signatures. Near-duplicates are copies, or a part and its whole. An overlap
is a common work or chapter. Common matter is a preface or similar text."""

JOINED: frozenset[MatchVerdict] = frozenset({"near_duplicate", "overlap"})
"""Verdicts on books that more than common matter joins."""

_WHOLE = 0.75
"""Minimum share of the smaller book in the other book of near-duplicates."""

_FEW = 8
"""Minimum number of shared hashes for a reliable share; a share from fewer hashes may be wrong by a third."""

_EVEN, _HALF = 0.7, 0.5
"""Minimum evenness of hashes spread over a whole book, and minimum share of the book that they represent."""


def verdict(evidence: Evidence) -> MatchVerdict:
    """Return the verdict on two books by their signatures, and by where they share text if that is known.

    >>> verdict(Evidence(20)), verdict(Evidence(44, shared=30, sampled=0.25)), verdict(Evidence(60))
    ('near_duplicate', 'overlap', 'none')
    """
    if not is_accepted(evidence):
        return "none"
    if evidence.distance is not None and evidence.distance <= VERIFICATION.distance_unsampled:
        return "near_duplicate"
    where = evidence.where
    if where is not None and where.is_common_matter:
        return "common_matter"
    is_thin = where is not None and where.is_scattered and (evidence.shared or 0) < _FEW
    # The last step, the share of a part alone, is not enough here.
    if is_thin and not meets(Candidates.of(evidence), VERIFICATION.steps[:-1])[0]:
        return "none"
    if max(evidence.this_in_other or 0.0, evidence.other_in_this or 0.0) >= _WHOLE:
        return "near_duplicate"
    # Two badly read copies share few words, but over the whole of either book.
    whole = where is not None and where.even >= _EVEN and (evidence.sampled or 0.0) >= _HALF
    return "near_duplicate" if whole else "overlap"


def are_joined(evidence: Evidence) -> bool:
    """Return whether two books share more than common matter: they are near-duplicates, or overlap."""
    return verdict(evidence) in JOINED


def have_common_matter(evidence: Evidence) -> bool:
    """Return whether two books share a preface or similar matter, and nothing else."""
    return verdict(evidence) == "common_matter"


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Pairs of a book and its query to verify, as arrays of one length."""

    distances: NDArray[np.integer]  # NO_DISTANCE if either book has no fingerprint
    shared: NDArray[np.integer]  # hashes in both samples
    shares: NDArray[np.float64]  # share of the smaller book that the other has, by the samples; 0 to 1
    sampled: NDArray[np.bool_]  # whether both have a sample

    @classmethod
    def of(cls, evidence: Evidence) -> "Candidates":
        """Make the candidates of one pair, (1,)."""
        distance = NO_DISTANCE if evidence.distance is None else evidence.distance
        return cls(
            np.array([distance]),
            np.array([evidence.shared or 0]),
            np.array([evidence.sampled or 0.0]),
            np.array([evidence.shared is not None]),
        )

    @classmethod
    def between(
        cls,
        levels: NDArray[np.uint8],
        others: NDArray[np.uint8],
        distances: NDArray[np.integer],
        shared: NDArray[np.integer],
    ) -> "Candidates":
        """Make candidates from the levels of samples, of one query or one per pair; NO_SAMPLE: no sample."""
        return cls(
            distances, shared, _shares(levels, others, shared), np.maximum(levels, others) != NO_SAMPLE
        )


def verified(candidates: Candidates) -> NDArray[np.bool_]:
    """Return whether each candidate is a near-duplicate of its query, (n,)."""
    rule = VERIFICATION
    alone = np.where(candidates.sampled, rule.distance_alone, rule.distance_unsampled)
    return (candidates.distances <= alone) | meets(candidates, rule.steps)


def _shares(
    levels: NDArray[np.integer], others: NDArray[np.integer], shared: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Estimate the share of the smaller book that the other book has, (n,), 0 to 1, from shared hashes.

    The number of shared hashes is divided by the share of all hashes below the lower limit. The number of a
    book's hashes is estimated from the mean size of a sample.
    """
    kept, kept_by_others = kept_shares(levels, _SAMPLE), kept_shares(others, _SAMPLE)
    smaller = _SAMPLE.mean_kept / np.maximum(kept, kept_by_others)
    return np.asarray(np.minimum(1.0, shared / np.minimum(kept, kept_by_others) / np.maximum(1.0, smaller)))


def meets(candidates: Candidates, steps: Sequence[ShareStep]) -> NDArray[np.bool_]:
    """Return whether each candidate satisfies one of the steps, (n,)."""
    met = np.zeros(candidates.distances.size, dtype=np.bool_)
    for step in steps:
        met |= (
            (candidates.shared >= step.shared)
            & (candidates.shares >= step.share)
            & (candidates.distances <= step.distance)
        )
    return met
