"""Signatures by cosine with the parts of a reference string (Mohammadi and Nikoukaran 2018, IV).

A reference is a concatenated list of 3-grams, cut into parts of equal length in characters, as published. A
part may cut a 3-gram, and includes 3-grams across the boundary of two list entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from research.cosine.letter_grams import GRAMS, SIZE, SYMBOLS, Grams, Rows, cosines, grams_of

REGION = 2_000
"""Number of 3-grams in a region of the list by frequency, as published."""
VALUE_BYTES = 8
"""Bytes per part, by the printed 240 to 480 bytes per signature of 30 and 60 parts."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A list of 3-grams."""

    name: str
    grams: Grams

    @property
    def most_parts(self) -> int:
        """Return the number of parts with three characters each."""
        return int(self.grams.size)

    def signatures(self, columns: Rows, parts: int) -> Rows:
        """Return the cosine of each text with each part, (texts, parts).

        `columns` are the texts' 3-gram counts at length 1, (19,683, texts).
        """
        spelt = np.stack([self.grams // SYMBOLS**2, self.grams // SYMBOLS % SYMBOLS, self.grams % SYMBOLS])
        string = spelt.T.reshape(-1)
        bounds = np.round(np.linspace(0, string.size, parts + 1)).astype(int)
        values = np.zeros((columns.shape[1], parts), np.float32)
        for part in range(parts):
            grams, counts = np.unique(grams_of(string[bounds[part] : bounds[part + 1]]), return_counts=True)
            if grams.size:
                weights = (counts / np.linalg.norm(counts)).astype(np.float32)
                values[:, part] = weights @ columns[grams]
        return values

    def similarities(self, columns: Rows, parts: int) -> Rows:
        """Return the cosine of every pair of signatures, (texts, texts); 0 for a signature of zeros."""
        return cosines(self.signatures(columns, parts))


def letter_grams() -> Grams:
    """Return the 17,576 3-grams without a space, in alphabetical order."""
    numbers = np.arange(GRAMS)
    return numbers[(numbers % SYMBOLS > 0) & (numbers // SYMBOLS % SYMBOLS > 0) & (numbers // SYMBOLS**2 > 0)]


def by_frequency(counts: Rows) -> Grams:
    """Return the letter 3-grams of the texts, most frequent first, then alphabetically."""
    grams = letter_grams()
    frequency = counts.sum(axis=0)[grams]
    order = np.lexsort((grams, -frequency))
    return np.asarray(grams[order][frequency[order] > 0])


def rarest(counts: Rows, size: int) -> Grams:
    """Return at most `size` letter 3-grams by rising numbers of texts, then by frequency, then by letters.

    This interprets "information gain" in IV, which has no formula: frequency one, in a single document.
    """
    grams = letter_grams()
    frequency = counts.sum(axis=0)[grams]
    documents = np.count_nonzero(counts, axis=0)[grams]
    order = np.lexsort((grams, frequency, documents))
    return np.asarray(grams[order][frequency[order] > 0][:size])


def references(counts: Rows) -> Sequence[Reference]:
    """Return the references of figures 1 to 18, with the 3-gram frequencies of these counts."""
    occurring = by_frequency(counts)
    regions = [
        Reference(f"{start} to {start + REGION} by frequency", occurring[start : start + REGION])
        for start in range(0, 4 * REGION, REGION)
    ]
    rare = [Reference(f"rarest {size}", rarest(counts, size)) for size in (1_000, 1_500, 2_000)]
    usable = [each for each in (*regions, *rare) if each.grams.size >= SIZE]
    return (Reference("all 3-grams", letter_grams()), Reference("3-grams that occur", occurring), *usable)
