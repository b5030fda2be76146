"""A model of the fingerprints of a large library, fitted to the corpus.

Bit j of a book of language L is 1 exactly if s·μ_Lj + (Λz)_j + u_j·e_j > 0, with z, e standard normal. μ is
how a language pulls the bit (long books of one language resemble each other), s (mean 1) how strongly it
pulls this book, Λ how bits go together beyond that. It is fitted by moments. μ comes from the share of works
whose bit is set, less the spread that so few works show by chance. Λ comes from the leading eigenvectors of
the correlation of bits among works. `fingerprint_model.json` keeps the outcome, so a simulation needs no
corpus.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from app.core.model import Sketch

BITS = 128
BANDS = 8
_RANK = 8
_PULL_SPREAD = 0.35  # standard deviation of s; fitted by eye to the distances of English books
_EXTREME = 0.02  # no bit is taken to be surer than this
_QUANTILES = 65

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

    def save(self, path: Path = KEPT_AS) -> None:
        """Write the model as JSON."""
        fields = {
            "languages": list(self.languages),
            "shares": np.round(self.shares, 5).tolist(),
            "means": np.round(self.means, 3).tolist(),
            "loadings": np.round(self.loadings, 3).tolist(),
            "shingle_counts": np.round(self.shingle_counts).tolist(),
            "words_per_shingle": round(self.words_per_shingle, 4),
            "characters_per_word": round(self.characters_per_word, 3),
        }
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items())
        path.write_text(f"{{{lines}}}\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path = KEPT_AS) -> "LibraryModel":
        """The model that `save` wrote."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        arrays = {name: np.array(fields[name]) for name in ("shares", "means", "loadings", "shingle_counts")}
        arrays["shares"] /= arrays["shares"].sum()
        return cls(**(fields | arrays))


def fit(sketches: Sequence[Sketch], works: Sequence[str], languages: Sequence[str]) -> LibraryModel:
    """The model of these books; every work counts once, however many books it has."""
    bits = np.stack([_bits(sketch) for sketch in sketches])
    _, work, sizes = np.unique(works, return_inverse=True, return_counts=True)
    weights = 1 / sizes[work]
    names, spoken = np.unique(languages, return_inverse=True)
    means = np.zeros((len(names), BITS))
    residuals = np.zeros((len(bits), BITS))
    for number in range(len(names)):
        here = spoken == number
        share = np.average(bits[here], axis=0, weights=weights[here])
        how_many = np.unique(work[here]).size
        likely = np.clip(0.5 + _shrink(share, how_many) * (share - 0.5), _EXTREME, 1 - _EXTREME)
        means[number] = [NormalDist().inv_cdf(each) for each in likely]
        residuals[here] = (bits[here] - share) / np.sqrt(likely * (1 - likely))
    counts = np.array([sketch.minhash.shingle_count for sketch in sketches if sketch.minhash is not None])
    words = np.array([sketch.word_count for sketch in sketches if sketch.minhash is not None])
    characters = np.array([sketch.character_count for sketch in sketches if sketch.minhash is not None])
    return LibraryModel(
        languages=names.tolist(),
        shares=np.bincount(spoken, weights) / weights.sum(),
        means=means,
        loadings=_loadings(residuals, weights),
        shingle_counts=np.quantile(counts, np.linspace(0, 1, _QUANTILES)),
        words_per_shingle=max(1.0, float(words.sum() / counts.sum())),
        characters_per_word=float(np.median(characters / words)),
    )


def _bits(sketch: Sketch) -> NDArray[np.uint8]:
    assert sketch.fingerprint is not None
    return np.unpackbits(np.frombuffer(sketch.fingerprint.bits, dtype=np.uint8))


def _shrink(share: Floats, works: int) -> float:
    """The part of the spread of the bits' shares that is not chance, as a factor for their deviation from
    1/2."""
    if works < 2:
        return 0.0
    by_chance = float(np.mean(share * (1 - share))) / (works - 1)
    return float(np.sqrt(max(0.0, 1 - by_chance / float(share.var()))))


def _loadings(residuals: Floats, weights: Floats) -> Floats:
    together = (residuals * weights[:, None]).T @ residuals
    scale = np.sqrt(np.maximum(np.diag(together), 1e-9))  # a bit that no work differs in goes with none
    # For a Gaussian cut at its middle: the correlation of the bits is (2/π)·arcsin of that behind them.
    behind = np.sin(np.pi / 2 * np.clip(together / np.outer(scale, scale), -1, 1))
    values, vectors = np.linalg.eigh(behind)
    leading = np.argsort(values)[::-1][:_RANK]
    loadings: Floats = vectors[:, leading] * np.sqrt(np.maximum(values[leading] - 1, 0))
    return loadings


@dataclass(frozen=True, slots=True)
class Spread:
    """The distances of fingerprints of unrelated books."""

    mean: float  # of the distances of pairs, bits
    deviation: float
    within: dict[int, float]  # share of pairs within so many bits
    largest_bucket: float  # share of the books
    sharing: Sequence[float]  # share of pairs with a band in common but for 0, 1, 2 bits


def spread(fingerprints: NDArray[np.uint8], works: NDArray[np.int64]) -> Spread:
    """Over all pairs of different works; fingerprints (n, 16)."""
    bands = np.ascontiguousarray(fingerprints).view(np.uint16)
    sharing = np.zeros(3)
    at = np.zeros(BITS + 1)
    for row in range(len(bands) - 1):
        unrelated = np.flatnonzero(works[row + 1 :] != works[row]) + row + 1
        differing = np.bitwise_count(bands[unrelated] ^ bands[row])
        closest = differing.min(axis=1, initial=16)
        sharing += [(closest <= flips).sum() for flips in range(3)]
        at += np.bincount(differing.sum(axis=1), minlength=BITS + 1)
    pairs = at.sum()
    mean = float(at @ np.arange(BITS + 1) / pairs)
    deviation = float(np.sqrt(at @ (np.arange(BITS + 1) - mean) ** 2 / pairs))
    largest = max(float(np.bincount(bands[:, band]).max()) for band in range(BANDS)) / len(bands)
    within = {d: float(at[: d + 1].sum() / pairs) for d in (23, 31, 40)}
    return Spread(mean, deviation, within, largest, [float(each / pairs) for each in sharing])
