"""Plain text: one book per file, with U+000C between pages or, as from pdftotext, after each page."""

import re

from bookprint_core.errors import UnsupportedFormat
from bookprint_readers.extraction import Extraction
from bookprint_readers.gutenberg import without_licence
from bookprint_readers.source import Source
from bookprint_readers.syntax.encoding import decoded

NAME = "txt"

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]+")
"""Control characters, except those that break lines and pages."""

_MOST_CONTROLS = 0.02  # share of control and damaged characters above which bytes are not text
_FEW_CONTROLS = 4  # control characters that a short text may contain, such as OCR of a blank page


def read(source: Source) -> Extraction:
    """Return the book in a text file. Raises UnsupportedFormat if the bytes are not text."""
    found = decoded(source.read_text())
    if found is None:
        raise _no_text_file(source)
    text, warnings = found.text, list(found.warnings)
    without = _CONTROLS.sub("", text)
    removed = len(text) - len(without)
    if removed + without.count("\ufffd") > max(
        _MOST_CONTROLS * len(text), min(_FEW_CONTROLS, len(without) // 4)
    ):
        raise _no_text_file(source)
    if removed:
        warnings.append(f"{removed:,} control characters were left out.")
    # DOS and old Macs use other line ends.
    book = without_licence(without.replace("\r\n", "\n").replace("\r", "\n"))
    pages = book.text.split("\f")
    paginated = len(pages) > 1
    if paginated and not pages[-1] and all(page.endswith("\n") for page in pages[:-1] if page):
        pages = pages[:-1]  # each form feed ends a page and is alone on a line
    return Extraction(NAME, pages, paginated, printed_lines=True, metadata=book.metadata, warnings=warnings)


def _no_text_file(source: Source) -> UnsupportedFormat:
    return UnsupportedFormat(
        f"{source.name} is in no format that is read here. See docs/reference/formats.md."
    )
