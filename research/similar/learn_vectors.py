"""Learn the weights of vectors: `python -m research.similar.learn_vectors`.

The program reads the corpus without books that lack a free licence, and writes the weights file of the
package. No step is random, so equal books give equal bytes.
"""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import app.services
from bookprint_core.recipe import VECTORS
from bookprint_core.vectors import RAREST, VectorWeights, pack_weights
from research.similar.works import Book, corpus_works

FEWEST_BOOKS = 2
"""Minimum number of books with a known word."""
RARE = 1 / 60
"""Share of a language's books with a word at or below which the word has the highest rarity."""


def learn(books: Sequence[Book]) -> VectorWeights:
    """Learn the weights from these books."""
    return VectorWeights(*word_rarity(books))


def word_rarity(books: Sequence[Book]) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return the known words in the order of their hashes, and their rarity, 0 to 255.

    Rarity is the logarithm of the share of a language's books with a word, in the language with the highest
    share. The common words of every language therefore weigh little.
    """
    hashes, counts = np.unique(np.concatenate([book.words.hashes for book in books]), return_counts=True)
    known = hashes[counts >= FEWEST_BOOKS]
    highest = np.zeros(known.size)
    for language, size in Counter(book.language for book in books).items():
        having = np.zeros(known.size)
        for book in books:
            if book.language == language:
                having += np.isin(known, book.words.hashes, assume_unique=True)
        highest = np.maximum(highest, having / (size + 1))
    rarity = np.rint(RAREST * np.log(np.maximum(highest, RARE)) / math.log(RARE))
    return known, rarity.astype(np.uint8)


def main() -> None:
    """Learn from the free books of the corpus, and write the file."""
    books = [book for book in corpus_works() if book.free]
    weights = learn(books)
    data = pack_weights(weights)
    path = Path(app.services.__path__[0]) / "weights" / f"{VECTORS}.bin"
    path.write_bytes(data)
    languages = Counter(book.language for book in books)
    print(f"{weights.hashes.size:,} words of {len(books)} works, {len(data):,} bytes: {path}")
    print(", ".join(f"{language} {count}" for language, count in languages.most_common()))


if __name__ == "__main__":
    main()
