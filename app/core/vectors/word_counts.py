"""The words of a book, counted by their hashes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.text.normal_form import NormalText

WINDOW = 800
"""An occurrence at most so many words after the previous one is a near repeat."""

_FIRST_SLOTS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class WordCounts:
    """The different words of a text in the order of their hashes; equal hashes are one word."""

    hashes: NDArray[np.uint32]  # (different,)
    counts: NDArray[np.int64]  # (different,)
    bursting: NDArray[np.bool_]  # (different,) more near repeats than evenly spread words have
    words: int  # in all


def word_counts(text: NormalText) -> WordCounts:
    """The counts of a text's words.

    In scripts that put no spaces between words, each pair of neighbouring characters is a word.
    """
    from app.core.vectors import kernels

    slots = np.zeros((_FIRST_SLOTS, 4), dtype=np.int64)
    while True:
        words, different = kernels.count_words(text.codes, text.size, text.kinds, WINDOW, slots)
        if 2 * different < len(slots):
            break
        slots = np.zeros((4 * len(slots), 4), dtype=np.int64)
    rows = slots[slots[:, 1] > 0]
    rows = rows[np.argsort(rows[:, 0])]
    bursting = np.empty(len(rows), dtype=np.bool_)
    kernels.bursts(rows[:, 1].copy(), rows[:, 2].copy(), WINDOW, max(words, 1), bursting)
    return WordCounts(rows[:, 0].astype(np.uint32), rows[:, 1].copy(), bursting, words)
