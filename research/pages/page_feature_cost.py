"""Numbers of word shingles and of character n-grams of pages (Spasojević and Poncin 2011, III-B).

The paper prefers word shingles, because they are 6 to 12 times fewer.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table
from bookprint_core.text.normal_form import NormalText
from research.pages.page_grams import WORDS_5, Feature, normal_pages, occurrences
from research.pages.page_samples import SEED, printed_books

LANGUAGES = ("en", "de", "fr", "es", "ru", "ar", "el", "zh", "ja")
CHARACTERS_6 = Feature("characters", 6)
WORKS, PAGES = 12, 44


def run(_: Path) -> Section:
    """Count the features of nine languages; takes some seconds."""
    return measure(list(corpus_books(corpus_folder())), WORKS, PAGES)


def measure(books: Sequence[CorpusBook], works: int, pages: int) -> Section:
    """Return the table of counts."""
    rows: list[list[Cell]] = []
    for language in LANGUAGES:
        texts = [normal_pages(book.pages) for book in printed_books(books, language, works, pages)]
        if texts:
            lengths = np.concatenate([text.page_ends - text.page_starts for text in texts])
            words, characters = distinct(texts, WORDS_5), distinct(texts, CHARACTERS_6)
            figures = [round(float(lengths.mean())), round(words), round(characters)]
            rows.append([language, lengths.size, *figures, f"{characters / words:.1f}"])
    return Section(
        title="Spasojević and Poncin (2011): word shingles against character n-grams",
        command="python -m research page_feature_cost",
        tables=[
            Table(
                ["language", "pages", "characters", "shingles of 5 words", "6-grams", "times as many"],
                rows,
                "Distinct features of a page, mean",
            ),
        ],
        notes=[
            f"Up to {WORKS} works of a language, drawn with seed {SEED}, up to {PAGES} pages of 330 words "
            "each (528 characters in Chinese and Japanese, where a character counts as a word). The paper "
            "says 6 to 12 times."
        ],
    )


def distinct(texts: Sequence[NormalText], feature: Feature) -> float:
    """Return the mean number of distinct features per page."""
    return float(np.mean([np.unique(page).size for text in texts for page in occurrences(text, feature)]))
