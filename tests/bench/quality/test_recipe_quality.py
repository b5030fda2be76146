"""The default recipe and the verification rule on real books; figures: `python -m bench fingerprints`."""

from pathlib import Path

import numpy as np
import pytest

from app.synthesis.noise import corrupt
from bench.data.hard_set import hard_set, one_per_work, sign_all
from bench.harness.corpus import CorpusBook, corpus_books
from bench.harness.f1_curves import fit
from bookprint_core.matching.verification import are_joined, evidence
from bookprint_core.model import Content
from bookprint_core.signatures.sketch import sketch

SEED = 2
WORKS = 25
CHUNKS_PER_WORK = 6  # many chunks of few novels: as hard as the whole corpus, in a third of the time

pytestmark = [pytest.mark.corpus, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def books(corpus: Path) -> list[CorpusBook]:
    return list(corpus_books(corpus))


def test_gap_tells_noisy_chunks_of_one_novel_apart_where_term_frequency_does_not(
    books: list[CorpusBook],
) -> None:
    works = one_per_work(books)
    chosen = [works[i] for i in np.random.default_rng(SEED).permutation(len(works))[:WORKS]]
    signed = sign_all(hard_set(chosen, CHUNKS_PER_WORK, SEED), bits=128)
    f1 = {
        weighting: np.mean([half.f1 for half in fit(words, signed.books, signed.works, SEED)])
        for weighting, words in signed.words.items()
    }
    assert f1["gap"] >= 0.96
    assert f1["gap"] >= f1["tf"] + 0.10


def test_of_two_copies_with_one_wrong_letter_in_ten_nearly_all_are_found(books: list[CorpusBook]) -> None:
    rng = np.random.default_rng(SEED)
    found = []
    for book in books[::12]:
        this, other = (sketch(Content(corrupt(book.text, 0.10, rng), None)) for _ in range(2))
        found.append(are_joined(evidence(this, other)))
    assert np.mean(found) >= 0.98
