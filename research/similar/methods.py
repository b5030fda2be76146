"""Methods to make a vector of a book, learned from some books and applied to others."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bookprint_core.vectors import SIGNS, VectorWeights, vector_of, word_weights
from research.similar.learn_vectors import word_rarity
from research.similar.word_vectors import learn_word_vectors, mean_vectors
from research.similar.works import Book

Rows = NDArray[np.float32]
"""Rows of length 1, (books, dimensions)."""

AVERAGES = "mean of word vectors learnt here"
"""Reeve's method (2017) with vectors learned from the corpus instead of spaCy's."""
OURS = "tf-idf, 1,024 signs (in use)"
UNPROJECTED = "tf-idf in 65,536 cells"

_CELLS = 1 << 16


def unit(rows: NDArray[np.floating]) -> Rows:
    """Return the rows at length 1; rows of zeros do not change."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def representations(learn_from: Sequence[Book], books: Sequence[Book]) -> Mapping[str, Rows]:
    """Return the rows of all books by method, in the order of the table."""
    languages = {book.language for book in books}
    of_them = [book for book in learn_from if book.language in languages]
    return {
        **_averages(of_them, books),
        **_weighted(learn_from, books),
    }


def _averages(learn_from: Sequence[Book], books: Sequence[Book]) -> Mapping[str, Rows]:
    learnt = learn_word_vectors(learn_from)
    smooth = mean_vectors(learnt, books, smoothed=True)
    own_smooth = mean_vectors(learnt, learn_from, smoothed=True)
    return {
        AVERAGES: unit(mean_vectors(learnt, books)),
        "SIF weights, first direction out": unit(_without_first(smooth, books, own_smooth, learn_from)),
    }


def _without_first(rows: Rows, books: Sequence[Book], own: Rows, learn_from: Sequence[Book]) -> Rows:
    out = rows.copy()
    for language in {book.language for book in learn_from}:
        first = np.linalg.svd(own[[book.language == language for book in learn_from]], full_matrices=False)[
            2
        ][0]
        mine = [book.language == language for book in books]
        out[mine] -= np.outer(out[mine] @ first, first)
    return out


def _weighted(learn_from: Sequence[Book], books: Sequence[Book]) -> Mapping[str, Rows]:
    hashes, rarity = word_rarity(learn_from)
    weights = VectorWeights(hashes, rarity)
    full, own = cells(books, weights), cells(learn_from, weights)
    semantic = full @ singular_directions(own, 128)
    projected = full @ np.random.default_rng(1).standard_normal((_CELLS, 128), dtype=np.float32)
    return {
        UNPROJECTED: full,
        "LSA 128": unit(semantic),
        "128 random projections, 8 bits each": unit(eight_bits(projected)),
        OURS: signs(books, weights),
    }


def cells(books: Sequence[Book], weights: VectorWeights) -> Rows:
    """Return the word weights of `tfidf-simhash1024-v1` before the projection, by cell of the hash."""
    return unit(_folded(books, [word_weights(book.words, weights).astype(np.float64) for book in books]))


def _folded(books: Sequence[Book], values: Sequence[NDArray[np.float64]]) -> Rows:
    rows = np.zeros((len(books), _CELLS), np.float32)
    for row, book, value in zip(rows, books, values, strict=True):
        row += np.bincount(book.words.hashes >> 16, value, _CELLS)
    return rows


def singular_directions(rows: Rows, most: int) -> Rows:
    """Return the first right singular vectors, (dimensions, directions), at most one per book."""
    squares, left = np.linalg.eigh((rows @ rows.T).astype(np.float64))
    sound = np.flatnonzero(squares > 1e-6 * squares[-1])[::-1][:most]
    return np.asarray(rows.T @ (left[:, sound] / np.sqrt(squares[sound])).astype(np.float32))


def estimated_cosine(products: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the cosine from products of rows of signs: 1 less twice the share of differing signs."""
    return np.cos(np.pi * (1 - products.astype(np.float64)) / 2)


def eight_bits(rows: Rows) -> Rows:
    """Return the rows in whole numbers from -127 to 127."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    return np.asarray(np.rint(127 * rows / np.where(largest > 0, largest, 1)))


def signs(books: Sequence[Book], weights: VectorWeights) -> Rows:
    """Return the product's vectors as rows of signs; zeros for a book without a vector."""
    vectors = [vector_of(book.words, weights) for book in books]
    nothing = np.zeros((1, SIGNS), np.float32)
    return np.concatenate([nothing if vector is None else unit_signs(vector[None]) for vector in vectors])


def unit_signs(vectors: NDArray[np.uint8]) -> Rows:
    """Return the signs of vectors (n, 128) as rows of length 1, (n, 1024)."""
    signs = np.unpackbits(vectors, axis=1).astype(np.float32)
    return np.asarray((2 * signs - 1) / np.sqrt(np.float32(signs.shape[1])))
