"""The default fingerprint recipe beside its neighbours: other Δ, least count and n-gram lengths.

One draw of the 128 signs moves these figures by a point or two. So every text is signed with 512 bits, and
each figure is the mean over the four fingerprints of 128 bits that lie in them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.core.recipe import DEFAULT_FINGERPRINT, FINGERPRINT_RECIPES, FingerprintRecipe, Lengths
from app.core.signatures.simhash import simhash
from app.core.text.content import content_from_text
from app.core.text.normal_form import NormalText, normalise
from bench.data.hard_set import hard_set, one_per_work
from bench.harness.corpus import corpus_books, corpus_folder, corpus_pairs
from bench.harness.f1_curves import Numbers, Words, curve
from bench.harness.report import Cell, Section, Table
from bench.quality.real_pairs import labels

SEED = 20261120
WORKS = 80
CHUNKS_PER_WORK = 3
DRAWS = 4


def variants() -> Mapping[str, FingerprintRecipe]:
    """The default first, then one change at a time."""
    default = replace(FINGERPRINT_RECIPES[DEFAULT_FINGERPRINT], bits=128 * DRAWS)
    lengths = default.lengths
    return {
        "default": default,
        **{f"Δ = {window}": replace(default, window=window) for window in (250, 500, 700, 1400, 2000, 4000)},
        **{f"t ≥ {count}": replace(default, min_count=count) for count in (2, 4, 5, 8)},
        "Δ = 500, t ≥ 5": replace(default, window=500, min_count=5),
        "3-grams": replace(default, lengths=_alphabetic(lengths, 3)),
        "5-grams": replace(default, lengths=_alphabetic(lengths, 5)),
        "Han and Kana 3-grams": replace(default, lengths=replace(lengths, dense=3)),
        "Han and Kana 4-grams": replace(default, lengths=replace(lengths, dense=4)),
        "tf": replace(FINGERPRINT_RECIPES["tf-simhash128-v1"], bits=128 * DRAWS),
    }


def _alphabetic(lengths: Lengths, count: int) -> Lengths:
    return replace(lengths, alphabetic=count, unspaced=count)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Every pair of real books: rows of the first and second, and what the pair is."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    label: NDArray[np.str_]

    def distances(self, words: Words, label: str) -> Numbers:
        """Bits between the books of the pairs that are so labelled."""
        of = self.label == label
        between: Numbers = np.bitwise_count(words[self.first[of]] ^ words[self.second[of]]).sum(
            axis=1, dtype=np.int64
        )
        return between


def run(out_dir: Path) -> Section:
    """Sign a part of the hard set and all real books under every variant; some minutes."""
    folder = corpus_folder()
    books = list(corpus_books(folder))
    works = one_per_work(books)
    chosen = [works[i] for i in np.random.default_rng(SEED).permutation(len(works))[:WORKS]]
    versions = list(hard_set(chosen, CHUNKS_PER_WORK, SEED))
    hard = [normalise(content_from_text(version.text)) for version in versions]
    numbers = np.array([version.book for version in versions], dtype=np.int64)
    real = [normalise(book.content) for book in books]
    pairs = Pairs(*np.triu_indices(len(books), 1), labels(books, corpus_pairs(folder)))
    rows = [_row(name, recipe, hard, numbers, real, pairs) for name, recipe in variants().items()]
    return Section(
        title="Neighbours of the default fingerprint recipe",
        command="python -m bench recipe_variants",
        tables=[
            Table(
                headers=[
                    "recipe",
                    "hard set, F1",
                    "at d",
                    "last d without a stranger",
                    "same_work found there",
                    "same_work d ≤ 15",
                    "d ≤ 23",
                    "d ≤ 28",
                    "strangers d ≤ 28",
                ],
                rows=rows,
                caption=f"{len(versions):,} hard texts ({WORKS} works, seed {SEED}), {len(books)} real books",
            )
        ],
        notes=[f"Means of {DRAWS} draws of signs; strangers are unrelated books of any language."],
    )


def _row(
    name: str,
    recipe: FingerprintRecipe,
    hard: Sequence[NormalText],
    numbers: Numbers,
    real: Sequence[NormalText],
    pairs: Pairs,
) -> list[Cell]:
    hard_words, real_words = _sign(hard, recipe), _sign(real, recipe)
    figures = [
        (*_hard_figures(hard_words[draw], numbers), *_real_figures(real_words[draw], pairs))
        for draw in range(DRAWS)
    ]
    return [name, *(float(value) for value in np.mean(figures, axis=0))]


def _hard_figures(words: Words, numbers: Numbers) -> tuple[float, float]:
    f1 = curve(words, numbers)
    return float(f1.f1[f1.best]), f1.best


def _real_figures(words: Words, pairs: Pairs) -> tuple[float, ...]:
    copies = pairs.distances(words, "same_work")
    unrelated = np.concatenate([pairs.distances(words, label) for label in ("unrelated", "other language")])
    last = int(unrelated.min()) - 1
    shares = [float((copies <= d).mean()) for d in (last, 15, 23, 28)]
    return (last, *shares, float((unrelated <= 28).sum()))


def _sign(texts: Sequence[NormalText], recipe: FingerprintRecipe) -> Words:
    """The fingerprints of each draw, (draws, texts, 2)."""
    signed = [simhash(text, recipe) for text in texts]
    bits = b"".join(bytes(recipe.bits // 8) if each is None else each.bits for each in signed)
    return np.frombuffer(bits, dtype=np.uint64).reshape(len(texts), DRAWS, 2).transpose(1, 0, 2).copy()
