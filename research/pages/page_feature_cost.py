"""Word shingles against character n-grams of pages: how many they are, and what their MinHash costs.

Spasojević and Poncin (2011, section III-B) prefer word shingles, because they are 6 to 12 times fewer.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from app.core.recipe import DEFAULT_MINHASH, DEFAULT_PAGES, minhash_recipe, page_recipe
from app.core.signatures.shingles import shingles
from app.core.text.normal_form import NormalText
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table
from research.pages.page_grams import (
    PAGE_VALUES,
    WORDS_5,
    Feature,
    Hashes,
    Values,
    minhash_values,
    normal_pages,
    occurrences,
)
from research.pages.page_recipes import BOOKPRINT
from research.pages.page_samples import SEED, printed_books

LANGUAGES = ("en", "de", "fr", "es", "ru", "ar", "el", "zh", "ja")
CHARACTERS_6 = Feature("characters", 6)
WORKS, PAGES = 12, 44
ROUNDS = 9


def run(_: Path) -> Section:
    """Nine languages; some seconds."""
    return measure(list(corpus_books(corpus_folder())), WORKS, PAGES)


def measure(books: Sequence[CorpusBook], works: int, pages: int) -> Section:
    """A table of counts and one of costs."""
    printed = {language: printed_books(books, language, works, pages) for language in LANGUAGES}
    texts = {
        language: [normal_pages(book.pages) for book in found] for language, found in printed.items() if found
    }
    return Section(
        title="Spasojević and Poncin (2011): word shingles against character n-grams",
        command="python -m research page_feature_cost",
        tables=[
            Table(
                ["language", "pages", "characters", "shingles of 5 words", "6-grams", "times as many"],
                [_counts(language, found) for language, found in texts.items()],
                "Distinct features of a page, mean",
            ),
            Table(
                [
                    "language",
                    f"{PAGE_VALUES} values of 5 words",
                    f"{PAGE_VALUES} values of 6-grams",
                    "times as long",
                    f"{PAGE_VALUES} values of 5 words, hashing included",
                    f"page signature ({BOOKPRINT.name}), hashing included",
                ],
                [_costs(language, found) for language, found in texts.items()],
                f"Processor time in µs per page, fastest of {ROUNDS} rounds, compiled throughout",
            ),
        ],
        notes=[
            f"Up to {WORKS} works of a language, drawn with seed {SEED}, up to {PAGES} pages of 330 words "
            "each (528 characters in Chinese and Japanese, where a character counts as a word). The paper "
            "says 6 to 12 times. Hashing is of the normal form; in Chinese and Japanese Bookprint's "
            "shingles have eight characters and its page signature has 4-grams. One permutation needs one "
            "hash of each n-gram instead of 34, so that more features cost less than fewer did."
        ],
    )


def distinct(texts: Sequence[NormalText], feature: Feature) -> float:
    """Distinct features of a page, mean."""
    return float(np.mean([np.unique(page).size for text in texts for page in occurrences(text, feature)]))


def _counts(language: str, texts: Sequence[NormalText]) -> list[Cell]:
    lengths = np.concatenate([text.page_ends - text.page_starts for text in texts])
    words, characters = distinct(texts, WORDS_5), distinct(texts, CHARACTERS_6)
    figures = [round(float(lengths.mean())), round(words), round(characters)]
    return [language, lengths.size, *figures, f"{characters / words:.1f}"]


def _costs(language: str, texts: Sequence[NormalText]) -> list[Cell]:
    pages = sum(text.page_starts.size for text in texts)
    hashed = {
        feature: [page for text in texts for page in occurrences(text, feature)]
        for feature in (WORDS_5, CHARACTERS_6)
    }
    words, characters, whole, ours = (
        1e6 * fastest(work) / pages
        for work in (
            lambda: minhash_values(hashed[WORDS_5], PAGE_VALUES),
            lambda: minhash_values(hashed[CHARACTERS_6], PAGE_VALUES),
            lambda: [shingled_values(text) for text in texts],
            lambda: [BOOKPRINT.sign(text) for text in texts],
        )
    )
    return [language, *(f"{each:.1f}" for each in (words, characters, characters / words, whole, ours))]


def shingled_values(text: NormalText) -> Values:
    """34 values of each page by the compiled shingles of the service, (pages, 34)."""
    hashes = shingles(text, minhash_recipe(DEFAULT_MINHASH), page_recipe(DEFAULT_PAGES)).hashes
    # Cut evenly: pages are of one length, and where they begin costs nothing to know.
    parts: list[Hashes] = np.array_split(hashes, text.page_starts.size)
    return minhash_values(parts, PAGE_VALUES)


def fastest(work: Callable[[], object]) -> float:
    """Seconds of processor time of the fastest round."""
    seconds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)
