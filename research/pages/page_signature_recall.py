"""Distinction of pages from strangers by signatures of Spasojević and Poncin (2011), ours, and others."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table
from research.pages.page_grams import PAGE_VALUES, Feature, normal_pages
from research.pages.page_recipes import (
    BOOKPRINT,
    PAPER,
    SIMHASH,
    PagePairs,
    SignatureRecipe,
    minhash_of,
    one_permutation_of,
    page_pairs,
)
from research.pages.page_samples import LANGUAGES, SEED, PrintedBook, counted, printed_books

RATES = (0.0, 0.01, 0.02, 0.05, 0.10)
FALSE = 0.001
"""Largest accepted share of pairs of strangers."""
WORKS, PAGES = 12, 44
ALONE = (
    PAPER,
    SIMHASH,
    minhash_of(Feature("characters", 6), PAGE_VALUES),
    minhash_of(Feature("characters", 6), 64, 1),
    minhash_of(Feature("characters", 6), 128, 1),
    minhash_of(Feature("characters", 8), 128, 1),
    BOOKPRINT,
    one_permutation_of(Feature("characters", 6), 256),
)
"""Recipes compared only on English pages."""
BY_LANGUAGE = (PAPER, BOOKPRINT)


def run(out_dir: Path) -> Section:
    """Measure English pages with eight signatures, and six languages with two; takes two minutes."""
    return measure(list(corpus_books(corpus_folder())), RATES, WORKS, PAGES)


def measure(books: Sequence[CorpusBook], rates: Sequence[float], works: int, pages: int) -> Section:
    """Return a table of signatures and a table of languages."""
    printed = {language: printed_books(books, language, works, pages) for language in LANGUAGES}
    printed = {language: found for language, found in printed.items() if found}
    english = {recipe: [compared(recipe, printed["en"], rate) for rate in rates] for recipe in ALONE}
    by_language = {
        (language, recipe): english[recipe]
        if language == "en"
        else [compared(recipe, found, rate) for rate in rates]
        for language, found in printed.items()
        for recipe in BY_LANGUAGE
    }
    headers = [f"CER {100 * rate:g} %" for rate in rates]
    rows: list[list[Cell]] = [
        [recipe.name, recipe.page_bytes, *map(_recalls, at)] for recipe, at in english.items()
    ]
    recalled: list[list[Cell]] = [
        [language, recipe.name, *map(_recalls, at)] for (language, recipe), at in by_language.items()
    ]
    caption = f"recall of the equal page / of one that shares half, at {FALSE:.1%} of the strangers"
    return Section(
        title="Spasojević and Poncin (2011): pages told from strangers by their signatures",
        command="python -m research page_signature_recall",
        tables=[
            Table(["signature", "bytes", *headers], rows, f"English pages: {caption}"),
            Table(["language", "signature", *headers], recalled, f"By language: {caption}"),
        ],
        notes=[
            f"Up to {WORKS} works of a language, drawn with seed {SEED}, up to {PAGES} pages of 330 words "
            f"each (528 characters in Chinese and Japanese): {counted(printed)}. Both copies have errors. "
            "Strangers are all other pages of the same book. The paper keeps 34 MinHash values of a page "
            "over shingles of five words; 32 bits of a value are kept here, it does not say how many. A pair "
            "is accepted above the similarity that one pair of strangers in a thousand exceeds.",
        ],
    )


def compared(recipe: SignatureRecipe, books: Sequence[PrintedBook], rate: float) -> PagePairs:
    """Return the similarities of the pages of these books, with errors in both copies."""
    return PagePairs.joined(
        [
            page_pairs(
                recipe,
                normal_pages(book.read(rate, 0)),
                normal_pages(book.read(rate, 1)),
                normal_pages(book.read_halves(rate, 1)),
            )
            for book in books
        ]
    )


def recalls(pairs: PagePairs, false: float) -> tuple[float, float]:
    """Return the recall of equal pages and of half pages at a share `false` of accepted strangers."""
    line = threshold(pairs, false)
    return float((pairs.equal > line).mean()), float((pairs.half > line).mean())


def threshold(pairs: PagePairs, false: float) -> float:
    """Return the lowest similarity that at most a share `false` of strangers exceeds."""
    strangers = np.sort(pairs.strangers)
    return float(strangers[strangers.size - 1 - int(false * strangers.size)])


def _recalls(pairs: PagePairs) -> str:
    return " / ".join(f"{share:.2f}" for share in recalls(pairs, FALSE))
