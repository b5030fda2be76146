"""The three forms of MARC 21 side by side: which one a file has, its records one by one, and single ones."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import BinaryIO, Protocol

from app.catalog.marc import iso2709, marcjson
from app.catalog.marc.record import InvalidRecord, MarcRecord
from app.core.model import CatalogRecord, RecordFormat

_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[{]")


class _Form(Protocol):
    """What the module of each form does."""

    def records(self, stream: BinaryIO, /) -> Iterator[bytes]: ...

    def read(self, data: bytes, /) -> MarcRecord: ...

    def write(self, record: MarcRecord, /) -> bytes: ...


def _form(name: RecordFormat) -> _Form:
    if name == "marcxml":
        from app.catalog.marc import marcxml  # lxml is loaded only where XML comes

        return marcxml
    return iso2709 if name == "marc" else marcjson


@dataclass(frozen=True, slots=True)
class NumberedRecord:
    """A record of a file, or why it is none."""

    number: int  # in the file, from 1
    source: CatalogRecord | None  # its bytes; None where they cannot be told
    record: MarcRecord | InvalidRecord


def format_of(head: bytes) -> RecordFormat:
    """The form that the first bytes of a file of records have; binary where it is neither XML nor JSON."""
    if _XML.match(head):
        return "marcxml"
    return "marc-json" if _JSON.match(head) else "marc"


def records(stream: BinaryIO, form: RecordFormat) -> Iterator[NumberedRecord]:
    """The records of a file in their order, one in memory at a time; one that is damaged spoils no other."""
    number = 0
    try:
        for number, data in enumerate(pieces(stream, form), start=1):
            source = CatalogRecord(form, data)
            try:
                yield NumberedRecord(number, source, read(source))
            except InvalidRecord as exc:
                yield NumberedRecord(number, source, numbered(number, exc))
    except InvalidRecord as exc:
        yield NumberedRecord(number + 1, None, numbered(number + 1, exc))


def pieces(stream: BinaryIO, form: RecordFormat) -> Iterator[bytes]:
    """The bytes of each record of a file; raises InvalidRecord where the next one cannot be told."""
    return _form(form).records(stream)


def single(source: CatalogRecord) -> MarcRecord:
    """The one record in what was sent; raises InvalidRecord, with its number and the reason."""
    found = list(islice(records(BytesIO(source.data), source.format), 2))
    if len(found) != 1:
        raise InvalidRecord(
            "More than one MARC record was sent. Send the record of this book alone."
            if found
            else "No MARC record was sent. Send one, in the form that its type names."
        )
    [only] = found
    if isinstance(only.record, InvalidRecord):
        raise only.record
    return only.record


def read(source: CatalogRecord) -> MarcRecord:
    """The one record in these bytes; raises InvalidRecord with the reason."""
    return _form(source.format).read(source.data)


def write(record: MarcRecord, form: RecordFormat) -> bytes:
    """The record in a form; raises TooLongForBinary."""
    return _form(form).write(record)


def numbered(number: int, error: InvalidRecord) -> InvalidRecord:
    """The error with the number of its record."""
    return InvalidRecord(f"Record {number} is refused: {error}.")
