"""F1 of fingerprints by their features: characters 2 to 6, words 1 to 3 (Vladimir et al. 2015, section 5.1).

They tried n-grams of several sizes and of words, found four characters best, and printed no figures. One draw
of the 128 signs moves F1 by a point or two. So every text is signed with 256 bits, and each figure is the
mean over the two fingerprints of 128 bits that lie in them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.core.jit import U64, compiled
from app.core.recipe import (
    DEFAULT_MINHASH,
    DEFAULT_PAGES,
    FingerprintRecipe,
    Lengths,
    minhash_recipe,
    page_recipe,
)
from app.core.signatures.shingles import shingles
from app.core.signatures.simhash import simhash
from app.core.text.content import content_from_text
from app.core.text.normal_form import NormalText, normalise
from bench.data.paper_sets import SEED, canonical_books
from bench.data.signed_texts import studied_recipes
from bench.harness.corpus import CorpusBook
from bench.harness.f1_curves import Numbers, Words, fit
from bench.harness.processes import processes
from bench.harness.report import Cell, Section, Table
from research.identifiers.identifiers_length import (
    BOOKS,
    DERIVATIVES,
    PAPER_RATE,
    clustered,
    donors,
    texts_of,
)

DRAWS, BITS = 2, 128
STARTS = 20
"""Of k-means, for each draw."""
WEIGHTINGS = ("tf", "gap")


@dataclass(frozen=True, slots=True)
class Feature:
    """What is counted: n-grams of characters, or runs of words."""

    unit: Literal["characters", "words"]
    count: int

    @property
    def name(self) -> str:
        """As in a table."""
        return f"{self.count} {self.unit if self.count > 1 else 'word'}"


FEATURES = (
    *(Feature("characters", count) for count in range(2, 7)),
    *(Feature("words", count) for count in range(1, 4)),
)


def run(out_dir: Path) -> Section:
    """Sign a hundred books and their derivatives by eight kinds of features; some minutes."""
    return measure(BOOKS, FEATURES)


def measure(books: int, features: Sequence[Feature]) -> Section:
    """The table of these features."""
    chosen = canonical_books(books)
    words = signed(chosen, features)
    classes = np.repeat(np.arange(len(chosen)), DERIVATIVES + 1)
    rows: list[list[Cell]] = [
        [
            feature.name,
            *(cell for weighting in WEIGHTINGS for cell in _cells(words[feature, weighting], classes)),
        ]
        for feature in features
    ]
    headers = [
        f"{weighting}: {figure}"
        for weighting in WEIGHTINGS
        for figure in ("F1 within d", "d", "F1 of k-means")
    ]
    return Section(
        title="Vladimir et al. (2015): n-grams of characters and words",
        command="python -m research identifiers_ngrams",
        tables=[
            Table(
                ["features", *headers],
                rows,
                f"{len(chosen)} books, {DERIVATIVES} derivatives each, {PAPER_RATE:.0%} errors, {BITS} bits",
            )
        ],
        notes=[
            "The texts of `python -m research identifiers_length`. All figures are means over "
            f"{DRAWS} draws of the signs. F1 within d: mean over queries, d fitted on one half of the books "
            "and F1 taken on the other, both ways; the d shown is the mean of those fitted. k-means: "
            f"k = {len(chosen)}, {STARTS} starts, F1 of pairs. Of Han, Kana and Hangul half as many "
            "characters are taken, rounded down; of scripts without spaces one to three words are two, four "
            "and five characters. For gap, Δ is the same share of the text in words as in characters. "
            "Vladimir et al. found four characters best and characters better than words, without figures."
        ],
    )


def signed(books: Sequence[CorpusBook], features: Sequence[Feature]) -> Mapping[tuple[Feature, str], Words]:
    """The fingerprints of each book and its derivatives, (texts, 4) each, by feature and weighting."""
    with processes() as pool:
        texts = [book.text for book in books]
        work = partial(_sign_versions, tuple(features))
        signed = np.concatenate(list(pool.map(work, range(len(books)), texts, donors(books))))
    names = [(feature, weighting) for feature in features for weighting in WEIGHTINGS]
    return {name: np.ascontiguousarray(signed[:, place]) for place, name in enumerate(names)}


def _sign_versions(features: Sequence[Feature], number: int, text: str, donor: str) -> NDArray[np.uint64]:
    """(texts, features and weightings, 4)."""
    recipes = studied_recipes(DRAWS * BITS)
    return np.stack(
        [
            np.stack([fingerprint(normal, each, recipes[name]) for each in features for name in WEIGHTINGS])
            for version in texts_of(PAPER_RATE, number, text, donor)
            for normal in [normalise(content_from_text(version))]
        ]
    )


def fingerprint(text: NormalText, feature: Feature, recipe: FingerprintRecipe) -> NDArray[np.uint64]:
    """The simhash of a text by such features, as 64-bit words; zeros where the text is too short."""
    if feature.unit == "words":
        return word_simhash(text, feature.count, recipe)
    half = feature.count // 2
    lengths = Lengths(alphabetic=feature.count, dense=half, syllabic=half, unspaced=feature.count)
    made = simhash(text, replace(recipe, lengths=lengths))
    return np.frombuffer(bytes(recipe.bits // 8) if made is None else made.bits, dtype=np.uint64)


def word_simhash(text: NormalText, count: int, recipe: FingerprintRecipe) -> NDArray[np.uint64]:
    """The simhash of the runs of so many words, weighted and signed as those of characters are."""
    from app.core.signatures import kernels

    default = minhash_recipe(DEFAULT_MINHASH)
    runs = shingles(
        text, replace(default, shingle_weight=count * default.word_weight), page_recipe(DEFAULT_PAGES)
    ).hashes
    window = max(1, round(recipe.window * runs.size / max(1, text.size)))
    counts, near = repeats(runs >> np.uint64(64 - kernels.CELL_BITS), window, 1 << kernels.CELL_BITS)
    tallies = counts << kernels.COUNT_SHIFT | near
    features = np.empty(tallies.size + 1, dtype=np.uint32)
    weights = np.empty(tallies.size, dtype=np.int64)
    chosen = kernels.weigh(
        tallies, recipe.weighting == "gap", recipe.min_count, window, max(1, runs.size), features, weights
    )
    votes = np.zeros(recipe.bits, dtype=np.int64)
    kernels.vote(features[:chosen], weights[:chosen], votes)
    return np.packbits(votes > 0).view(np.uint64)


@compiled
def repeats(
    in_cell: NDArray[np.uint64], window: int, cells: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """How often each cell occurs in a row, and how often at most `window` places after it did; (cells,)."""
    counts, near = np.zeros(cells, dtype=np.uint64), np.zeros(cells, dtype=np.uint64)
    last = np.full(cells, -window - 1, dtype=np.int64)
    for place in range(in_cell.size):
        cell = in_cell[place]
        counts[cell] += U64(1)
        near[cell] += U64(place - last[cell] <= window)
        last[cell] = place
    return counts, near


def _cells(words: Words, classes: Numbers) -> list[Cell]:
    """F1 within the fitted d, that d, and F1 of k-means: means over the draws."""
    step = BITS // 64
    draws = [np.ascontiguousarray(words[:, draw * step : (draw + 1) * step]) for draw in range(DRAWS)]
    fitted = [each for draw in draws for each in fit(draw, classes, classes, SEED)]
    by_means = [clustered(np.unpackbits(draw.view(np.uint8), axis=1), classes, STARTS) for draw in draws]
    return [
        round(float(np.mean([each.f1 for each in fitted])), 4),
        round(float(np.mean([each.d for each in fitted])), 1),
        round(float(np.mean(by_means)), 4),
    ]
