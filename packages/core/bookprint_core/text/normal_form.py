"""The normal form of a book: the letters and digits from which its signatures are computed.

Signatures must not depend on layout, case and punctuation. Spasojević and Poncin (2011, section III-B) retain
only lower-case letters and digits. This module does so for every script, and joins words split at line ends.
"""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import Content
from bookprint_core.text.content import in_form
from bookprint_core.text.unicode_table import CODE, FIRST_FOLDED, KIND, folding_tables, unicode_table

SPACE = 0x20
PADDING = 8
"""Number of zeros after the normal form, because kernels may read n-grams past the end."""


_SPACING_MARKS = re.compile(
    "[¨¯´¸\u02d8-\u02dd\u037a\u0384\u0385\u1fbd\u1fbf-\u1fc1\u1fcd-\u1fcf\u1fdd-\u1fdf\u1fed\u1fee\u1ffd\u1ffe"
    "\u2017\u203e\u309b\u309c\ufc5e-\ufc63\ufe49-\ufe4c\ufe70\ufe72\ufe74\ufe76\ufe78\ufe7a\ufe7c\ufe7e\uffe3]"
)
"""Characters that NFKC turns into a space and marks; each is a separator, even before marks."""


@dataclass(frozen=True, slots=True, eq=False)
class NormalText:
    """The normal form of a book as code points, with its kinds of script and its pages."""

    codes: NDArray[np.uint32]  # (size + PADDING,)
    size: int  # code points
    kinds: NDArray[np.uint8]  # (size,) kind of script of each code point; empty for a text of alphabets alone
    page_starts: NDArray[np.int64]  # (pages,)
    page_ends: NDArray[np.int64]  # (pages,) exclusive
    folded: bool = False  # whether this is the folded normal form and differs from the plain one

    def __str__(self) -> str:
        return self.codes[: self.size].astype("<u4").tobytes().decode("utf-32-le")


def normalise(content: Content) -> NormalText:
    """Compute the normal form of a book by these rules, with data of Unicode 14:

    1. The text is put into NFKC, then into lower case code point by code point; final sigma becomes sigma.
    2. Letters and digits (L*, N*) stay, and marks (Mn, Mc) directly after them. Default-ignorable and format
       characters and enclosing marks are removed.
    3. A word split at a line end is joined: a letter and a hyphen (U+002D, U+2010, U+00AD), blanks around one
       line break, one page break or one of each, then a lower-case letter.
    4. Any other run of characters becomes one space, except at the ends and between two Han, Kana or similar.

    A text is folded if most of its letters are Hebrew, Arabic, Syriac or of a script without spaces, such as
    Thai. Folding removes vowel and cantillation marks, U+0640, and spaces between characters without spaces.

    >>> str(normalise(Content("(Nice)  Day, Straße ﬁn-\\nished!", page_count=None)))
    'nice day straße finished'
    """
    text = content.text
    normal = _normalise(text, content.page_count)
    if normal is None:
        normal = _normalise(in_form("NFKC", _SPACING_MARKS.sub(".", text)), content.page_count)
    assert normal is not None
    return normal


def _normalise(text: str, page_count: int | None, folded: bool = False) -> NormalText | None:
    """Compute the normal form; None if the whole text must be put into NFKC first."""
    from bookprint_core.text import kernels

    table, codes = unicode_table(), kernels.codes_of(text)
    used = folding_tables() if folded else table
    page_starts = np.zeros(page_count or 1, dtype=np.int64)
    capacity = len(text) + len(text) // 8 + 64
    while True:
        out = np.empty(capacity + PADDING, dtype=np.uint32)
        size, seen, status = kernels.normalise(
            codes, used.entries, table.traits, used.expansions, out[:capacity], page_starts
        )
        if status != kernels.TOO_SMALL:
            break
        capacity *= 2
    if status == kernels.NEEDS_WHOLE_NFKC:
        return None
    out = out[: size + PADDING]
    out[size:] = 0
    if folded:
        _put_tones_first(out)
    elif seen & CODE >= FIRST_FOLDED:
        letters_folded, letters = kernels.count_letters(out[:size], folding_tables().letters)
        other = _normalise(text, page_count, folded=True) if 2 * letters_folded > letters else None
        if other is not None and not np.array_equal(other.codes, out):
            return other
    kinds = np.empty(size if seen & KIND else 0, dtype=np.uint8)
    if kinds.size:
        kernels.kinds_of(out[:size], table.entries, kinds)
    if page_count is None:
        return NormalText(out, size, kinds, page_starts[:0], page_starts[:0], folded)
    return NormalText(out, size, kinds, page_starts, slice_ends(out, size, page_starts), folded)


def _put_tones_first(codes: NDArray[np.uint32]) -> None:
    """Move a tone before the sign am of Thai and Lao, as in NFKC of the one-character vowel am."""
    for block in (0xE00, 0xE80):
        later = np.flatnonzero((codes[:-1] == block + 0x4D) & (codes[1:] - np.uint32(block + 0x48) < 4))
        codes[later], codes[later + 1] = codes[later + 1], block + 0x4D


def slice_ends(codes: NDArray[np.uint32], size: int, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the exclusive ends of the slices that start at `starts` (n,), without spaces between slices."""
    if starts.size == 0:
        return starts
    ends = np.append(starts[1:], size)
    spaced: NDArray[np.bool_] = (ends > starts) & (ends < size) & (codes[ends - 1] == SPACE)
    return ends - spaced
