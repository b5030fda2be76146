"""Which format a file has, found from its content and never from its name, and the one book it holds."""

from collections.abc import Callable

from app.core.errors import FileTooLarge, NoText, UnsupportedFormat
from app.readers.extraction import Extraction
from app.readers.formats import alto, epub, html, txt
from app.readers.package import expanded, open_package
from app.readers.source import Source
from app.readers.xml import root_name

_BY_ROOT: dict[str, Callable[[Source], Extraction]] = {alto.ROOT: alto.read}
"""Formats of one XML file, by the local name of the document's element."""


_MOST_PAGES = 100_000


def read_book(source: Source) -> Extraction:
    """The one book of a file. Raises the kinds of UnusableFile."""
    source = expanded(source)
    package = open_package(source)
    if package is not None:
        if epub.recognises(package):
            return _with_text(epub.read(package), source)
        raise UnsupportedFormat("packages: to come")
    return _with_text(read_page_file(source), source)


def read_page_file(source: Source) -> Extraction:
    """The book or the page in a file that is no package; it may be blank. Raises as `read_book` does."""
    head = source.head()
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        reader = _BY_ROOT.get(root_name(head) or "")
        if reader is not None:
            return reader(source)
    if html.recognises(head):
        return html.read(source)
    if head.lstrip().startswith(b"<?xml"):
        raise UnsupportedFormat(f"{source.name} is XML of a kind that is not read here. See docs/formats.md.")
    return txt.read(source)


def _with_text(extraction: Extraction, source: Source) -> Extraction:
    if len(extraction.pages) > _MOST_PAGES:
        raise FileTooLarge(f"{source.name} has more than {_MOST_PAGES:,} pages. Split it into its books.")
    if not any(character.isalnum() for page in extraction.pages for character in page):
        raise NoText(f"{source.name} holds no text. Have its pages recognised (OCR) first.")
    return extraction
