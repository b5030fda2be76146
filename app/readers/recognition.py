"""Which format a file has, found from its content and never from its name, and the one book it holds."""

from collections.abc import Callable

from app.core.errors import NoText, UnsupportedFormat
from app.readers.extraction import Extraction
from app.readers.formats import alto, hathi, mets, page, pages, tei
from app.readers.package import Package, expanded, is_archive, open_package, spooled
from app.readers.source import Source
from app.readers.xml import root_name

_BY_ROOT: dict[str, Callable[[Source], Extraction]] = {
    alto.ROOT: alto.read,
    mets.ROOT: mets.read,
    page.ROOT: page.read,
    **dict.fromkeys(tei.ROOTS, tei.read),
}
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
    if hathi.recognises(package):
        return hathi.read(package, _read_member)
    found = mets.documents(package)
    if found:
        return mets.read_package(package, found, _read_member)
    return pages.read(package, _read_member)


def _read_member(source: Source) -> Extraction:
    """A file of a package; of archives only those that are books themselves, as an EPUB is one."""
    if not is_archive(source):
        return read_page_file(source)
    package = open_package(spooled(source))
    if package is None or "META-INF/container.xml" not in package.members:
        raise UnsupportedFormat(f"{source.name} is an archive within an archive. Send it on its own.")
    return read_package(package)


def read_page_file(source: Source) -> Extraction:
    """The book or the page in a file that is no package; it may be blank. Raises as `read_book` does."""
    head = source.head()
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        reader = _BY_ROOT.get(root_name(head) or "")
        if reader is not None:
            return reader(source)
    raise UnsupportedFormat(f"{source.name} is in no format that is read here. See docs/formats.md.")
