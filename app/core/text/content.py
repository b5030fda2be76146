"""From what a client sends to the text that signatures see.

Two steps. `content_from_text` and `content_from_pages` give the book's content: Unicode NFC, pages joined
by U+000C. `normalise` gives its normal form: NFKC, lower case, every run of anything but letters and digits
one space, words split at a line's end joined again.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from app.core.errors import EmptyText, InvalidText
from app.core.model import PAGE_BREAK, Content
from app.core.text.unicode_table import (
    ALNUM,
    COMBINING,
    KIND,
    MAX_COMBINING,
    NFC_SUSPECT,
    NUL,
    PILE,
    SURROGATE,
    unicode_table,
)

SPACE = 0x20
PADDING = 8
"""Zeros after the normal form, so that a kernel may read an n-gram past its end."""


@dataclass(frozen=True, slots=True, eq=False)
class NormalText:
    """The normal form of a book as code points, and what the kernels need to know about it."""

    codes: NDArray[np.uint32]  # (size + PADDING,)
    size: int  # code points
    kinds: NDArray[np.uint8]  # (size,) kind of script of each; empty for a text of alphabets alone
    page_starts: NDArray[np.int64]  # (pages,)
    page_ends: NDArray[np.int64]  # (pages,) exclusive

    def __str__(self) -> str:
        return self.codes[: self.size].astype("<u4").tobytes().decode("utf-32-le")


def content_from_text(text: str) -> Content:
    """A book's content from one text, in which U+000C separates pages.

    Raises InvalidText for NUL, half a surrogate pair or a pile of combining marks, EmptyText when there is no
    letter and no digit.

    >>> content_from_text("one\\ftwo").page_count
    2
    """
    text, page_breaks = _checked(text, "text")
    return Content(text, page_breaks + 1 if page_breaks else None)


def content_from_pages(pages: Sequence[str]) -> Content:
    """A book's content from its pages; a U+000C inside a page counts as a line break.

    Raises as `content_from_text` does.

    >>> content_from_pages(["one", "", "two"])
    Content(text='one\\x0c\\x0ctwo', page_count=3)
    """
    if not pages:
        raise EmptyText(
            "The book has no pages. Send at least one page with a letter or a digit.", field="pages"
        )
    text = PAGE_BREAK.join(pages)
    text, page_breaks = _checked(text, "pages")
    if page_breaks != len(pages) - 1:
        text = PAGE_BREAK.join(page.replace(PAGE_BREAK, "\n") for page in pages)
        text, _ = _checked(text, "pages")
    return Content(text, len(pages))


def codes_of(text: str) -> NDArray[np.uint32]:
    """The code points of a string, (characters,); halves of surrogate pairs stay as they are."""
    # numpy keeps strings in UTF-32, which it makes four times as fast as the codec does
    return np.array([text]).view(np.uint32)[: len(text)]


def _checked(text: str, field: str) -> tuple[str, int]:
    """The text in NFC, and its number of page breaks."""
    from app.core.text import kernels

    seen, page_breaks = kernels.inspect(codes_of(text), unicode_table().traits)
    if seen & (NUL | SURROGATE | PILE):
        raise InvalidText(_what_is_wrong(text, seen, field), field=field)
    if not seen & ALNUM:
        raise EmptyText("There is no letter and no digit. Send the text of the book.", field=field)
    return unicodedata.normalize("NFC", text) if seen & NFC_SUSPECT else text, page_breaks


def _what_is_wrong(text: str, seen: int, field: str) -> str:
    if seen & NUL:
        return (
            f"A NUL character (U+0000) at {_place(text, text.index(chr(0)), field)}. Remove it from the text."
        )
    codes = codes_of(text)
    if seen & SURROGATE:
        position = int(np.argmax((codes >= 0xD800) & (codes < 0xE000)))
        where = f"(U+{ord(text[position]):04X}) at {_place(text, position, field)}"
        return f"Half a surrogate pair {where}. Send well-formed Unicode."
    marked = (unicode_table().traits[codes] & COMBINING) != 0
    places = np.arange(codes.size, dtype=np.int32)
    run = places - np.maximum.accumulate(np.where(marked, np.int32(-1), places))
    place = _place(text, int(np.argmax(run > MAX_COMBINING)), field)
    return f"More than {MAX_COMBINING} combining marks in a row at {place}. No text has so many; remove them."


def _place(text: str, position: int, field: str) -> str:
    if field == "text":
        return f"character {position}"
    page = text.count(PAGE_BREAK, 0, position)
    return f"character {position - text.rfind(PAGE_BREAK, 0, position) - 1} of pages[{page}]"


def content_key(content: Content) -> bytes:
    """SHA-256 of the content's UTF-8; 32 bytes."""
    return sha256(content.text.encode()).digest()


def normalise(content: Content) -> NormalText:
    """The normal form of a book.

    1. Unicode NFKC, then lower case code point by code point (final sigma as sigma); data of Unicode 14.
    2. Letters and digits (L*, N*) stay, marks (Mn, Mc) stay where they follow one; default-ignorable and
       format characters and enclosing marks go.
    3. A hyphen (U+002D, U+2010, U+00AD) after a letter, then blanks around one line break, one page break or
       one of each, then a lower-case letter: all but the letters goes, so the word is whole again.
    4. Any other run of characters is one space; none at either end, none between two of Han, Kana and their
       like.

    >>> str(normalise(content_from_text("(Nice)  Day, Straße ﬁn-\\nished!")))
    'nice day straße finished'
    """
    text = content.text
    normal = _normalise(text, content.page_count)
    if normal is None:
        normal = _normalise(unicodedata.normalize("NFKC", text), content.page_count)
    assert normal is not None
    return normal


def _normalise(text: str, page_count: int | None) -> NormalText | None:
    """The normal form; None where a neighbour matters, so the text must be put into NFKC as a whole first."""
    from app.core.text import kernels

    table, codes = unicode_table(), codes_of(text)
    page_starts = np.zeros(page_count or 1, dtype=np.int64)
    capacity = len(text) + len(text) // 8 + 64
    while True:
        out = np.empty(capacity + PADDING, dtype=np.uint32)
        size, seen, status = kernels.normalise(
            codes, table.entries, table.traits, table.expansions, out[:capacity], page_starts
        )
        if status != kernels.TOO_SMALL:
            break
        capacity *= 2
    if status == kernels.NEEDS_WHOLE_NFKC:
        return None
    out = out[: size + PADDING]
    out[size:] = 0
    kinds = np.empty(size if seen & KIND else 0, dtype=np.uint8)
    if kinds.size:
        kernels.kinds_of(out[:size], table.entries, kinds)
    if page_count is None:
        return NormalText(out, size, kinds, page_starts[:0], page_starts[:0])
    return NormalText(out, size, kinds, page_starts, slice_ends(out, size, page_starts))


def slice_ends(codes: NDArray[np.uint32], size: int, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where slices of a normal form end, exclusive: before the next one and the space between them."""
    if starts.size == 0:
        return starts
    ends = np.append(starts[1:], size)
    spaced: NDArray[np.bool_] = (ends > starts) & (ends < size) & (codes[ends - 1] == SPACE)
    return ends - spaced
