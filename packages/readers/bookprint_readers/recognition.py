"""Recognition of a file's format, by its content and never by its name, and reading of its one book.

Other files are refused with the name of their format and advice.
"""

import re
from collections.abc import Callable

from bookprint_core.book_rules import MAX_PAGES
from bookprint_core.errors import NoText, SeveralBooks, UnsupportedFormat
from bookprint_readers import jsonl
from bookprint_readers.extraction import Extraction, with_characters_only, with_doubts, with_plain_labels
from bookprint_readers.formats import (
    archive_item,
    epub,
    hathi,
    hocr,
    html,
    mets,
    ocr_xml,
    openiti,
    pages,
    pdf,
    tei,
    txt,
)
from bookprint_readers.package import Package, expanded, is_archive, open_inner, open_package
from bookprint_readers.source import HEAD_BYTES, Source, too_many_pages
from bookprint_readers.syntax.xml import root_name

_XML = re.compile(rb"(\xef\xbb\xbf)?\s*<(\?xml\b|[a-z_][\w:.-]*(\s+[\w:.-]+\s*=[^<>]*)?/?>)", re.IGNORECASE)

_BY_ROOT: dict[str, Callable[[Source], Extraction]] = {
    "alto": ocr_xml.read_alto,
    "DjVuXML": ocr_xml.read_djvu,
    "PcGts": ocr_xml.read_page,
    mets.ROOT: mets.read,
    **dict.fromkeys(tei.ROOTS, tei.read),
}
"""Readers of XML files, by the local name of the root element."""

_BULK = "Send them in bulk: POST /v1/books:bulk, or bookprint ingest."

_MARC = re.compile(
    rb"\s*(\d{5})[\x20-\x7e]{5}\d\d\d{5}[\x20-\x7e]{3}4[\dA-Za-z ]{3}(?:[0-9A-Za-z]{3}\d{9})+\x1e"
)
"""Leader and directory of a MARC record, which begin with its length (ISO 2709)."""

_PARQUET = (b"PAR1", b"PARE")

_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (
        rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|II[*+]\0|MM\0[*+]|\0\0\0\x0cjP  |\xff\x4f\xff\x51|8BPS\0"
        rb"|RIFF....WEBP|\x97JB2|BM.{4}\0{4}|....ftyp(?:heic|avif|mif1)",
        "a picture",
        "Have it recognised (OCR) first.",
    ),
    (rb"AT&TFORM", "a DjVu file", "Send its text as DjVuXML, which djvutoxml writes."),
    (
        rb".{60}(?:BOOKMOBI|TEXtREAd)|TPZ0|ITOLITLS",
        "an electronic book of another kind",
        "Convert it to EPUB first.",
    ),
    (
        rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1|\{\\rtf|\xffWPC|%!PS-|\xc5\xd0\xd3\xc6",
        "a word processor's or printer's file",
        "Save it as PDF or as plain text first.",
    ),
    (
        rb"7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|MSCF\0|\x28\xb5\x2f\xfd|\x1f\x9d",
        "an archive of a kind that is not opened here",
        "Pack its files as zip or tar first.",
    ),
    (
        rb"ID3[\x02-\x04]|OggS\0|fLaC\0|RIFF....(?:WAVE|AVI )|....ftyp|\x1aE\xdf\xa3",
        "sound or video",
        "Send a text.",
    ),
)
"""Kinds of files that are not read: pattern of the first bytes, name of the kind, and advice."""


def read_book(source: Source) -> Extraction:
    """Return the one book in a file. Raises subclasses of UnusableFile."""
    source = expanded(source)
    package = open_package(source)
    if package is not None:
        return read_package(package)
    return _as_a_book(read_page_file(source), source.name)


def read_package(package: Package) -> Extraction:
    """Return the one book in an archive or a folder. Raises subclasses of UnusableFile."""
    return _as_a_book(_read_package(hathi.unpacked(package)), package.name)


def _as_a_book(extraction: Extraction, name: str) -> Extraction:
    """Return a reader's result in a form that can be stored. Raises FileTooLarge and NoText."""
    if len(extraction.pages) > MAX_PAGES:
        raise too_many_pages(name)
    if not pages.has_text(extraction.pages):
        raise NoText(f"{name} holds no text. Have its pages recognised (OCR) first.")
    extraction = with_doubts(with_characters_only(extraction))
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
    return epub.described(package, pages.read(package, _read_member))


def read_page_file(source: Source) -> Extraction:
    """Return the book or page, perhaps blank, in a file other than a package. Raises as `read_book` does."""
    head = source.head()
    if pdf.recognises(head):
        return pdf.read(source)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        root = root_name(head) or ""
        reader = _BY_ROOT.get(root)
        if reader is not None:
            return reader(source)
        if root in ocr_xml.ABBYY_ROOTS and ocr_xml.is_abbyy(head):
            return ocr_xml.read_abbyy(source)
    if hocr.recognises(head):
        return hocr.read(source)
    if html.recognises(head):
        return html.read(source)
    if _XML.match(head):
        raise UnsupportedFormat(
            f"{source.name} is XML of a kind that is not read here. See docs/reference/formats.md."
        )
    if openiti.recognises(head):
        return openiti.read(source)
    refuse_what_is_no_book(source)
    return txt.read(source)


def _read_member(source: Source) -> Extraction:
    """Return the book or page in a file of a package. Archives other than EPUB are refused."""
    if source.size <= HEAD_BYTES:  # opening it again in the archive takes longer than reading it
        source = Source.of_bytes(source.read(), source.name)
    if not is_archive(source):
        return read_page_file(source)
    package = open_inner(source)
    if package is None or not epub.recognises(package):
        raise UnsupportedFormat(f"{source.name} is an archive within an archive. Send it on its own.")
    return epub.read(package)


def refuse_what_is_no_book(source: Source) -> None:
    """Raise SeveralBooks, NoText or UnsupportedFormat for a file of a known kind other than one book."""
    head = source.head()
    if head.startswith(_PARQUET):
        raise SeveralBooks(f"{source.name} is a Parquet table, which contains one book per row. {_BULK}")
    if jsonl.BEGINNING.match(head.lstrip(b"\xef\xbb\xbf \t\r\n[")):
        raise SeveralBooks(f"{source.name} is JSON, which contains one book per line. {_BULK}")
    record = _MARC.match(head)
    if record and int(record[1]) >= source.size:
        raise NoText(
            f"{source.name} is a MARC record, without the text of its book. Send the text as `file`, and "
            "the record as `metadata`."
        )
    if record:
        raise SeveralBooks(
            f"{source.name} holds several MARC records, without the texts of their books. Ingest them with "
            "the texts: bookprint ingest RECORDS --texts DIR."
        )
    for start, kind, remedy in _KINDS:
        if re.match(start, head, re.DOTALL):
            raise UnsupportedFormat(f"{source.name} is {kind}, which is not read here. {remedy}")
