"""The serialisations of MARC 21: detection, records of a file one by one, reading and writing.

MARC-in-JSON follows "A proposal to serialize MARC in JSON" (Ross Singer 2010). A file contains one record, a
list of records, or several records, for example one per line.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import chain, islice
from typing import Any, BinaryIO

from app.catalog.marc.record import LONGEST, ControlField, Field, InvalidRecord, MarcRecord
from bookprint_core.model import CatalogRecord, RecordFormat

_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[{]")
_PART = 1 << 16

_RECORD_END = b"\x1d"
_BETWEEN = b"\r\n\0\x1a "
"""Bytes that some files have between binary records and at their end."""

_JSON_MARK = re.compile(rb'["{}]|\\.', re.DOTALL)
_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"
LONGEST_RECORD = 1 << 24
"""Maximum size of a record as JSON or XML in bytes, so that a missing end does not fill the memory."""


@dataclass(frozen=True, slots=True)
class NumberedRecord:
    """A record of a file, or the reason why it was refused."""

    number: int  # place in the file, from 1
    source: CatalogRecord | None  # bytes of the record; None if they cannot be found
    record: MarcRecord | InvalidRecord


def format_of(head: bytes) -> RecordFormat:
    """Return the serialisation of a file of records by its first bytes: binary unless XML or JSON."""
    if _XML.match(head):
        return "marcxml"
    return "marc-json" if _JSON.match(head) else "marc"


def records(stream: BinaryIO, form: RecordFormat) -> Iterator[NumberedRecord]:
    """Yield the records of a file in order, one at a time. A damaged record does not affect the others."""
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


def pieces(stream: BinaryIO, form: RecordFormat, longest: int = LONGEST_RECORD) -> Iterator[bytes]:
    """Return the bytes of each record of a file; raises InvalidRecord if the next record cannot be found.

    A record as JSON or XML may have at most `longest` bytes.
    """
    match form:
        case "marc":
            return _binary_pieces(stream)
        case "marc-json":
            return _json_pieces(stream, longest)
        case "marcxml":
            from app.catalog.marc import serialisation

            return serialisation.xml_records(stream, longest)


def single(source: CatalogRecord) -> MarcRecord:
    """Return the only record in the source; raises InvalidRecord with the record's number and the reason."""
    found = list(islice(records(BytesIO(source.data), source.format), 2))
    if len(found) != 1:
        raise InvalidRecord(
            "More than one MARC record was sent. Send only the record of this book."
            if found
            else "No MARC record was sent."
        )
    [only] = found
    if isinstance(only.record, InvalidRecord):
        raise only.record
    return only.record


def read(source: CatalogRecord) -> MarcRecord:
    """Return the only record in these bytes of a file; raises InvalidRecord with the reason."""
    from app.catalog.marc import serialisation

    match source.format:
        case "marc":
            return serialisation.read_binary(source.data)
        case "marc-json":
            return serialisation.read_json(source.data)
        case "marcxml":
            return serialisation.read_xml(source.data)


def coded(source: CatalogRecord) -> tuple[str, str | None]:
    """Return only the leader and the first 008, if any, of a record that was read before."""
    data = next(pieces(BytesIO(source.data), source.format))
    match source.format:
        case "marc":
            base = int(data[12:17])
            entries = (data[start : start + 12] for start in range(24, base - 1, 12))
            entry = next((entry for entry in entries if entry.startswith(b"008")), None)
            start, length = (base + int(entry[7:]), int(entry[3:7]) - 1) if entry else (0, 0)
            fixed = data[start : start + length].decode() if entry else None
            return data[:24].decode("ascii", "replace"), fixed
        case "marc-json":
            document = json.loads(data)
            fixed = next((field["008"] for field in document["fields"] if "008" in field), None)
            return document["leader"], fixed
        case "marcxml":
            from app.catalog.marc import serialisation

            return serialisation.coded_xml(data)


def write(record: MarcRecord, form: RecordFormat) -> bytes:
    """Return the record in this serialisation; raises TooLongForBinary."""
    if form == "marc-json":
        return json.dumps(to_document(record), ensure_ascii=False, separators=(",", ":")).encode()
    from app.catalog.marc import serialisation

    return serialisation.write_binary(record) if form == "marc" else serialisation.write_xml(record)


def numbered(number: int, error: InvalidRecord) -> InvalidRecord:
    """Return the error with the number of its record in the message."""
    return InvalidRecord(f"Record {number} is refused: {error}.")


def is_marc(document: object) -> bool:
    """Return whether a parsed JSON value has the shape of MARC-in-JSON."""
    return isinstance(document, Mapping) and {"leader", "fields"} <= document.keys()


def of_document(document: object) -> MarcRecord:
    """Return the record in a parsed value of MARC-in-JSON; raises InvalidRecord with the reason."""
    from app.catalog.marc import serialisation

    return serialisation.of_document(document)


def to_document(record: MarcRecord) -> dict[str, Any]:
    """Return the record as a value of MARC-in-JSON."""
    return {"leader": record.leader, "fields": [{field.tag: _content(field)} for field in record.fields]}


def _content(field: Field) -> object:
    if isinstance(field, ControlField):
        return field.data
    first, second = field.indicators[0], field.indicators[1]
    return {"ind1": first, "ind2": second, "subfields": [{part.code: part.value} for part in field.subfields]}


def _binary_pieces(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of each record, including its terminator.

    The length in the leader is ignored, so a record with a wrong length does not affect others. A record that
    is longer than ISO 2709 allows may be cut.
    """
    rest = b""
    while part := stream.read(_PART):
        *whole, rest = (rest + part).split(_RECORD_END)
        for record in whole:
            yield record.lstrip(_BETWEEN) + _RECORD_END
        if len(rest) > 2 * _PART + LONGEST:  # the record is too long, and its end is not read yet
            rest = rest[: LONGEST + _PART]
    if rest := rest.strip(_BETWEEN):
        yield rest


def _json_pieces(stream: BinaryIO, longest: int) -> Iterator[bytes]:
    """Yield the bytes of each record; raises InvalidRecord if the last record does not end.

    With one record per line, a damaged line does not affect others. Otherwise braces separate records.
    """
    first, second = stream.readline(longest), stream.readline(longest)
    if first.lstrip(_BEFORE_JSON).startswith(b"{") and (
        first.rstrip().endswith(b"}") or second.startswith(b"{")
    ):
        lines = chain((first, second), iter(partial(stream.readline, longest), b""))
        yield from filter(None, map(bytes.strip, lines))
    else:
        yield from _objects(first + second, stream, longest)


def _objects(data: bytes, stream: BinaryIO, longest: int) -> Iterator[bytes]:
    """Yield the outermost objects in a text; raises InvalidRecord for other text between them."""
    start = place = depth = 0
    quoted = False
    while True:
        for mark in _JSON_MARK.finditer(data, place):
            if not depth:
                _require_blank(data[place : mark.start()] + mark[0].removesuffix(b"{"))
                start = mark.start()
            if mark[0] == b'"':
                quoted = not quoted
            elif not quoted:
                depth += {b"{": 1, b"}": -1}.get(mark[0], 0)
            place = mark.end()
            if not depth:
                yield data[start:place]
        if not depth:
            _require_blank(data[place:])
            start = len(data)
        # A backslash at the end escapes the next character.
        place = max(place, len(data) - data.endswith(b"\\"))
        data, place, start = data[start:], place - min(start, place), 0
        part = stream.read(_PART)
        if not part or len(data) > longest:
            break
        data += part
    if depth:
        raise InvalidRecord("it is not well-formed JSON: an object does not end")


def _require_blank(text: bytes) -> None:
    if stray := text.strip(_BEFORE_JSON + b"[],"):
        raise InvalidRecord(
            f"it is not well-formed JSON: {stray[:20]!r} is between records; the rest is not read"
        )
