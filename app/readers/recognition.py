"""Which format a file has, found from its content and never from its name, and the one book it holds."""

import re
from collections.abc import Callable

from app.core.errors import NoText, UnsupportedFormat
from app.core.json_limits import MAX_PAGES
from app.readers.extraction import Extraction
from app.readers.formats import (
    abbyy,
    alto,
    archive_item,
    djvu,
    epub,
    hathi,
    hocr,
    html,
    mets,
    page,
    pages,
    pdf,
    tei,
    txt,
)
from app.readers.package import Package, expanded, is_archive, open_inner, open_package
from app.readers.page_labels import with_plain_labels
from app.readers.refusals import refuse_what_is_no_book
from app.readers.source import HEAD_BYTES, Source, too_many_pages
from app.readers.syntax.characters import with_characters_only
from app.readers.syntax.xml import root_name

_LETTER_OR_DIGIT = re.compile(r"[^\W_]")

_XML = re.compile(rb"(\xef\xbb\xbf)?\s*<(\?xml\b|[a-z_][\w:.-]*(\s+[\w:.-]+\s*=[^<>]*)?/?>)", re.IGNORECASE)

_BY_ROOT: dict[str, Callable[[Source], Extraction]] = {
    alto.ROOT: alto.read,
    djvu.ROOT: djvu.read,
    mets.ROOT: mets.read,
    page.ROOT: page.read,
    **dict.fromkeys(tei.ROOTS, tei.read),
}
"""Formats of one XML file, by the local name of the document's element."""


def read_book(source: Source) -> Extraction:
    """The one book of a file. Raises the kinds of UnusableFile."""
    source = expanded(source)
    package = open_package(source)
    if package is not None:
        return read_package(package)
    return _as_a_book(read_page_file(source), source.name)


def read_package(package: Package) -> Extraction:
    """The one book in an archive or a folder. Raises the kinds of UnusableFile."""
    return _as_a_book(_read_package(hathi.unpacked(package)), package.name)


def _as_a_book(extraction: Extraction, name: str) -> Extraction:
    """What a reader found, as it can be stored; raises FileTooLarge and NoText."""
    if len(extraction.pages) > MAX_PAGES:
        raise too_many_pages(name)
    if not any(map(_LETTER_OR_DIGIT.search, extraction.pages)):
        raise NoText(f"{name} holds no text. Have its pages recognised (OCR) first.")
    extraction = with_characters_only(extraction)
    return with_plain_labels(extraction) if extraction.labels else extraction


def _read_package(package: Package) -> Extraction:
    if epub.recognises(package):
        return epub.read(package)
    if hathi.recognises(package):
        return hathi.read(package, _read_member)
    if archive_item.recognises(package):
        return archive_item.read(package, _read_member)
    documents = mets.documents(package)
    if documents:
        return mets.read_package(package, documents, _read_member)
    return pages.read(package, _read_member)


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
    if html.recognises(head):
        return html.read(source)
    if _XML.match(head):
        raise UnsupportedFormat(f"{source.name} is XML of a kind that is not read here. See docs/formats.md.")
    refuse_what_is_no_book(source)
    return txt.read(source)


def _read_member(source: Source) -> Extraction:
    """A file of a package; of archives only those that are books themselves, as an EPUB is one."""
    if source.size <= HEAD_BYTES:  # opening it in the archive takes longer than reading it
        source = Source.of_bytes(source.read(), source.name)
    if not is_archive(source):
        return read_page_file(source)
    package = open_inner(source)
    if package is None or not epub.recognises(package):
        raise UnsupportedFormat(f"{source.name} is an archive within an archive. Send it on its own.")
    return epub.read(package)
