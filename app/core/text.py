"""From what a client sends to the text that signatures see.

Two steps. `content_from_text` and `content_from_pages` give the book's content: Unicode NFC, pages joined by U+000C,
and the 32-byte key that tells whether two contents are the same. `normalise` gives the normal form: NFKC, lower
case, every run of anything else one space, words split at a line's end joined again.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from app.core.backend import Codes, kernels
from app.core.errors import EmptyText, InvalidText
from app.core.model import PAGE_BREAK, Content
from app.core.unicode_table import ALNUM, KIND, NFC_SUSPECT, NUL, unicode_table

PADDING = 8
"""Zeros after the normal form, so that a kernel may read an n-gram past its end."""


@dataclass(frozen=True, slots=True, eq=False)
class NormalText:
    """The normal form of a book as code points, and what the kernels need to know about it."""

    codes: NDArray[np.uint16] | NDArray[np.uint32]  # (size + PADDING,)
    size: int  # code points
    kinds: NDArray[np.uint8]  # (size,) kind of script of each; empty for a text of alphabets alone
    page_starts: NDArray[np.int64]  # (pages,)
    page_ends: NDArray[np.int64]  # (pages,) exclusive

    def __str__(self) -> str:
        return self.codes[: self.size].astype("<u4").tobytes().decode("utf-32-le")


def content_from_text(text: str) -> Content:
    """A book's content from one text, in which U+000C separates pages.

    Raises InvalidText for NUL or half a surrogate pair, EmptyText when there is no letter and no digit.

    >>> content_from_text("one\\ftwo").page_count
    2
    """
    return _content(text, text.count(PAGE_BREAK) + 1 if PAGE_BREAK in text else None, "text")


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
    joined = PAGE_BREAK.join(pages)
    if joined.count(PAGE_BREAK) != len(pages) - 1:
        joined = PAGE_BREAK.join(page.replace(PAGE_BREAK, "\n") for page in pages)
    return _content(joined, len(pages), "pages")


def _content(text: str, page_count: int | None, field: str) -> Content:
    try:
        codes = _codes(text)
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise InvalidText(
            f"Half a surrogate pair (U+{code:04X}) at {_place(text, error.start, field)}. Send well-formed Unicode.",
            field=field,
        ) from None
    seen, _ = kernels().inspect(codes, unicode_table().traits)
    if seen & NUL:
        raise InvalidText(
            f"A NUL character (U+0000) at {_place(text, text.index(chr(0)), field)}. Remove it from the text.",
            field=field,
        )
    if not seen & ALNUM:
        raise EmptyText("The text has no letter and no digit. Send the text of the book.", field=field)
    if seen & NFC_SUSPECT:
        text = unicodedata.normalize("NFC", text)
    return Content(text, page_count)


def _place(text: str, position: int, field: str) -> str:
    if field == "text":
        return f"character {position}"
    page = text.count(PAGE_BREAK, 0, position)
    return f"character {position - text.rfind(PAGE_BREAK, 0, position) - 1} of pages[{page}]"


def content_key(content: Content) -> bytes:
    """SHA-256 of the content's UTF-8; 32 bytes."""
    return sha256(content.text.encode()).digest()


def _codes(text: str) -> NDArray[np.uint8] | NDArray[np.uint32]:
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    try:
        return np.frombuffer(text.encode("latin-1"), dtype=np.uint8)
    except UnicodeEncodeError:
        return np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)


def normalise(content: Content) -> NormalText:
    """The normal form of a book.

    1. Unicode NFKC, then lower case code point by code point (final sigma as sigma); data of Unicode 14.
    2. Letters and digits (L*, N*) stay, marks (Mn, Mc) stay where they follow one; default-ignorable and format
       characters and enclosing marks go.
    3. A hyphen (U+002D, U+2010, U+00AD) after a letter, then blanks around one line or page break, then a lower-case
       letter: all of it but the letters goes, so the word is whole again.
    4. Any other run of characters is one space; none at either end, none between two of Han, Kana and the like.

    >>> str(normalise(content_from_text("(Nice)  Day, Straße ﬁn-\\nished!")))
    'nice day straße finished'
    """
    text = content.text
    normal = _normalise(_codes(text), content.page_count)
    if normal is None:
        normal = _normalise(_codes(unicodedata.normalize("NFKC", text)), content.page_count)
    assert normal is not None
    return normal


def _normalise(codes: Codes, page_count: int | None) -> NormalText | None:
    """The normal form; None where a neighbour matters, so the text must be put into NFKC as a whole first."""
    table = unicode_table()
    wide = codes.dtype == np.uint32 and int(kernels().inspect(codes, table.traits)[1]) > 0xFFFF
    page_starts = np.zeros(int(np.count_nonzero(codes == 0x0C)) + 1, dtype=np.int64)
    capacity = codes.size + codes.size // 8 + 64
    while True:
        out = np.empty(capacity + PADDING, dtype=np.uint32 if wide else np.uint16)
        size, seen, status = kernels().normalise(
            codes, table.entries, table.traits, table.expansions, out, page_starts
        )
        if status != 1:
            break
        capacity *= 2
    if status == 2:
        return None
    out = out[: size + PADDING]
    out[size:] = 0
    kinds = np.empty(size if seen & KIND else 0, dtype=np.uint8)
    if kinds.size:
        kernels().kinds_of(out[:size], table.entries, kinds)
    if page_count is None:
        page_starts = page_starts[:0]
    page_ends = np.append(page_starts[1:], size) if page_starts.size else page_starts
    page_ends = page_ends - ((page_ends > page_starts) & (page_ends < size) & (out[page_ends - 1] == 0x20))
    return NormalText(out, size, kinds, page_starts, page_ends)
