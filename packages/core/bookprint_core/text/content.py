"""The content of a book: one text in Unicode NFC, in which U+000C separates known pages.

Signatures are computed from its `normal_form`, after Spasojević and Poncin (2011, section III-B).
"""

import re
import unicodedata
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

import numpy as np

from bookprint_core.errors import EmptyText, InvalidText
from bookprint_core.model import PAGE_BREAK, Content
from bookprint_core.text import unicode_table as u

_PART = 1 << 20  # characters normalised at once; no other thread runs meanwhile

_LETTER_OR_DIGIT = re.compile("[0-9A-Za-z]")

_CONTEXT = 2 * u.MAX_COMBINING  # characters on either side of a cut, read to find any that combine


def content_from_text(text: str) -> Content:
    """Make the content of a book from one text, in which U+000C separates pages.

    Raises InvalidText for NUL, a lone surrogate or too many combining marks in a row, and EmptyText if there
    is no letter and no digit.

    >>> content_from_text("one\\ftwo").page_count
    2
    """
    text, page_breaks = _checked(text, "text")
    return Content(text, page_breaks + 1 if page_breaks else None)


def content_from_pages(pages: Sequence[str]) -> Content:
    """Make the content of a book from its pages; U+000C inside a page becomes a line feed.

    Raises the errors of `content_from_text`.

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


def _checked(text: str, field: str) -> tuple[str, int]:
    """Return the text in NFC and its number of page breaks; raise the errors of `content_from_text`."""
    from bookprint_core.text import kernels

    if text.isascii() and "\0" not in text and _LETTER_OR_DIGIT.search(text):
        # str.count would take as long as this branch saves
        return text, int(np.count_nonzero(np.frombuffer(text.encode(), np.uint8) == ord(PAGE_BREAK)))
    seen, page_breaks = kernels.inspect(kernels.codes_of(text), u.unicode_table().traits)
    if seen & (u.NUL | u.SURROGATE | u.PILE):
        raise InvalidText(_reason(text, seen, field), field=field)
    if not seen & u.ALNUM:
        raise EmptyText("There is no letter and no digit. Send the text of the book.", field=field)
    return in_form("NFC", text) if seen & u.NFC_SUSPECT else text, page_breaks


def in_form(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Return the text in a normal form of Unicode, computed part by part."""
    parts, start = [], 0
    while start < len(text):
        end = start + _PART
        while end < len(text) and _combines(form, text[end - _CONTEXT : end], text[end : end + _CONTEXT]):
            end += 1
        parts.append(unicodedata.normalize(form, text[start:end]))
        start = end
    return "".join(parts)


def _combines(form: Literal["NFC", "NFKC"], before: str, after: str) -> bool:
    """Return whether normalisation of the joined parts changes characters across the cut."""
    this, other, both = (unicodedata.normalize(form, each) for each in (before, after, before + after))
    return this + other != both


def _reason(text: str, seen: int, field: str) -> str:
    if seen & u.NUL:
        return (
            f"A NUL character (U+0000) at {_where(text, text.index(chr(0)), field)}. Remove it from the text."
        )
    from bookprint_core.text import kernels

    codes = kernels.codes_of(text)
    if seen & u.SURROGATE:
        position = int(np.argmax((codes >= 0xD800) & (codes < 0xE000)))
        where = f"(U+{ord(text[position]):04X}) at {_where(text, position, field)}"
        return f"Half a surrogate pair {where}. Send well-formed Unicode."
    marked = (u.unicode_table().traits[codes] & u.COMBINING) != 0
    places = np.arange(codes.size, dtype=np.int32)
    run = places - np.maximum.accumulate(np.where(marked, np.int32(-1), places))
    place = _where(text, int(np.argmax(run > u.MAX_COMBINING)), field)
    many = f"More than {u.MAX_COMBINING} combining marks"
    return f"{many} in a row at {place}. No text has so many; remove them."


def _where(text: str, position: int, field: str) -> str:
    if field == "text":
        return f"character {position}"
    page = text.count(PAGE_BREAK, 0, position)
    return f"character {position - text.rfind(PAGE_BREAK, 0, position) - 1} of pages[{page}]"


def content_key(content: Content) -> bytes:
    """Compute the SHA-256 of the content's UTF-8; 32 bytes."""
    return sha256(content.text.encode()).digest()
