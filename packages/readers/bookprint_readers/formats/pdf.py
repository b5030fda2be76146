"""PDF with a text layer, read by PDFium: the text of each page, line by line.

PDFium is not thread-safe, so documents are read one at a time. Each page is closed before the next is opened.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from string import punctuation
from threading import Lock

import pypdfium2
from pypdfium2 import PdfiumError
from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

from bookprint_core.book_rules import MAX_PAGES, known_labels
from bookprint_core.errors import BrokenFile, EncryptedFile
from bookprint_core.model import PAGE_BREAK, Metadata
from bookprint_core.text.catalogue_values import isbns_alone
from bookprint_readers import gutenberg
from bookprint_readers.extraction import Extraction, clean, description, identifier
from bookprint_readers.source import Source, too_many_pages
from bookprint_readers.syntax.xml import document, local_name

NAME = "pdf"

_MARK = re.compile(rb"(?:\A|[\r\n\0])\s*%PDF-\d")
_MARK_WITHIN = 1024
"""First bytes that may contain the mark (Adobe's implementation notes to PDF 1.7, section H.3)."""

_PDFIUM = Lock()

_DIVIDED = re.compile("\ufffe(?=\\w)")
"""PDFium's mark in place of a hyphen and the line break after it."""

_BETWEEN_PAGES = f"\n{PAGE_BREAK}\n"  # makes each page a paragraph, because PDF has no blank lines

_CONTROL = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)])

_FILLING = re.compile(
    r"""(?:untitled|unnamed|unbenannt|sans[ ]titre|ohne[ ]titel|no[ ]job[ ]name|title|titel|titre|document
        |dokument|presentation|präsentation|powerpoint[ ]presentation|full[ ]page[ ]photo|layout|slide|folie
        |book|buch|page|seite|scan)[ _-]?\d*
    |\d{5,}
    |""",
    re.IGNORECASE | re.VERBOSE,
)
"""Titles that programs write if the title is unknown, without surrounding punctuation."""

_NOBODY = {"admin", "administrator", "anonymous", "author", "owner", "unknown", "user"}
"""Names that programs write if the author is unknown."""

_FILE_NAME = re.compile(
    r"""(?:[a-z]:\\|file:|/).*
    |.*\.(?:pdf|docx?|dotx?|rtf|odt|sxw|wpd|wps|pages|txt|tex|dvi|e?ps|indd|inx|pm[d\d]|p65|qx[dp]|fm|book|mif
        |ai|cdr|pub|pptx?|xlsx?|x?html?|xml|epub|tiff?|jpe?g|png|jp2|djvu)""",
    re.IGNORECASE | re.VERBOSE,
)
_DOI = re.compile(r"\b10\.\d{4,9}/\S+")
_PROGRAM = re.compile(r"^(?:Microsoft (?:Office )?\w+|OpenOffice|LibreOffice) +- +", re.IGNORECASE)

_PACKET_BEGIN, _PACKET_END = b"<?xpacket begin", b"<?xpacket end"

_PACKET_OF_A_PDF = (b"ns.adobe.com/pdf/", b"application/pdf")
"""Marks that distinguish the packet of a PDF from the packets of its pictures."""

_LONGEST_PACKET = 1 << 20  # maximum bytes of a packet


def recognises(head: bytes) -> bool:
    """Return whether the file is a PDF. Other bytes may precede its mark."""
    return _MARK.search(head[:_MARK_WITHIN]) is not None


def read(source: Source) -> Extraction:
    """Return the text of every page; a picture is blank. Raises BrokenFile, EncryptedFile, FileTooLarge."""
    with _PDFIUM, _document(source) as document:
        if len(document) > MAX_PAGES:
            raise too_many_pages(source.name)
        pages, damaged = [], []
        for index in range(len(document)):
            try:
                pages.append(_text(document, index))
            except PdfiumError:
                pages.append("")
                damaged.append(index + 1)
        if len(damaged) == len(pages):
            raise BrokenFile(f"{source.name} is a damaged PDF: none of its {len(pages)} pages can be read.")
        labels = known_labels([_label(document, index) for index in range(len(document))])
        information = {key: _entry(document, key) for key in ("Title", "Author")}
    warnings = [f"Page {number} is damaged and taken as blank." for number in damaged[:10]]
    text = _BETWEEN_PAGES.join(pages)
    book = gutenberg.without_licence(text)
    return Extraction(
        NAME,
        _with_blanks(text, book.text),
        paginated=True,
        printed_lines=True,
        metadata=_metadata(source, information) if book.metadata == Metadata() else book.metadata,
        labels=labels,
        warnings=warnings,
    )


def _with_blanks(text: str, book: str) -> list[str]:
    """Return the pages of `book`, which is part of `text`, with blank pages for the rest of `text`."""
    start = text.index(book)
    before, after = text.count(_BETWEEN_PAGES, 0, start), text.count(_BETWEEN_PAGES, start + len(book))
    return [""] * before + book.split(_BETWEEN_PAGES) + [""] * after


@contextmanager
def _document(source: Source) -> Iterator[pypdfium2.PdfDocument]:
    with source.opened() as stream:
        try:
            # PDFium cannot seek in a member of an archive.
            document = pypdfium2.PdfDocument(stream if stream.seekable() else source.read())
        except PdfiumError as exc:
            if exc.err_code in {FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY}:
                raise EncryptedFile(f"{source.name} is encrypted. Send it without its password.") from exc
            raise BrokenFile(f"{source.name} is a damaged PDF: {exc}") from exc
        with closing(document):
            yield document


def _text(document: pypdfium2.PdfDocument, index: int) -> str:
    with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
        text = text_page.get_text_range()
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROL)
    return _DIVIDED.sub("\ufffe\n", text)


def _label(document: pypdfium2.PdfDocument, index: int) -> str | None:
    """Return a page's printed number from the document's page labels (ISO 32000-1, section 12.4.2)."""
    try:
        return document.get_page_label(index) or None
    except UnicodeError:
        return None


def _entry(document: pypdfium2.PdfDocument, key: str) -> str:
    """Return an entry of the document information; empty if it is missing or not text."""
    try:
        return str(document.get_metadata_value(key))
    except UnicodeError:
        return ""


def _metadata(source: Source, information: Mapping[str, str]) -> Metadata:
    """Read the XMP packet, or else the document information, except its dates, which are the file's."""
    properties = _properties(source)
    titles = (*properties.get("title", ()), information["Title"])
    authors = properties.get("creator") or information["Author"].split(";")
    numbers = properties.get("identifier", ())
    isbns = (
        *properties.get("isbn", ()),
        *(number for number in numbers if "isbn" in number.casefold() or isbns_alone(number)),
    )
    dois = map(_DOI.search, (*properties.get("doi", ()), *numbers))
    return description(
        title=next(filter(None, map(_title, titles)), None),
        authors=[name for name in authors if name.strip(punctuation + " ").casefold() not in _NOBODY],
        language=next(iter(properties.get("language", ())), None),
        date=next(iter(properties.get("publicationDate") or properties.get("date", ())), None),
        identifiers=[
            *(identifier("isbn", isbn) for isbn in isbns),
            *(identifier("doi", doi[0]) for doi in dois if doi),
        ],
    )


def _title(text: str) -> str | None:
    """Return a title, or None if a program filled the field with a file name or a placeholder."""
    text = _PROGRAM.sub("", clean(text) or "")
    filled = _FILLING.fullmatch(text.strip(punctuation)) or _FILE_NAME.fullmatch(text)
    return None if filled else text


def _properties(source: Source) -> Mapping[str, tuple[str, ...]]:
    """Return the values of each property in the last XMP packet, by local name such as "title".

    Packets are found without parsing the PDF (XMP specification, part 1, section 7.3).
    """
    last = None
    for packet in _packets(source):
        if any(mark in packet for mark in _PACKET_OF_A_PDF):
            last = packet  # because changes are appended to a PDF
    if last is None:
        return {}
    repairs: list[str] = []
    try:
        root = document(Source.of_bytes(last, source.name), repairs)
    except BrokenFile:
        return {}
    if repairs:  # a truncated packet is less reliable than the document information
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for described in root.iter("{*}Description"):
        for name, value in described.attrib.items():
            found.setdefault(str(name).rpartition("}")[2], (str(value),))
        for element in described:
            texts = (str(text).strip() for text in element.itertext())
            found.setdefault(local_name(element), tuple(filter(None, texts)))
    return found


def _packets(source: Source) -> Iterator[bytes]:
    held = b""
    with source.opened() as stream:
        while part := stream.read(_LONGEST_PACKET):
            held += part
            position = 0
            while (start := held.find(_PACKET_BEGIN, position)) >= 0 and (
                end := held.find(_PACKET_END, start)
            ) >= 0:
                yield held[start:end]
                position = end
            begun = start >= 0 and len(held) - start <= _LONGEST_PACKET
            held = held[start:] if begun else held[1 - len(_PACKET_BEGIN) :]
