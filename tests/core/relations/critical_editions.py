"""Critical editions made from pages of text: small type with variants, sigla, names, numbers and tables.

Two readings of one edition differ as two engines do: errors are drawn for each, twice as many in the small
type, where digits are also lost and taken for other digits or for letters. The shares are ours.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.synthesis.noise import corrupt_pages

HEAVIER = 2.0
"""Errors in small type for each in the text above it."""

_LINE = 70
"""Characters of a line of small type."""

_NAMES = (
    "Bentley Lachmann Madvig Reiske Casaubon Scaliger Heinsius Markland Porson Hermann Dindorf Cobet Naber "
    "Bekker Baehrens Ritschl Vahlen Buecheler Leo Mommsen Haupt Wakefield Lambinus Turnebus Muretus Gronovius"
)
_SIGLA = "A B C D F G H L M N P R S T V Vat Laur Par Ambr cett codd edd om add corr del recc vulg"
_ENDINGS = ("us", "um", "is", "em", "ae")

_DIGITS = "689", "47", "73", "85", "19", "63", "580", "12", "360", "048"
_LETTERS = "oO", "lI", "z", "B", "A", "sS", "b", "T", "B", "g"
"""The digits and the letters that each digit from 0 to 9 is taken for, equally often."""
_OTHER_DIGIT, _LETTER = 0.6, 0.8
"""Shares of misread digits that are taken for another, and for another or a letter; the rest are lost."""

_WORD = re.compile(r"[^\W\d_]{4,}")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class EditionPage:
    """A page of a critical edition."""

    text: str
    small: str


def critical_edition(pages: Sequence[str], seed: int) -> list[EditionPage]:
    """The pages with an apparatus on each and a table on each third."""
    rng = np.random.default_rng(seed)
    return [EditionPage(page, _small_type(page, number % 3 == 0, rng)) for number, page in enumerate(pages)]


def reading(edition: Sequence[EditionPage], rate: float, seed: Sequence[int]) -> list[str]:
    """The pages as read with errors at this rate per character, and more in small type."""
    rng = np.random.default_rng(seed)
    texts = corrupt_pages([page.text for page in edition], rate, rng)
    small = corrupt_pages([page.small for page in edition], HEAVIER * rate, rng)
    return [
        f"{text}\n{_misread_digits(type_, HEAVIER * rate, rng)}"
        for text, type_ in zip(texts, small, strict=True)
    ]


def _small_type(page: str, with_table: bool, rng: np.random.Generator) -> str:
    words, names, sigla = _WORD.findall(page) or ["textus"], _NAMES.split(), _SIGLA.split()
    entries: list[str] = []
    for line in range(1, int(rng.integers(10, 24))):
        lemma = _one(words, rng)
        variant = lemma[:-2] + _one(_ENDINGS, rng) if rng.random() < 0.5 else _one(words, rng)
        entry = f"{line} {lemma}] {variant} {_one(sigla, rng)} {_one(sigla, rng)}"
        if rng.random() < 0.5:
            entry += f", {_one(names, rng)} {rng.integers(1690, 1880)} p. {rng.integers(2, 480)}"
        if rng.random() < 0.3:
            entry += f", cf. {rng.integers(1, 40)}, {rng.integers(1, 90)}"
        entries.append(entry)
    rows = int(rng.integers(6, 14)) if with_table else 0
    table = [" ".join([_one(names, rng), *map(str, rng.integers(2, 2000, 4))]) for _ in range(rows)]
    return "\n".join([*table, *re.findall(rf".{{1,{_LINE}}}(?:\s|$)", " | ".join(entries))])


def _misread_digits(text: str, rate: float, rng: np.random.Generator) -> str:
    def read(digit: re.Match[str]) -> str:
        if rng.random() >= rate:
            return digit[0]
        kind = rng.random()
        if kind >= _LETTER:
            return ""
        return _one((_DIGITS if kind < _OTHER_DIGIT else _LETTERS)[int(digit[0])], rng)

    return _DIGIT.sub(read, text)


def _one(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[int(rng.integers(len(choices)))]
