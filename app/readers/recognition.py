"""Which format a file has, found from its content and never from its name, and the one book it holds."""

from collections.abc import Callable

from app.core.errors import NoText, UnsupportedFormat
from app.readers.extraction import Extraction
from app.readers.formats import abbyy, alto, archive_item, djvu, hocr, pdf
from app.readers.package import Package, expanded, open_package
from app.readers.refusals import refuse_what_is_no_book
from app.readers.source import Source
from app.readers.xml import root_name

_BY_ROOT: dict[str, Callable[[Source], Extraction]] = {alto.ROOT: alto.read, djvu.ROOT: djvu.read}
"""Formats of one XML file, by the local name of the document's element."""


def read_book(source: Source) -> Extraction:
    """The one book of a file. Raises the kinds of UnusableFile."""
    source = expanded(source)
    package = open_package(source)
    extraction = read_page_file(source) if package is None else read_package(package)
    if not any(character.isalnum() for page in extraction.pages for character in page):
        raise NoText(f"{source.name} holds no text. Have its pages recognised (OCR) first.")
    return extraction


def read_package(package: Package) -> Extraction:
    """The one book in an archive or a folder. Raises the kinds of UnusableFile."""
    if archive_item.recognises(package):
        return archive_item.read(package, read_page_file)
    raise UnsupportedFormat("packages: to come")


def read_page_file(source: Source) -> Extraction:
    """The book or the page in a file that is no package; it may be blank. Raises as `read_book` does."""
    head = source.head()
    if pdf.recognises(head):
        return pdf.read(source)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        root = root_name(head) or ""
        reader = _BY_ROOT.get(root)
        if reader is not None:
            return reader(source)
        if root in abbyy.ROOTS and abbyy.recognises(head):
            return abbyy.read(source)
    if hocr.recognises(head):
        return hocr.read(source)
    refuse_what_is_no_book(source)
    raise UnsupportedFormat(f"{source.name} is in no format that is read here. See docs/formats.md.")
