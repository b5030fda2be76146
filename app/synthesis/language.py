"""A made-up language: one vocabulary for all books, its words as unequally common as a real language's.

The word of rank r has a probability in proportion to 1 / (r + 2.7) (Zipf-Mandelbrot). A text moves between a
few modes of writing (talk, narration, description), each of which prefers some words. That gives every book
of the language the slow swings of real prose.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ONSETS = "- t n s h r l d m th w c b st f p g br ch v sh tr pr dr gr j"
VOWELS = "e a o i u ea ou ai"
CODAS = "- - - n r s l t nd m st th rd ck"
"""Sounds of a syllable, the more common ones first; a hyphen stands for none."""

_SYLLABLE = tuple(tuple(sounds.replace("-", "").split(" ")) for sounds in (ONSETS, VOWELS, CODAS))


VOCABULARY = 12_000
COMMON = 150
"""So many of the most common words have one syllable."""
SYLLABLES = (0.2, 0.5, 0.25, 0.05)
"""The shares of the other words that have one, two, three, four."""
MODES = 4
MODE_SPREAD = 1.2
"""Standard deviation of the log of a word's preference in one mode."""


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """Words in order of rank, and how likely each is in each mode."""

    words: tuple[str, ...]
    likelihoods: NDArray[np.float64]  # (modes, words), each row sums to 1


def word(rng: np.random.Generator, syllables: int) -> str:
    """A pronounceable word of so many syllables."""
    parts = []
    for _ in range(syllables):
        for sounds in _SYLLABLE:
            parts.append(sounds[int(len(sounds) * rng.random() ** 1.4)])
    return "".join(parts)


@lru_cache(maxsize=4)
def language(seed: int = 0) -> Language:
    """The language of this seed; books of one language share its vocabulary."""
    rng = np.random.default_rng([0x1A06, seed])
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        syllables = 1 if len(words) < COMMON else rng.choice(len(SYLLABLES), p=SYLLABLES) + 1
        words.setdefault(word(rng, int(syllables)))
    ranks = np.arange(VOCABULARY)
    zipf = 1 / (ranks + 2.7)
    preferences = np.exp(MODE_SPREAD * rng.standard_normal((MODES, VOCABULARY)))
    likelihoods = zipf * preferences
    return Language(tuple(words), likelihoods / likelihoods.sum(axis=1, keepdims=True))
