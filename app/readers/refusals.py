"""Files that are no text of one book: what they are, and what to do with them instead."""

import re
from dataclasses import dataclass

from app.core.errors import NoText, SeveralBooks, UnsupportedFormat
from app.readers.source import Source

_BULK = "Send them in bulk: POST /v1/books:bulk, or bookprint ingest."

_MARC = re.compile(
    rb"\s*(\d{5})[\x20-\x7e]{5}\d\d\d{5}[\x20-\x7e]{3}4[\dA-Za-z ]{3}(?:[0-9A-Za-z]{3}\d{9})+\x1e"
)
"""Leader and directory of a record; the length of the record comes first (ISO 2709)."""

_JSON = re.compile(rb'(?:\xef\xbb\xbf)?[\s\[]*\{\s*"(?:[^"\\]|\\.)*"\s*:')
_PARQUET = (b"PAR1", b"PARE")


@dataclass(frozen=True, slots=True)
class _Kind:
    """Files that are not read, by what their first bytes match."""

    start: re.Pattern[bytes]
    name: str
    remedy: str


def _kind(start: bytes, name: str, remedy: str) -> _Kind:
    return _Kind(re.compile(start, re.DOTALL), name, remedy)


_KINDS = (
    _kind(
        rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|II[*+]\0|MM\0[*+]|\0\0\0\x0cjP  |\xff\x4f\xff\x51|8BPS\0"
        rb"|RIFF....WEBP|\x97JB2|BM.{4}\0{4}|....ftyp(?:heic|avif|mif1)",
        "a picture",
        "Have it recognised (OCR) first.",
    ),
    _kind(rb"AT&TFORM", "a DjVu file", "Send its text as DjVuXML, which djvutoxml writes."),
    _kind(
        rb".{60}(?:BOOKMOBI|TEXtREAd)|TPZ0|ITOLITLS",
        "an electronic book of another kind",
        "Convert it to EPUB first.",
    ),
    _kind(
        rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1|\{\\rtf|\xffWPC|%!PS-|\xc5\xd0\xd3\xc6",
        "a word processor's or printer's file",
        "Save it as PDF or as plain text first.",
    ),
    _kind(
        rb"7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|MSCF\0|\x28\xb5\x2f\xfd|\x1f\x9d",
        "an archive of a kind that is not opened here",
        "Pack its files as zip or tar first.",
    ),
    _kind(
        rb"ID3[\x02-\x04]|OggS\0|fLaC\0|RIFF....(?:WAVE|AVI )|....ftyp|\x1aE\xdf\xa3",
        "sound or video",
        "Send a text.",
    ),
)


def refuse_what_is_no_book(source: Source) -> None:
    """Raise SeveralBooks, NoText or UnsupportedFormat for a file that is known to be no text of one book."""
    head = source.head()
    if head.startswith(_PARQUET):
        raise SeveralBooks(f"{source.name} is a Parquet table, which holds a book a row. {_BULK}")
    if _JSON.match(head):
        raise SeveralBooks(f"{source.name} is JSON, which holds a book a line. {_BULK}")
    record = _MARC.match(head)
    if record and int(record[1]) >= source.size:
        raise NoText(
            f"{source.name} is a MARC record, without the text of its book. Send the text as `file`, and "
            "the record as `metadata`."
        )
    if record:
        raise SeveralBooks(
            f"{source.name} holds several MARC records, without the texts of their books. Take them in with "
            "the texts: bookprint ingest RECORDS --texts DIR."
        )
    for kind in _KINDS:
        if kind.start.match(head):
            raise UnsupportedFormat(f"{source.name} is {kind.name}, which is not read here. {kind.remedy}")
