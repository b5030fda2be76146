"""Model of the fingerprints of a large library, fitted to the corpus and to distances of real strangers.

Bit j of a book of language L is 1 exactly if s·μ_Lj + √k·g_j + √(1-k)·((Λz)_j + u_j·e_j) > 0, with z, e
standard normal. μ is the bias of a language on the bit (long books of one language resemble each other) and s
its strength for this book. Λ is the remaining correlation of bits. g is common to the books of one author, or
of one journal, where it drifts with the volumes; k is its share.

μ and Λ were fitted to the corpus by moments, with one book of each work. μ comes from the share of works
whose bit is set, less the random spread of so few works. Λ comes from the leading eigenvectors of the
correlation of bits among works. s grows with the length. It was fitted to the mean and the spread of the
distances of 2,539 English works (BOOKPRINT_STRANGERS), and in other languages to their means at 50,000 to
200,000 words. It varies more in Arabic, where books on law and grammar are nearer to each other. k and the
drift were fitted to books of one author and to 329 volumes of one journal. `fingerprint_model.json` contains
the result.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BITS = 128
_AUTHOR_WORKS, _AUTHOR_KIN = 4, 0.1  # number of works of one author; their k
_JOURNAL_SHARE, _JOURNAL_KIN = 0.016, 0.6  # share of a journal's volumes among all works; their k
_JOURNAL_DRIFT = 200.0  # volumes after which g correlates by 1/e
_JOURNAL_LANGUAGE = "de"
_JOURNAL_WORDS = 166_000, 264_000  # minimum and maximum words of a volume

KEPT_AS = Path(__file__).with_name("fingerprint_model.json")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Works:
    """Works of a library, one book per work."""

    fingerprints: NDArray[np.uint8]  # (n, 16)
    shingle_counts: Floats  # (n,)


@dataclass(frozen=True, slots=True, eq=False)
class LibraryModel:
    """A model of the fingerprints of a library and the lengths of its books."""

    languages: Sequence[str]
    shares: Floats  # (languages,) share of the works; sums to 1
    means: Floats  # (languages, 128): μ
    loadings: Floats  # (128, rank): Λ
    shingle_counts: Floats  # quantiles of the distinct shingles of a book, evenly spaced from 0 to 1
    lengths: Floats  # words, ascending
    pulls: Floats  # s at each of `lengths`
    language_pulls: Floats  # (languages,) factor of `pulls`
    pull_spreads: Floats  # (languages,) standard deviation of s, as a share of s
    words_per_shingle: float  # at least 1
    characters_per_word: float

    def draw(self, rng: np.random.Generator, n: int) -> Works:
        """Draw n works: the volumes of a journal, and works of authors with one language each."""
        author = np.arange(n) // _AUTHOR_WORKS
        language = rng.choice(len(self.languages), author[-1] + 1, p=self.shares)[author]
        counts = np.quantile(self.shingle_counts, rng.random(n))
        kin, common = np.full((n, 1), _AUTHOR_KIN), self._own(rng, author[-1] + 1)[author]
        volumes = round(_JOURNAL_SHARE * n)
        counts[:volumes] = rng.uniform(*_JOURNAL_WORDS, volumes) / self.words_per_shingle
        language[:volumes], kin[:volumes] = self.languages.index(_JOURNAL_LANGUAGE), _JOURNAL_KIN
        common[:volumes] = self._own(rng, volumes)
        kept = np.exp(-1 / _JOURNAL_DRIFT)
        for volume in range(1, volumes):
            common[volume] = kept * common[volume - 1] + np.sqrt(1 - kept**2) * common[volume]
        own = np.sqrt(kin) * common + np.sqrt(1 - kin) * self._own(rng, n)
        fingerprints = self.fingerprints(rng, language, counts * self.words_per_shingle, own)
        return Works(fingerprints, counts)

    def _own(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw the part of n books that Λ and e contribute, (n, 128)."""
        spread = np.sqrt(np.clip(1 - (self.loadings**2).sum(axis=1), 0.05, 1))
        common = rng.standard_normal((n, self.loadings.shape[1])) @ self.loadings.T
        own: Floats = common + spread * rng.standard_normal((n, BITS))
        return own

    def fingerprints(
        self, rng: np.random.Generator, language: NDArray[np.int64], words: Floats, own: Floats | None = None
    ) -> NDArray[np.uint8]:
        """Draw fingerprints for these language numbers and word counts; books without `own` are strangers."""
        own = self._own(rng, words.size) if own is None else own
        pull = np.interp(np.log2(words), np.log2(self.lengths), self.pulls) * self.language_pulls[language]
        pull *= 1 + self.pull_spreads[language] * rng.standard_normal(pull.size)
        return np.packbits(self.means[language] * pull[:, None] + own > 0, axis=1)

    @classmethod
    def load(cls) -> "LibraryModel":
        """Load the fitted model."""
        fields = json.loads(KEPT_AS.read_text(encoding="utf-8"))
        arrays = {name: np.array(value) for name, value in fields.items() if isinstance(value, list)}
        arrays["shares"] /= arrays["shares"].sum()
        return cls(**(fields | arrays | {"languages": fields["languages"]}))
