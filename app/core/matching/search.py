"""The search of a band index: which buckets answer a question, and what they answer.

A plan says what to read, a read holds the buckets, and the functions below compute the entries. The
verification rule accepts nothing that neither the bands nor a posting list proposes. So only near-duplicates
behind a full posting bucket are missed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.core.index.fingerprints import probe_radius, probes
from app.core.index.flat_index import FlatIndex
from app.core.index.records import (
    NO_POSTING,
    Hits,
    Posting,
    hits_within,
    minhash_posting,
    sample_posting,
    shared_values,
)
from app.core.matching.verification import (
    VERIFICATION,
    Candidates,
    evidence_of_each,
    is_near_duplicate,
    verified,
)
from app.core.model import Entry, Fingerprint, require_same_recipe
from app.core.recipe import Suite
from app.core.signatures.fracminhash import shared_hashes

LAST_DISTANCE = 129
"""Orders hits: the distance of an entry that was found without one, behind all others."""

_LAST_RANK = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The part of a suite's index to read for a query."""

    bits: bytes | None = None  # of the query; None: it has no fingerprint, or none is compared
    distance: int = 0  # bits up to which entries are near
    bands: NDArray[np.uint32] | None = None  # addresses of buckets; None: the flat index is scanned
    minhash: Posting = NO_POSTING
    sample: Posting = NO_POSTING


@dataclass(frozen=True, slots=True, eq=False)
class IndexRead:
    """The index as read for a plan: the flat index, and a bucket for each address (None: empty)."""

    flat: FlatIndex
    bands: Sequence[bytes | None]
    minhash: Sequence[bytes | None]
    sample: Sequence[bytes | None]


@dataclass(frozen=True, slots=True, eq=False)
class Proposed:
    """Entries that are near the query or share values with it; arrays of one length."""

    entry_ids: NDArray[np.uint64]  # ascending
    candidates: Candidates

    def verified(self, query: Entry) -> NDArray[np.bool_]:
        """Whether each is a near-duplicate of the query, (n,)."""
        return verified(query, self.candidates)

    @property
    def distances(self) -> NDArray[np.uint8]:
        """Their distances; 129 where either book has no fingerprint."""
        return np.minimum(self.candidates.distances, np.uint8(LAST_DISTANCE))

    @property
    def shared(self) -> NDArray[np.int64]:
        """Equal MinHash values, or hashes in both samples: the larger of the two."""
        larger: NDArray[np.int64] = np.maximum(self.candidates.equal_values, self.candidates.shared)
        return larger


def plan_range(fingerprint: Fingerprint, suite: Suite, distance: int, flat: FlatIndex | None) -> Plan:
    """The plan for every entry within a distance; `flat` is the index as last read, for estimates."""
    require_same_recipe(fingerprint.recipe, suite.fingerprint)
    radius = None if flat is None else probe_radius(fingerprint.bits, distance, flat.bucket_sizes, flat.size)
    bands = None if radius is None else probes(fingerprint.bits, radius)
    return Plan(fingerprint.bits, distance, bands)


def plan_verified(query: Entry, suite: Suite, flat: FlatIndex | None) -> Plan:
    """The plan for the near-duplicates of a query, but its FracMinHash, which few candidates need."""
    plan = Plan()
    if query.fingerprint is not None:
        plan = plan_range(query.fingerprint, suite, VERIFICATION.distance_alone, flat)
    if query.minhash is not None:
        require_same_recipe(query.minhash.recipe, suite.minhash)
        plan = replace(plan, minhash=minhash_posting(query.minhash.values))
    return plan


def plan_samples(query: Entry, suite: Suite) -> Plan:
    """The plan for the candidates that only the FracMinHash can decide."""
    if query.sample is None:
        return Plan()
    require_same_recipe(query.sample.recipe, suite.sample)
    return Plan(sample=sample_posting(query.sample.hashes))


def plan_related(query: Entry, suite: Suite, flat: FlatIndex | None) -> Plan:
    """The plan for every entry that may be related, be it only by a small part of either book."""
    return replace(plan_verified(query, suite, flat), sample=plan_samples(query, suite).sample)


def near(plan: Plan, read: IndexRead) -> Hits:
    """Every entry within the plan's distance, exactly."""
    if plan.bits is None:
        return Hits.none()
    if plan.bands is None:
        return read.flat.within(plan.bits, plan.distance)
    return hits_within(read.bands, plan.bits, plan.distance)


def proposed(plan: Plan, read: IndexRead) -> Proposed:
    """The entries near the query, and those that share enough values with it."""
    equal = shared_values(read.minhash, plan.minhash.tags)
    sampled = shared_values(read.sample, plan.sample.tags)
    sharing = np.union1d(equal.at_least(VERIFICATION.min_shared), sampled.at_least(VERIFICATION.min_shared))
    rows = read.flat.rows(np.union1d(near(plan, read).entry_ids, sharing))
    entry_ids = read.flat.entry_ids(rows)
    return Proposed(
        entry_ids,
        Candidates(
            distances=read.flat.distances(plan.bits, rows),
            equal_values=equal.counts_of(entry_ids),
            shared=sampled.counts_of(entry_ids),
            shingle_counts=read.flat.shingle_counts(rows),
            levels=read.flat.levels(rows),
        ),
    )


def with_samples(proposals: Proposed, plan: Plan, read: IndexRead) -> Proposed:
    """The same entries, with the hashes that they share with the query's FracMinHash."""
    shared = shared_values(read.sample, plan.sample.tags).counts_of(proposals.entry_ids)
    return replace(proposals, candidates=replace(proposals.candidates, shared=shared))


def near_duplicates(query: Entry, proposals: Proposed) -> Hits:
    """Those of the proposed entries that the verification rule accepts, nearest first."""
    accepted = proposals.verified(query)
    return Hits(proposals.entry_ids[accepted], proposals.distances[accepted]).sorted()


def related_entries(query: Entry, proposals: Proposed, pending: Sequence[Entry]) -> list[int]:
    """The entries that may be related, nearest first, the query left out.

    Near-duplicates come by their distance; then others that share enough values, by how many. `pending`
    entries are compared one by one, because the index does not hold them yet.
    """
    nearness = ranks(proposals.verified(query), proposals.distances, proposals.shared)
    ranked = dict(zip(proposals.entry_ids.tolist(), nearness.tolist(), strict=True))
    for other, pair in zip(pending, evidence_of_each(query, pending), strict=True):
        shared = pair.equal_values or 0
        if query.sample is not None and other.sample is not None:
            shared = max(shared, shared_hashes(query.sample, other.sample))
        is_near = is_near_duplicate(pair)
        if is_near or shared >= VERIFICATION.min_shared:
            distance = LAST_DISTANCE if pair.distance is None else pair.distance
            nearness = ranks(np.array([is_near]), np.array([distance]), np.array([shared]))
            ranked[other.entry_id] = int(nearness[0])
    ranked.pop(query.entry_id, None)
    return sorted(ranked, key=lambda entry_id: (ranked[entry_id], entry_id))


def ranks(
    near: NDArray[np.bool_], distances: NDArray[np.integer], shared: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Numbers by which candidates are ordered, the lowest first, (n,): equal ones by their ids.

    Near-duplicates come by distance (129 where either book has no fingerprint), then others by the values or
    hashes that they share.
    """
    by_distance = np.minimum(distances, LAST_DISTANCE).astype(np.int64)
    return np.where(near, by_distance, _LAST_RANK - shared.astype(np.int64))
