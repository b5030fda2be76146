"""Books with made texts."""

import numpy as np

from bench.harness.corpus import CorpusBook


def a_text(seed: int, words: int = 4_000) -> str:
    letters = np.array(list("abcdefghijklmnopqrst"))
    numbers = np.random.default_rng(seed).integers(0, 5_000, words)
    return " ".join("".join(letters[[n % 20, n // 20 % 20, n // 400 % 20]]) for n in numbers.tolist())


def a_book(
    text: str, work: str = "work", language: str = "en", title: str = "", author: str = ""
) -> CorpusBook:
    return CorpusBook(f"{work}-{len(text)}", work, title, author, None, language, text, None)
