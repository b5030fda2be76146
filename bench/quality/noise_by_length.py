"""The bits by which OCR errors move a fingerprint, by the length of the book, down to texts that have
none."""

from collections.abc import Sequence

import numpy as np

from app.core.recipe import DEFAULT_FINGERPRINT, FINGERPRINT_RECIPES
from app.synthesis.noise import corrupt
from bench.data.signed_texts import sign
from bench.harness.corpus import CorpusBook
from bench.harness.f1_curves import distances_from
from bench.harness.report import Cell, Table

WORDS = (1_000, 3_000, 10_000, 30_000, 100_000, 200_000)
CHARACTERS_PER_WORD = 5.6
RATES = (0.01, 0.03, 0.05, 0.10)
SAMPLES = 40
SHORT = 4_000
WORST_RATE = 0.15


def drift_table(books: Sequence[CorpusBook], seed: int) -> Table:
    """English excerpts of so many words: bits between clean and noisy, and between different excerpts."""
    recipe = FINGERPRINT_RECIPES[DEFAULT_FINGERPRINT]
    rows: list[list[Cell]] = []
    for words in WORDS:
        rng = np.random.default_rng([seed, words])
        excerpts = _excerpts(books, "en", int(words * CHARACTERS_PER_WORD), rng)
        clean = np.stack([sign(text, recipe) for text in excerpts])
        row: list[Cell] = [words, len(excerpts)]
        for rate in RATES:
            noisy = np.stack([sign(corrupt(text, rate, rng), recipe) for text in excerpts])
            moved = np.bitwise_count(clean ^ noisy).sum(axis=1)
            row.append(f"{np.median(moved):.0f} / {moved.max()}")
        apart = np.concatenate([distances_from(clean, i)[i + 1 :] for i in range(len(clean))])
        rows.append([*row, f"{np.median(apart):.0f} / {apart.min()}"])
    return Table(
        headers=["words", "excerpts", *(f"{rate:.0%} CER" for rate in RATES), "different works"],
        rows=rows,
        caption="Bits that OCR errors move a fingerprint: median / worst (different works: median / nearest)",
    )


def short_table(books: Sequence[CorpusBook], seed: int) -> Table:
    """Stretches of 4,000 characters at 15 % CER in each language: the share that has a fingerprint."""
    recipe = FINGERPRINT_RECIPES[DEFAULT_FINGERPRINT]
    rows: list[list[Cell]] = []
    for language in sorted({book.language for book in books}):
        rng = np.random.default_rng([seed, ord(language[0]), ord(language[1])])
        excerpts = _excerpts(books, language, SHORT, rng) * 3
        signed = [sign(corrupt(text, WORST_RATE, rng), recipe).any() for text in excerpts]
        rows.append([language, len(signed), float(np.mean(signed))])
    return Table(
        headers=["language", "texts", "with a fingerprint"],
        rows=rows,
        caption=f"Running text of {SHORT:,} characters at {WORST_RATE:.0%} CER",
    )


def _excerpts(books: Sequence[CorpusBook], language: str, size: int, rng: np.random.Generator) -> list[str]:
    """Up to SAMPLES spans of so many characters, each of another work where there are enough."""
    long_enough = {book.work: book for book in books if book.language == language and len(book.text) > size}
    chosen = rng.permutation(sorted(long_enough))[:SAMPLES]
    starts = [int(rng.integers(0, len(long_enough[work].text) - size)) for work in chosen]
    return [long_enough[work].text[start : start + size] for work, start in zip(chosen, starts, strict=True)]
