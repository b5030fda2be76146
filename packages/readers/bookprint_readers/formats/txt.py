"""Plain text: one book a file, U+000C between its pages or, as pdftotext writes it, after each of them."""

import re

from bookprint_core.errors import UnsupportedFormat
from bookprint_readers.extraction import Extraction
from bookprint_readers.gutenberg import without_licence
from bookprint_readers.source import Source
from bookprint_readers.syntax.encoding import decoded

NAME = "txt"

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]+")
"""Characters that no text has, but those that break lines and pages."""

_MOST_CONTROLS = 0.02  # share of control and damaged characters above which bytes are not text
_FEW_CONTROLS = 4  # so many a short text may have: of a blank page OCR may read nothing else


def read(source: Source) -> Extraction:
    """Return the book in a text file; raises UnsupportedFormat if the bytes are not text."""
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
    # Lines may end as DOS or an old Mac ends them.
    book = without_licence(without.replace("\r\n", "\n").replace("\r", "\n"))
    pages = book.text.split("\f")
    paginated = len(pages) > 1
    if paginated and not pages[-1] and all(page.endswith("\n") for page in pages[:-1] if page):
        pages = pages[:-1]  # each form feed ends a page, and stands on a line of its own
    return Extraction(NAME, pages, paginated, printed_lines=True, metadata=book.metadata, warnings=warnings)


def _no_text_file(source: Source) -> UnsupportedFormat:
    return UnsupportedFormat(
        f"{source.name} is in no format that is read here. See docs/reference/formats.md."
    )
