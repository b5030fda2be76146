"""The experiments of Vladimir et al. (2015), as small as they can be."""

from pathlib import Path

import pytest

from bookprint_core.index.records import NO_SAMPLE
from bookprint_core.matching.verification import evidence, is_near_duplicate
from bookprint_core.model import Entry, Fingerprint, FracMinHash
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_SAMPLE
from research.identifiers import (
    identifiers_verified,
)
from research.identifiers.candidate_pairs import candidate_pairs
from research.identifiers.paper_sets import SMALL, SignedSet, signed_set

pytestmark = [pytest.mark.corpus, pytest.mark.timeout(240)]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOKPRINT_BENCH_CACHE", str(tmp_path_factory.mktemp("sets")))
        yield


@pytest.fixture(scope="module")
def texts(corpus: Path, cache: object) -> SignedSet:
    return signed_set(SMALL)


def entry(texts: SignedSet, row: int) -> Entry:
    assert texts.has_gap[row]
    assert texts.levels[row] != NO_SAMPLE
    start = int(texts.sample_ends[row - 1]) if row else 0
    sample = FracMinHash(DEFAULT_SAMPLE, texts.sample[start : texts.sample_ends[row]], int(texts.levels[row]))
    return Entry(row, Fingerprint(DEFAULT_FINGERPRINT, texts.gap[row].tobytes()), None, sample)


def test_candidates_and_verdicts_are_those_of_a_plain_comparison(texts: SignedSet) -> None:
    reach, least = 36, 2
    pairs = candidate_pairs(texts, reach, least)
    verdicts = identifiers_verified.accepted(texts, pairs)
    entries = [entry(texts, row) for row in range(80)]
    expected = {}
    for i, this in enumerate(entries):
        for j, other in enumerate(entries):
            shown = evidence(this, other)
            if i != j and (shown.distance <= reach or shown.shared >= least):
                expected[i, j] = (shown.distance, shown.shared, is_near_duplicate(shown))
    here = (pairs.query < 80) & (pairs.other < 80)
    columns = (pairs.query, pairs.other, pairs.distance, pairs.shared, verdicts)
    got = {(i, j): (d, s, v) for i, j, d, s, v in zip(*(c[here].tolist() for c in columns), strict=True)}
    assert got == expected
