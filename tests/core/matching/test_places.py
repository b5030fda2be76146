"""Where two books share text, and what that makes of them."""

from dataclasses import replace

import numpy as np
import pytest

from bookprint_core.matching.places import where
from bookprint_core.matching.verification import are_joined, evidence, have_common_matter, verdict
from bookprint_core.model import FracMinHash, Sketch
from bookprint_core.recipe import DEFAULT_SAMPLE
from bookprint_core.relations.common_matter import BACK_WORDS, FRONT_WORDS
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_text
from tests.vectors import texts

OURS, THEIRS, COMMON = (texts.text("latin", 60_000, seed).split()[:9_000] for seed in (1, 2, 3))
PREFACE, CHAPTER, LICENCE = COMMON[:1_200], COMMON[: BACK_WORDS + 1_500], COMMON[: FRONT_WORDS + 1_000]
THIRD = len(OURS) // 3


def of(words: list[str]) -> Sketch:
    return sketch(content_from_text(" ".join(words)))


@pytest.mark.parametrize(
    ("this", "other", "expected"),
    [
        (PREFACE + OURS, PREFACE + THEIRS, "common_matter"),
        (OURS + PREFACE, THEIRS + PREFACE, "common_matter"),
        (PREFACE + OURS + COMMON[-900:], PREFACE + THEIRS + COMMON[-900:], "common_matter"),
        # the larger part of a short book
        (PREFACE + OURS[:600], PREFACE + THEIRS[:600], "common_matter"),
        # a preface at the beginning of one and in the midst of the other is a work in common
        (PREFACE + OURS[:5_000], THEIRS[:2_500] + PREFACE + THEIRS[2_500:5_000], "overlap"),
        (OURS + LICENCE, THEIRS + LICENCE, "common_matter"),
        (LICENCE + OURS, LICENCE + THEIRS, "overlap"),
        (OURS + CHAPTER, THEIRS + CHAPTER, "overlap"),
        # a short work at the beginning of a larger one
        (PREFACE, PREFACE + THEIRS[:5_000], "near_duplicate"),
        (OURS[:1_000], OURS[:1_000], "near_duplicate"),
        # the text stands twice in its file, so the first half of the file is all of it
        (2 * PREFACE, PREFACE + THEIRS[:5_000], "near_duplicate"),
        (OURS, THEIRS, "none"),
    ],
)
def test_place_of_the_shared_text_tells_what_two_books_are(
    this: list[str], other: list[str], expected: str
) -> None:
    pair = evidence(of(this), of(other))
    if expected in ("common_matter", "overlap"):
        # The verification rule accepts no less by the share alone.
        pair = replace(pair, shared=max(pair.shared or 0, 16), sampled=max(pair.sampled or 0, 0.25))
    assert verdict(pair) == expected
    assert are_joined(pair) == (expected in ("near_duplicate", "overlap"))
    assert have_common_matter(pair) == (expected == "common_matter")


def test_copies_that_are_badly_read_are_told_from_books_with_a_part_in_common() -> None:
    errors = np.random.default_rng(5)
    readings = [
        [word[:-1] + "x" if errors.random() < 0.1 else word for word in OURS[:4_000]] for _ in range(2)
    ]
    pair = evidence(*(replace(of(words), fingerprint=None) for words in readings))
    assert max(pair.this_in_other or 0, pair.other_in_this or 0) < 0.75
    far = replace(pair, distance=40, sampled=0.5)
    assert verdict(far) == "near_duplicate"
    assert verdict(replace(far, where=None)) == "overlap"


def test_stretches_are_those_that_the_shared_text_takes() -> None:
    this, other = of(OURS[:THIRD] + CHAPTER), of(CHAPTER + THEIRS[:THIRD])
    found = evidence(this, other).where
    assert found is not None
    begins, ends = THIRD / (THIRD + len(CHAPTER)), len(CHAPTER) / (THIRD + len(CHAPTER))
    assert found.this == pytest.approx((begins, 1), abs=0.05)
    assert found.other == pytest.approx((0, ends), abs=0.05)
    assert found.even < 0.7


def test_places_are_not_known_of_signatures_without_them_nor_of_books_without_a_length() -> None:
    sample = FracMinHash(DEFAULT_SAMPLE, np.arange(5, dtype=np.uint64), 254, np.arange(5, dtype=np.uint16))
    assert where(sample, sample, 100, 100) is not None
    assert where(sample, replace(sample, places=None), 100, 100) is None
    assert where(sample, sample, 100, 0) is None
    apart = replace(sample, hashes=sample.hashes + np.uint64(9))
    assert where(sample, apart, 100, 100) is None


def test_a_few_phrases_that_lie_far_apart_in_a_large_book_are_no_part_of_it() -> None:
    small, large = of(THEIRS[:1_500]), of(OURS)
    pair = replace(evidence(small, large), distance=60, shared=5, sampled=0.3)
    part = replace(evidence(of(OURS[:1_500]), large), distance=60, shared=5, sampled=0.3)
    assert part.where is not None
    scattered = replace(part.where, reach=4.0)
    assert verdict(part) == "near_duplicate"
    assert verdict(replace(pair, where=scattered)) == "none"
    assert are_joined(replace(pair, where=scattered, shared=16))


def test_few_hashes_suffice_if_they_are_equally_far_apart_in_both_books() -> None:
    pair = replace(evidence(of(OURS[3_000:4_500]), of(OURS)), distance=60, shared=2, sampled=0.3)
    assert pair.where is not None
    assert pair.where.agreement > 0.95
    assert verdict(pair) == "near_duplicate"
    assert verdict(replace(pair, where=replace(pair.where, agreement=0.8))) == "none"
    assert verdict(replace(pair, where=None)) == "none"
    assert verdict(replace(pair, sampled=0.2)) == "none"
