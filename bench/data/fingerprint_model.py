"""A model of the fingerprints of a large library, fitted to the corpus.

Bit j of a book of language L is 1 exactly if s·μ_Lj + (Λz)_j + u_j·e_j > 0, with z, e standard normal. μ is
how a language pulls the bit (long books of one language resemble each other), s (mean 1) how strongly it
pulls this book, Λ how bits go together beyond that. It was fitted by moments, one book of each work. μ comes
from the share of works whose bit is set, less the spread that so few works show by chance. Λ comes from the
leading eigenvectors of the correlation of bits among works. `fingerprint_model.json` keeps the outcome.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BITS = 128
_PULL_SPREAD = 0.35  # standard deviation of s; fitted by eye to the distances of English books

KEPT_AS = Path(__file__).with_name("fingerprint_model.json")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class LibraryModel:
    """A model of the fingerprints of a library and the lengths of its books."""

    languages: Sequence[str]
    shares: Floats  # (languages,) of the works; sums to 1
    means: Floats  # (languages, 128): μ
    loadings: Floats  # (128, rank): Λ
    shingle_counts: Floats  # quantiles of the distinct shingles of a book, evenly spaced from 0 to 1
    words_per_shingle: float  # at least 1
    characters_per_word: float

    def draw(self, rng: np.random.Generator, n: int) -> NDArray[np.uint8]:
        """Fingerprints of n unrelated books, (n, 16)."""
        language = rng.choice(len(self.languages), n, p=self.shares)
        pull = 1 + _PULL_SPREAD * rng.standard_normal((n, 1), dtype=np.float32)
        votes = self.means.astype(np.float32)[language] * pull
        votes += rng.standard_normal((n, self.loadings.shape[1]), dtype=np.float32) @ self.loadings.T.astype(
            np.float32
        )
        own = np.sqrt(np.clip(1 - (self.loadings**2).sum(axis=1), 0.05, 1)).astype(np.float32)
        votes += own * rng.standard_normal((n, BITS), dtype=np.float32)
        return np.packbits(votes > 0, axis=1)

    def draw_shingle_counts(self, rng: np.random.Generator, n: int) -> Floats:
        """The number of distinct shingles of each of n books, (n,)."""
        return np.interp(rng.random(n), np.linspace(0, 1, self.shingle_counts.size), self.shingle_counts)

    @classmethod
    def load(cls) -> "LibraryModel":
        """The model that was fitted to the corpus."""
        fields = json.loads(KEPT_AS.read_text(encoding="utf-8"))
        arrays = {name: np.array(fields[name]) for name in ("shares", "means", "loadings", "shingle_counts")}
        arrays["shares"] /= arrays["shares"].sum()
        return cls(**(fields | arrays))
