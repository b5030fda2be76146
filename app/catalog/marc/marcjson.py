"""MARC-in-JSON ("A proposal to serialize MARC in JSON", Ross Singer 2010).

A file holds one record, a list of records, or records one after the other, as one a line.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

from app.catalog.marc.record import (
    ControlField,
    DataField,
    Field,
    InvalidRecord,
    MarcRecord,
    Subfield,
    checked,
)

_MARK = re.compile(rb'["{}]|\\.', re.DOTALL)
_PART = 1 << 16
_BEFORE = b"\xef\xbb\xbf \t\r\n"

LONGEST = 1 << 24
"""Bytes of one record, so that a brace that is missing does not fill the memory."""


def records(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of each record of a file.

    In a file with a record a line, a damaged line spoils no other. Elsewhere records are told by their
    braces. Raises InvalidRecord where the last one does not end.
    """
    first, second = stream.readline(LONGEST), stream.readline(LONGEST)
    if first.lstrip(_BEFORE).startswith(b"{") and (first.rstrip().endswith(b"}") or second.startswith(b"{")):
        lines = chain((first, second), iter(partial(stream.readline, LONGEST), b""))
        yield from filter(None, map(bytes.strip, lines))
    else:
        yield from _objects(first + second, stream)


def read(data: bytes) -> MarcRecord:
    """The one record in a JSON text; raises InvalidRecord with the reason."""
    try:
        document = json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError) as exc:
        raise InvalidRecord(f"it is not well-formed JSON: {exc}") from exc
    if isinstance(document, list) and len(document) == 1:
        [document] = document
    return of_document(document)


def of_document(document: object) -> MarcRecord:
    """The record that a parsed JSON value is; raises InvalidRecord with the reason."""
    if not is_marc(document):
        raise InvalidRecord("it is no JSON object with leader and fields")
    assert isinstance(document, Mapping)
    if others := document.keys() - {"leader", "fields"}:
        raise InvalidRecord(f"it has a name {min(others)[:40]!r}, which MARC-in-JSON does not know there")
    leader, fields = document["leader"], document["fields"]
    if not isinstance(leader, str) or not isinstance(fields, list):
        raise InvalidRecord("its leader is no string, or its fields are no list")
    return checked(MarcRecord(leader, tuple(map(_field, fields))))


def is_marc(document: object) -> bool:
    """Whether a parsed JSON value has the shape of MARC-in-JSON."""
    return isinstance(document, Mapping) and {"leader", "fields"} <= document.keys()


def to_document(record: MarcRecord) -> dict[str, Any]:
    """The record as a value to be written as JSON."""
    return {"leader": record.leader, "fields": [{field.tag: _content(field)} for field in record.fields]}


def write(record: MarcRecord) -> bytes:
    """The record as JSON text."""
    return json.dumps(to_document(record), ensure_ascii=False, separators=(",", ":")).encode()


def _content(field: Field) -> object:
    if isinstance(field, ControlField):
        return field.data
    first, second = field.indicators[0], field.indicators[1]
    return {"ind1": first, "ind2": second, "subfields": [{part.code: part.value} for part in field.subfields]}


def _field(document: object) -> Field:
    tag, content = _only(document, "a field")
    if isinstance(content, str):
        return ControlField(tag, content)
    if not isinstance(content, Mapping) or content.keys() != {"ind1", "ind2", "subfields"}:
        raise InvalidRecord(f"field {tag[:20]} is no object of ind1, ind2 and subfields")
    first, second, subfields = content["ind1"], content["ind2"], content["subfields"]
    if not (isinstance(first, str) and isinstance(second, str) and isinstance(subfields, list)):
        raise InvalidRecord(
            f"field {tag[:20]} has indicators that are no strings, or subfields that are no list"
        )
    if (len(first), len(second)) != (1, 1):
        raise InvalidRecord(f"field {tag[:20]} has the indicators {first[:20]!r} and {second[:20]!r}")
    return DataField(tag, first + second, tuple(_subfield(tag, each) for each in subfields))


def _subfield(tag: str, document: object) -> Subfield:
    code, value = _only(document, f"a subfield of {tag[:20]}")
    if not isinstance(value, str):
        raise InvalidRecord(f"a subfield of {tag[:20]} is no string")
    return Subfield(code, value)


def _only(document: object, place: str) -> tuple[str, object]:
    """The one name of an object and its value."""
    if not isinstance(document, Mapping) or len(document) != 1:
        raise InvalidRecord(f"{place} is no object with one name")
    [(name, value)] = document.items()
    return name, value


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object; of a name that comes twice, JSON parsers keep the last value without a word."""
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a name comes twice in one object")
    return document


def _objects(data: bytes, stream: BinaryIO) -> Iterator[bytes]:
    """The outermost objects in a text; raises InvalidRecord for what else stands between them."""
    start = place = depth = 0
    quoted = False
    while True:
        for mark in _MARK.finditer(data, place):
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
        # A backslash at the end belongs to the letter behind it.
        place = max(place, len(data) - data.endswith(b"\\"))
        data, place, start = data[start:], place - min(start, place), 0
        part = stream.read(_PART)
        if not part or len(data) > LONGEST:
            break
        data += part
    if depth:
        raise InvalidRecord("it is not well-formed JSON: an object does not end")


def _require_blank(text: bytes) -> None:
    if stray := text.strip(_BEFORE + b"[],"):
        raise InvalidRecord(
            f"it is not well-formed JSON: {stray[:20]!r} stands between records; nothing behind it is read"
        )
