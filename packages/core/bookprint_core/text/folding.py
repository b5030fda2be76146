"""Folding of letters, which makes misread and old letters equal.

Spaces, marks and the second of two equal symbols are removed, and ligatures are split. Letters that OCR and
old spelling confuse become one symbol: u and v, i and j, c and e, h and b.
docs/why/decisions/0038-letter-samples.md contains the measurements.

Arabic letters become one symbol if their shapes differ only in dots, hamza and other small signs. The shape
inside a word counts, or the only shape. Alef and lam, both upright strokes, become one symbol too. Persian
and Urdu letters are included, and all code points of a letter, such as both kinds of kaf.
"""

import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

SIZE = 0x3000
"""Number of code points that the table contains; later code points are not folded."""

CLASSES = {"i": "iltfj1yr", "n": "nuvhbmw68", "e": "eco0", "g": "gq9", "s": "sz25"}
"""Symbols, with the ASCII letters and digits that become them. f and long s differ from s: if equal, they
would find more old prints, but also two to five times as many strangers."""

ARABIC_CLASSES = {
    "ا": "الٱ", "ٮ": "بتثنيئپٹںی", "ح": "جحخچ", "د": "دذڈ", "ر": "رزژڑ", "س": "سش", "ص": "صض", "ط": "طظ",
    "ع": "عغ", "ڡ": "فق", "ک": "كکگ", "ه": "هھہۀۂۃە", "و": "وؤ",
}  # fmt: skip
"""Symbols of Arabic script: letters without dots, with the letters that become them."""

_REPLACED = {
    "æ": "ae", "œ": "oe", "ß": "ss", "þ": "th", "ð": "d", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "ς": "σ",
    "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ة": "ه",
    "ё": "е", "ѣ": "е", "і": "и", "ѵ": "и", "ѳ": "ф", "й": "и", "ъ": "",
}  # fmt: skip
_MARKED = (range(0xC0, 0x250), range(0x370, 0x530), range(0x1E00, 0x2000))
_DROPPED = (0x20, *range(0x300, 0x370), *range(0x610, 0x61B), *range(0x64B, 0x660), 0x670)


@cache
def folding_table() -> NDArray[np.uint64]:
    """Make the table of code points below `SIZE`, (SIZE,): symbol (0: none) plus 2^32 times a second one."""
    replaced = {chr(code): unicodedata.normalize("NFD", chr(code))[0] for part in _MARKED for code in part}
    replaced |= _REPLACED | {chr(code): "" for code in _DROPPED}
    symbols = {letter: symbol for symbol, letters in (CLASSES | ARABIC_CLASSES).items() for letter in letters}
    table = np.zeros(SIZE, dtype=np.uint64)
    for code in range(SIZE):
        letters = replaced.get(chr(code), chr(code))
        for place, letter in enumerate(letters):
            table[code] += ord(symbols.get(letter, letter)) << 32 * place
    return table
