"""Word vectors learned from the corpus, and books as the mean of their words' vectors (Reeve 2017).

The vectors of spaCy, which Reeve uses, are not available here. Ours are learned by the classical method:
positive pointwise mutual information within four words, then a truncated singular value decomposition (Levy,
Goldberg and Dagan 2015). A vector has 300 numbers, for the 4,096 most frequent words of each language.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from bookprint_core.jit import Codes, compiled
from bookprint_core.vector_kernels import NO_WORD, next_word
from research.similar.works import Book

VOCABULARY = 4096
DIMENSIONS = 300
REACH = 4
"""Number of context words on either side."""
SMOOTHING = 1e-3
"""Constant a of SIF weights a / (a + p) (Arora, Liang and Ma 2017)."""

Rows = NDArray[np.float32]


@compiled
def _co_occurrences(
    text: Codes, size: int, kinds: NDArray[np.uint8], hashes: NDArray[np.uint32], counts: NDArray[np.float32]
) -> None:
    recent = np.full(REACH, -1, dtype=np.int64)
    place = 0
    turn = 0
    while True:
        word, place = next_word(text, size, kinds, place)
        if word == NO_WORD:
            break
        at = np.searchsorted(hashes, np.uint32(word))
        number = at if at < hashes.size and hashes[at] == word else -1
        if number >= 0:
            for other in recent:
                if other >= 0:
                    counts[number, other] += 1
                    counts[other, number] += 1
        recent[turn % REACH] = number
        turn += 1


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Vectors of one language's frequent words."""

    hashes: NDArray[np.uint32]  # (words,) ascending
    shares: NDArray[np.float64]  # (words,) share of all words in the learning books
    vectors: Rows  # (words, dimensions)

    def mean(self, book: Book, *, smoothed: bool) -> Rows:
        """Return the mean over a book's words, unknown words as zeros, with SIF weights if `smoothed`."""
        places = np.minimum(np.searchsorted(self.hashes, book.words.hashes), self.hashes.size - 1)
        known = self.hashes[places] == book.words.hashes
        weights = book.words.counts[known].astype(np.float64)
        if smoothed:
            weights *= SMOOTHING / (SMOOTHING + self.shares[places[known]])
        return np.asarray(weights @ self.vectors[places[known]] / book.words.words, dtype=np.float32)


def learn_word_vectors(books: Sequence[Book]) -> Mapping[str, WordVectors]:
    """Learn word vectors for every language of these books."""
    languages = sorted({book.language for book in books})
    return {each: _of_language([book for book in books if book.language == each]) for each in languages}


def _of_language(books: Sequence[Book]) -> WordVectors:
    every = np.concatenate([book.words.hashes for book in books])
    hashes, inverse = np.unique(every, return_inverse=True)
    totals = np.bincount(inverse, np.concatenate([book.words.counts for book in books]))
    kept = np.sort(np.argsort(-totals, kind="stable")[:VOCABULARY])
    counts = np.zeros((kept.size, kept.size), np.float32)
    for book in books:
        _co_occurrences(book.text.codes, book.text.size, book.text.kinds, hashes[kept], counts)
    margin = np.maximum(counts.sum(axis=0), 1)
    counts *= margin.sum() / margin[:, None]
    counts /= margin**0.75 / (margin**0.75).sum() * margin.sum()
    information = np.log(np.maximum(counts, 1))
    left, values, _ = randomized_svd(
        information, min(DIMENSIONS, kept.size - 1), n_iter=2, n_oversamples=8, random_state=0
    )
    vectors = np.zeros((kept.size, DIMENSIONS), np.float32)
    vectors[:, : values.size] = left * np.sqrt(values)
    return WordVectors(hashes[kept], totals[kept] / totals.sum(), vectors)


def mean_vectors(learnt: Mapping[str, WordVectors], books: Sequence[Book], *, smoothed: bool = False) -> Rows:
    """Return each book as the mean of its words' vectors, (books, 300); zeros for an unlearned language."""
    nothing = np.zeros(DIMENSIONS, np.float32)
    return np.stack(
        [
            learnt[book.language].mean(book, smoothed=smoothed) if book.language in learnt else nothing
            for book in books
        ]
    )
