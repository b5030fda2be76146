"""The normal form of a book: the letters and digits that its signatures are computed from.

Signatures must not depend on layout, case and punctuation. Spasojević and Poncin (2011, section III-B) keep
lower-case letters and digits alone. This does so for every script, and joins words split at a line's end.
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
"""Zeros after the normal form, so that a kernel may read an n-gram past its end."""


_SPACING_MARKS = re.compile(
    "[¨¯´¸\u02d8-\u02dd\u037a\u0384\u0385\u1fbd\u1fbf-\u1fc1\u1fcd-\u1fcf\u1fdd-\u1fdf\u1fed\u1fee\u1ffd\u1ffe"
    "\u2017\u203e\u309b\u309c\ufc5e-\ufc63\ufe49-\ufe4c\ufe70\ufe72\ufe74\ufe76\ufe78\ufe7a\ufe7c\ufe7e\uffe3]"
)
"""What NFKC makes a space and marks: a separator, like a full stop, whatever marks follow it."""


@dataclass(frozen=True, slots=True, eq=False)
class NormalText:
    """The normal form of a book as code points, with the kinds of script and the pages in it."""

    codes: NDArray[np.uint32]  # (size + PADDING,)
    size: int  # code points
    kinds: NDArray[np.uint8]  # (size,) kind of script of each; empty for a text of alphabets alone
    page_starts: NDArray[np.int64]  # (pages,)
    page_ends: NDArray[np.int64]  # (pages,) exclusive
    folded: bool = False  # whether it is the folded normal form, and another than the plain one

    def __str__(self) -> str:
        return self.codes[: self.size].astype("<u4").tobytes().decode("utf-32-le")


def normalise(content: Content) -> NormalText:
    """The normal form of a book, by these rules:

    1. Unicode NFKC, then lower case code point by code point (final sigma as sigma); data of Unicode 14. 2.
    Letters and digits (L*, N*) stay, marks (Mn, Mc) stay where they follow one; default-ignorable and format
    characters and enclosing marks go. 3. A hyphen (U+002D, U+2010, U+00AD) after a letter, then blanks around
    one line break, one page break or one of each, then a lower-case letter. All but the letters goes, so the
    word is whole again. 4. Any other run of characters is one space; none at either end, none between two of
    Han, Kana and their like.

    A text is folded where most of its letters are Hebrew, Arabic or Syriac, or of a script without spaces, as
    Thai. Marks of vowels and cantillation and U+0640 go, and so do spaces between two of such a script.

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
    """The normal form; None if characters combine under NFKC, so that the whole text must be put into it."""
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
    """Write a tone before the sign am of Thai and Lao, as NFKC does where the vowel am is one character."""
    for block in (0xE00, 0xE80):
        later = np.flatnonzero((codes[:-1] == block + 0x4D) & (codes[1:] - np.uint32(block + 0x48) < 4))
        codes[later], codes[later + 1] = codes[later + 1], block + 0x4D


def slice_ends(codes: NDArray[np.uint32], size: int, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ends, exclusive, of the slices that start at `starts` (n,), without the spaces between them."""
    if starts.size == 0:
        return starts
    ends = np.append(starts[1:], size)
    spaced: NDArray[np.bool_] = (ends > starts) & (ends < size) & (codes[ends - 1] == SPACE)
    return ends - spaced
