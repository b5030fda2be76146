"""Evidence, and when it makes a near-duplicate."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bookprint_core.errors import RecipeMismatch
from bookprint_core.index.fingerprints import NO_DISTANCE
from bookprint_core.matching.verification import (
    VERIFICATION,
    Candidates,
    Evidence,
    evidence,
    evidence_of_each,
    is_accepted,
    is_compared,
    meets,
    verified,
)
from bookprint_core.model import Entry, Fingerprint, FracMinHash, MinHashSignature, Sketch
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_SAMPLE
from bookprint_core.signatures.fracminhash import shared_hashes
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_text
from tests.factories import flipped
from tests.vectors import texts

WORDS = texts.text("latin", 12_000, 1).split()
OTHER = texts.text("latin", 12_000, 2).split()


def of(words: list[str]) -> Sketch:
    return sketch(content_from_text(" ".join(words)))


def test_book_is_a_near_duplicate_of_itself() -> None:
    book = of(WORDS)
    pair = evidence(book, book)
    assert pair.shared > 200
    assert pair == Evidence(0, 128, 1.0, 1.0, 1.0, pair.shared, pytest.approx(1, abs=0.06))
    assert is_accepted(pair)


def test_part_of_a_book_is_a_near_duplicate_by_containment() -> None:
    pair = evidence(of(WORDS[:4000]), of(WORDS))
    assert pair.this_in_other > 0.7 > pair.other_in_this
    assert is_accepted(pair)


def test_missing_signatures_leave_their_evidence_open() -> None:
    book, tiny = of(WORDS), of(["only", "four", "words", "here"])
    assert evidence(book, tiny) == Evidence(None)
    assert not is_accepted(evidence(book, tiny))


def test_evidence_of_each_of_several_is_that_of_each_alone() -> None:
    book = of(WORDS)
    others = [of(OTHER), of(["only", "four", "words", "here"]), of(WORDS[:4000]), book]
    assert evidence_of_each(book, others) == [evidence(book, other) for other in others]
    assert evidence_of_each(others[1], others) == [evidence(others[1], other) for other in others]
    assert evidence_of_each(book, []) == []


@pytest.mark.parametrize(
    ("distance", "shared", "sampled", "near"),
    [
        (15, 0, 0.0, True),
        (16, 0, 0.0, False),
        (23, None, None, True),
        (24, None, None, False),
        (23, 2, 0.03, True),
        (23, 1, 0.03, False),
        (23, 9, 0.029, False),
        (24, 2, 0.03, False),
        (46, 12, 0.07, True),
        (46, 11, 0.07, False),
        (46, 12, 0.069, False),
        (47, 12, 0.07, False),
        (90, 16, 0.12, True),
        (90, 15, 0.12, False),
        (90, 16, 0.119, False),
        (90, 4, 0.25, True),
        (90, 3, 0.9, False),
        (None, 16, 0.12, True),
        (None, 4, 0.24, False),
        (None, None, None, False),
    ],
)
def test_the_farther_apart_the_more_text_is_asked_for(
    distance: int | None, shared: int | None, sampled: float | None, near: bool
) -> None:
    assert is_accepted(Evidence(distance, shared=shared, sampled=sampled)) is near


@given(st.integers(0, 2**32))
def test_rule_is_the_same_for_one_book_and_for_many(seed: int) -> None:
    rng = np.random.default_rng(seed)
    query = entry_near(rng, None)
    others = [entry_near(rng, query) for _ in range(20)]
    one_by_one = [evidence(query, other) for other in others]
    candidates = held_against(query, others, one_by_one)
    accepted = verified(candidates)
    assert accepted.tolist() == [is_accepted(pair) for pair in one_by_one]
    wanted = accepted | meets(candidates, VERIFICATION.compared)
    assert wanted.tolist() == [is_compared(pair) for pair in one_by_one]
    for pair, near in zip(one_by_one, accepted, strict=True):
        close = pair.distance is not None and pair.distance <= VERIFICATION.distance_unsampled
        assert not near or close or (pair.shared or 0) >= VERIFICATION.min_shared


def held_against(query: Entry, others: list[Entry], one_by_one: list[Evidence]) -> Candidates:
    level = query.sample.level if query.sample else 255
    return Candidates.between(
        np.array([level], dtype=np.uint8),
        np.array([other.sample.level if other.sample else 255 for other in others], dtype=np.uint8),
        distances=np.array(
            [NO_DISTANCE if e.distance is None else e.distance for e in one_by_one], dtype=np.uint8
        ),
        shared=np.array(
            [
                shared_hashes(query.sample, other.sample) if query.sample and other.sample else 0
                for other in others
            ]
        ),
    )


def entry_near(rng: np.random.Generator, query: Entry | None) -> Entry:
    """An entry that shares some of the query's signatures; any of its own may be missing."""
    bits = rng.bytes(16)
    values = rng.integers(0, 2**32, 128, dtype=np.uint32)
    hashes = np.unique(rng.integers(0, 2**57, 100, dtype=np.uint64))
    if query is not None:
        if query.fingerprint and rng.random() < 0.5:
            flips = rng.choice(128, int(rng.integers(0, 60)), replace=False)
            bits = flipped(query.fingerprint.bits, *flips.tolist())
        if query.minhash:
            same = rng.choice(128, int(rng.integers(0, 30)), replace=False)
            values[same] = query.minhash.values[same]
        if query.sample:
            hashes = np.unique(np.concatenate([hashes[:70], query.sample.hashes[: int(rng.integers(0, 30))]]))
    minhash = MinHashSignature(DEFAULT_MINHASH, values, int(rng.integers(100, 100_000)))
    return Entry(
        1,
        Fingerprint(DEFAULT_FINGERPRINT, bits) if rng.random() < 0.9 else None,
        minhash if query is None or rng.random() < 0.9 else None,
        FracMinHash(DEFAULT_SAMPLE, hashes, 200) if query is None or rng.random() < 0.8 else None,
    )


@pytest.mark.parametrize("part", ["fingerprint", "minhash"])
def test_signatures_of_two_recipes_are_not_compared(part: str) -> None:
    book = of(WORDS)
    fingerprint, minhash = book.fingerprint, book.minhash
    if part == "fingerprint":
        fingerprint = Fingerprint("tf-simhash128-v1", fingerprint.bits)
    else:
        minhash = MinHashSignature("word5-minhash128-v2", minhash.values, minhash.shingle_count)
    with pytest.raises(RecipeMismatch):
        evidence(book, Sketch(fingerprint, minhash, None, 1, 1, None))
