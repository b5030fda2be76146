"""Similarity of pages against character errors (Spasojević and Poncin 2011, figure 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table
from research.pages.page_grams import (
    PAGE_VALUES,
    Feature,
    features,
    jaccard_of,
    minhash_values,
    normal_pages,
)
from research.pages.page_recipes import BOOKPRINT, PagePairs, page_pairs
from research.pages.page_samples import LANGUAGES, SEED, PrintedBook, counted, printed_books
from research.plot import Line, Panels, images

RATES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.10, 0.15, 0.20)
TOLD = (0.01, 0.02, 0.05, 0.10, 0.20)
"""Error rates in the tables."""
WORDS = tuple(Feature("words", size) for size in range(1, 8))
CHARACTERS = tuple(Feature("characters", size) for size in range(4, 9))
WORKS, PAGES = 6, 24


@dataclass(frozen=True, slots=True)
class Likeness:
    """Mean similarities of printed pages and their copies with errors."""

    estimated: Mapping[Feature, float]  # by 34 values
    exact: Mapping[Feature, float]  # Jaccard similarity
    signed: float  # by the page signature of Bookprint


Curves = Mapping[str, Mapping[float, Likeness]]
"""Similarities by language and error rate."""


def run(out_dir: Path) -> Section:
    """Measure six scripts at nine error rates; takes a minute."""
    return measure(out_dir, list(corpus_books(corpus_folder())), RATES, WORKS, PAGES)


def measure(
    out_dir: Path, books: Sequence[CorpusBook], rates: Sequence[float], works: int, pages: int
) -> Section:
    """Return two tables, and write two figures to `out_dir`."""
    printed = {language: printed_books(books, language, works, pages) for language in LANGUAGES}
    printed = {language: found for language, found in printed.items() if found}
    curves = {
        language: {rate: likeness(found, rate) for rate in rates} for language, found in printed.items()
    }
    return Section(
        title="Spasojević and Poncin (2011): similarity of pages against character errors",
        command="python -m research page_noise",
        tables=[
            _table(curves, WORDS, "Equal pages, runs of words"),
            _table(curves, CHARACTERS, "Equal pages, runs of characters"),
        ],
        notes=[
            f"Up to {WORKS} works in each language, drawn with seed {SEED}, up to {PAGES} pages of 330 words "
            f"each: {counted(printed)}. In Chinese and Japanese a page has 528 characters, and a character "
            "counts as a word. One copy is as printed, the other has the error rate on the axis. Two copies "
            "that are both read at one rate are about as far apart as these at twice the rate. The "
            "publication prints no values of its figure; as there, similarity falls with the error rate and "
            "with the length of the feature, and words fall by script, characters hardly do.",
            "Cells are the estimate by 34 MinHash values, as the paper keeps of a page, and behind the "
            "stroke the exact Jaccard similarity. The page signature of Bookprint is 128 bins of eight bits "
            "over six characters (four in Chinese and Japanese).",
            *_plots(out_dir, curves),
        ],
    )


def likeness(books: Sequence[PrintedBook], rate: float) -> Likeness:
    """Return the mean similarities over all pages of some books."""
    estimated: dict[Feature, list[float]] = {feature: [] for feature in (*WORDS, *CHARACTERS)}
    exact: dict[Feature, list[float]] = {feature: [] for feature in estimated}
    signed: list[PagePairs] = []
    for book in books:
        clean, noisy = normal_pages(book.pages), normal_pages(book.read(rate, 1))
        halves = normal_pages(book.read_halves(rate, 1))
        for feature in estimated:
            left, right = features(clean, feature), features(noisy, feature)
            equal = minhash_values(left, PAGE_VALUES) == minhash_values(right, PAGE_VALUES)
            estimated[feature] += equal.mean(axis=1).tolist()
            exact[feature] += [jaccard_of(*pair) for pair in zip(left, right, strict=True)]
        signed.append(page_pairs(BOOKPRINT, clean, noisy, halves))
    return Likeness(
        {feature: float(np.mean(values)) for feature, values in estimated.items()},
        {feature: float(np.mean(values)) for feature, values in exact.items()},
        float(PagePairs.joined(signed).equal.mean()),
    )


def told(by_rate: Mapping[float, Likeness]) -> list[tuple[float, Likeness]]:
    """Return the similarities at the rates in the tables."""
    return [(rate, at) for rate, at in by_rate.items() if rate in TOLD]


def _table(curves: Curves, sizes: Sequence[Feature], caption: str) -> Table:
    rows: list[list[Cell]] = []
    for language, by_rate in curves.items():
        for rate, at in told(by_rate):
            cells = [f"{at.estimated[size]:.2f} / {at.exact[size]:.2f}" for size in sizes]
            rows.append([language, 100 * rate, *cells, f"{at.signed:.2f}"])
    return Table(
        ["language", "CER, %", *(str(size) for size in sizes), "page signature"],
        rows,
        f"{caption}: similarity as estimated / exact, mean",
    )


def _plots(out_dir: Path, curves: Curves) -> list[str]:
    """Plot figure 1, by runs of words and of characters."""
    panels = {}
    for unit, sizes in (("words", WORDS), ("characters", CHARACTERS)):
        plots = [(language, _lines(by_rate, sizes)) for language, by_rate in curves.items()]
        axes = ("character error rate, %", "similarity")
        panels[f"page_noise_{unit}.svg"] = Panels(f"Equal pages by runs of {unit}", *axes, plots, (0, 1.02))
    return images(out_dir, panels)


def _lines(by_rate: Mapping[float, Likeness], sizes: Sequence[Feature]) -> list[Line]:
    drawn = []
    for kind, size in enumerate(sizes):
        estimated = [(100 * rate, at.estimated[size]) for rate, at in by_rate.items()]
        exact = [(100 * rate, at.exact[size]) for rate, at in by_rate.items()]
        drawn += [Line(str(size), estimated, kind=kind), Line(f"{size}, exact", exact, True, kind)]
    ours = [(100 * rate, at.signed) for rate, at in by_rate.items()]
    return [*drawn, Line(f"page signature ({BOOKPRINT.name})", ours, kind=len(sizes))]
