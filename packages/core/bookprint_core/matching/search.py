"""The search of a band index: the buckets to read for a query, and the entries found in them.

A `Plan` names the keys to read, an `IndexRead` contains the buckets, and the functions below compute the
entries. Bands and postings propose every entry that the verification rule accepts, except near-duplicates
whose shared hashes are full.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.fingerprints import probe_radius, probes
from bookprint_core.index.flat_index import FlatIndex
from bookprint_core.index.minhash_bands import MinHashBands
from bookprint_core.index.records import NO_SAMPLE, Buckets, Hits, entries_near, entries_sharing
from bookprint_core.index.tables import BucketKeys, hash_keys
from bookprint_core.matching.identifier_comparison import compare, reach
from bookprint_core.matching.verification import (
    VERIFICATION,
    Candidates,
    Evidence,
    evidence_of_each,
    is_accepted,
    is_compared,
    meets,
    verified,
)
from bookprint_core.model import Entry, Fingerprint, MinHashSignature, require_same_recipe
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_SAMPLE
from bookprint_core.signatures.identifier import Identifier

LAST_DISTANCE = 129
"""Value for an unknown distance, which sorts an entry after all others."""

_LAST_RANK = 1 << 30

_FEW_UNSAMPLED = 1 / 32
"""Largest share of entries without a sample at which these are compared one by one."""

_FEWEST = 0.95  # minimum ratio of a book's words, by its length code, to its shingles

NO_KEYS = hash_keys(np.zeros(0, dtype=np.uint64))


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The part of the index to read for a query."""

    bits: bytes | None = None  # of the query; None: no fingerprint is compared
    distance: int = 0  # maximum distance of near entries, bits
    bands: BucketKeys | None = None  # None: the flat index is scanned
    sample: BucketKeys = NO_KEYS


@dataclass(frozen=True, slots=True, eq=False)
class IndexRead:
    """The parts of the index read for a plan: the flat index, and a bucket for each key."""

    flat: FlatIndex
    bands: Buckets
    sample: Buckets


@dataclass(frozen=True, slots=True, eq=False)
class Proposed:
    """Entries that are near the query or share hashes with it, as arrays of one length."""

    entry_ids: NDArray[np.uint64]  # ascending
    candidates: Candidates
    near: NDArray[np.bool_]  # whether each is a near-duplicate of the query
    in_passage: NDArray[np.bool_]  # whether places decide if each is a near-duplicate

    @property
    def distances(self) -> NDArray[np.uint8]:
        """Distances of the entries; 129 if either book has no fingerprint."""
        return np.asarray(np.minimum(self.candidates.distances, LAST_DISTANCE), dtype=np.uint8)


def plan_range(fingerprint: Fingerprint, distance: int, flat: FlatIndex | None) -> Plan:
    """Plan a search for all entries within a distance; `flat` is the index last read, for estimates."""
    require_same_recipe(fingerprint.recipe, DEFAULT_FINGERPRINT)
    radius = None if flat is None else probe_radius(fingerprint.bits, distance, flat.bucket_sizes, flat.size)
    bands = None if radius is None else probes(fingerprint.bits, radius)
    return Plan(fingerprint.bits, distance, bands)


def plan_candidates(query: Entry, flat: FlatIndex | None) -> Plan:
    """Plan a search for all entries that may be related, even by a small part of either book.

    Beyond the distance that suffices alone, books with samples must share hashes, which the postings show.
    The few entries without a sample are compared one by one.
    """
    plan = Plan()
    if query.fingerprint is not None:
        is_narrow = (
            query.sample is not None and flat is not None and flat.unsampled <= _FEW_UNSAMPLED * flat.size
        )
        rule = VERIFICATION
        distance = rule.distance_alone if is_narrow else rule.distance_unsampled
        plan = plan_range(query.fingerprint, distance, flat)
    if query.sample is not None:
        require_same_recipe(query.sample.recipe, DEFAULT_SAMPLE)
        plan = replace(plan, sample=hash_keys(query.sample.hashes))
    return plan


def plan_alike(minhash: MinHashSignature, bands: MinHashBands) -> Plan:
    """Plan a search for all entries that share a MinHash band with a signature; raise RecipeMismatch."""
    require_same_recipe(minhash.recipe, DEFAULT_MINHASH)
    return Plan(sample=hash_keys(bands.hashes(minhash.values[None]).ravel()))


def proposed_by_bands(plan: Plan, read: IndexRead) -> NDArray[np.uint64]:
    """Return the entries that probably share a MinHash band with the query of the plan, ascending."""
    return entries_sharing(read.sample, plan.sample).entry_ids


def alike(
    minhash: MinHashSignature,
    bands: MinHashBands,
    entry_ids: NDArray[np.uint64],
    values: NDArray[np.uint32],
    jaccard: float,
) -> Hits:
    """Choose from n entries those that share a band with a signature and have at least this similarity.

    The similarity is estimated, and the distances of hits are the numbers of unequal values. Tags may agree
    by chance, so bands are compared.
    """
    unequal = np.count_nonzero(values != minhash.values, axis=1)
    kept = np.flatnonzero(1 - unequal / minhash.values.size >= jaccard)
    kept = kept[bands.in_common(minhash.values, values[kept])]
    return Hits(entry_ids[kept], unequal[kept].astype(np.uint8)).sorted()


def near(plan: Plan, read: IndexRead) -> Hits:
    """Return exactly the entries within the plan's distance."""
    if plan.bits is None:
        return Hits.none()
    if plan.bands is None:
        return read.flat.within(plan.bits, plan.distance)
    return read.flat.among(entries_near(read.bands, plan.bits, plan.distance), plan.bits, plan.distance)


def proposed(query: Entry, plan: Plan, read: IndexRead) -> Proposed:
    """Return the near-duplicates of the query, and other entries that share enough hashes with it.

    A book known only by its identifier is never a near-duplicate here; `within_reach` proposes it.
    """
    sampled = entries_sharing(read.sample, plan.sample)
    found = np.union1d(near(plan, read).entry_ids, sampled.at_least(VERIFICATION.min_shared))
    if plan.bits is not None and plan.distance < VERIFICATION.distance_unsampled:
        unsampled = read.flat.unsampled_within(plan.bits, VERIFICATION.distance_unsampled)
        found = np.union1d(found, unsampled.entry_ids)
    rows = read.flat.rows(found)
    entry_ids = read.flat.entry_ids(rows)
    level = NO_SAMPLE if query.sample is None else query.sample.level
    candidates = Candidates.between(
        np.array([level], dtype=np.uint8),
        read.flat.levels(rows),
        read.flat.distances(plan.bits, rows),
        sampled.counts_of(entry_ids),
    )
    signed = ~read.flat.identified(rows) & (query.identified is None)
    near_duplicate = verified(candidates) & signed
    is_placed = query.sample is not None and query.sample.places is not None
    in_passage = meets(candidates, VERIFICATION.passage) & signed & is_placed
    return Proposed(entry_ids, candidates, near_duplicate, in_passage)


def within_reach(query: Identifier, flat: FlatIndex, *, identified: bool) -> list[int]:
    """Return the entries that may be the same by their identifiers; with `identified`, only identifiers.

    The index contains no word counts. A book has at least as many words as shingles, and the reach decreases
    with their number, so no entry is missed.
    """
    with_minhash = query.minhash is not None
    [longest] = reach(np.ones(1, dtype=np.int64), with_minhash=with_minhash).tolist()
    bits = query.fingerprint.bits
    hits = flat.identified_within(bits, longest) if identified else flat.within(bits, longest)
    counts = flat.shingle_counts(flat.rows(hits.entry_ids)) * _FEWEST
    words = np.minimum(query.word_count, counts.astype(np.int64))
    entry_ids: list[int] = hits.entry_ids[hits.distances <= reach(words, with_minhash=with_minhash)].tolist()
    return entry_ids


def by_identifiers(query: Entry, other: Entry) -> bool:
    """Return whether two books are compared by identifiers, because one is known only by its identifier."""
    return query.entry_id != other.entry_id and (query.identified or other.identified) is not None


def evidence_of_same(query: Identifier, other: Identifier | None) -> Evidence | None:
    """Return the evidence of two books that are the same by their identifiers, else None."""
    if other is None:
        return None
    comparison = compare(query, other)
    if comparison.verdict != "same":
        return None
    shares = (comparison.jaccard, comparison.this_in_other, comparison.other_in_this)
    jaccard, inside, around = (None if share is None else share.estimate for share in shares)
    return Evidence(comparison.distance, None, jaccard, inside, around)


def near_duplicates(proposals: Proposed) -> Hits:
    """Return the proposed entries that the verification rule accepts or places decide, nearest first."""
    kept = proposals.near | proposals.in_passage
    return Hits(proposals.entry_ids[kept], proposals.distances[kept]).sorted()


def related_entries(query: Entry, proposals: Proposed, pending: Sequence[Entry]) -> list[int]:
    """Return the entries that may be related, in the order of `ranks`, without the query.

    `pending` entries are compared one by one, because the index does not contain them yet.
    """
    shared = proposals.candidates.shared
    kept = proposals.near | meets(proposals.candidates, VERIFICATION.compared)
    nearness = ranks(proposals.near, proposals.distances, shared)
    ranked = dict(zip(proposals.entry_ids[kept].tolist(), nearness[kept].tolist(), strict=True))
    for other, pair in zip(pending, evidence_of_each(query, pending), strict=True):
        is_near, count = is_accepted(pair), pair.shared or 0
        if is_compared(pair):
            distance = LAST_DISTANCE if pair.distance is None else pair.distance
            nearness = ranks(np.array([is_near]), np.array([distance]), np.array([count]))
            ranked[other.entry_id] = int(nearness[0])
    ranked.pop(query.entry_id, None)
    return sorted(ranked, key=lambda entry_id: (ranked[entry_id], entry_id))


def ranks(
    near: NDArray[np.bool_], distances: NDArray[np.integer], shared: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Compute the ranks of candidates, lowest first, (n,); ids decide between equal ranks.

    Near-duplicates are ordered by distance (129 if either book has no fingerprint); other candidates follow
    by the number of shared hashes.
    """
    by_distance = np.minimum(distances, LAST_DISTANCE).astype(np.int64)
    return np.where(near, by_distance, _LAST_RANK - shared.astype(np.int64))
