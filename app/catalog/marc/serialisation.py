"""Reading and writing of MARC 21 with pymarc, without silent repairs or omissions.

pymarc continues when a record is damaged. A record is therefore accepted only if pymarc writes exactly the
same record. The libraries load slowly, so `forms` imports this module only when it is needed.
"""

import io
import json
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import zip_longest
from typing import Any, BinaryIO, cast
from xml.etree import ElementTree
from xml.sax import SAXException

import pymarc
from lxml import etree
from pymarc.exceptions import BadSubfieldCodeWarning, PymarcException

from app.catalog.marc import marc8
from app.catalog.marc.record import (
    LONGEST,
    ControlField,
    DataField,
    Field,
    InvalidRecord,
    MarcRecord,
    Subfield,
    TooLongForBinary,
    checked,
    require_marc21,
)
from app.catalog.marc.values import is_utf8
from bookprint_core.json_limits import exceeds_json_limits

_LEADER, _ENTRY = 24, 12
_LONGEST_FIELD = 9_999
"""Maximum size of a field in bytes; a directory has four digits for it."""

_MOST_VALUES = 50_000
"""Maximum number of values in a JSON record, about seven for each field."""

_MOST_CHARACTERS = 300_000
"""Maximum number of characters in all values, three times as many as the binary form allows."""

_MOST_ELEMENTS = 25_000
"""Maximum number of elements in an XML record, about three for each field."""

_XML_NAMES = ("record", "{http://www.loc.gov/MARC21/slim}record")
_XML_TYPE = "Bibliographic"
_XML_ATTRIBUTES = ("tag", "ind1", "ind2", "code")
_UNREADABLE = (
    PymarcException,
    SAXException,
    BadSubfieldCodeWarning,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
)
"""Exceptions of pymarc for unreadable records."""

# A refused record is reported with its reason, so the log of pymarc is disabled.
logging.getLogger("pymarc").disabled = True
warnings.simplefilter("error", BadSubfieldCodeWarning)


def read_binary(data: bytes) -> MarcRecord:
    """Return the only record in these bytes (ISO 2709); raises InvalidRecord with the reason."""
    leader = data[:_LEADER]
    if len(leader) < _LEADER or not leader[:5].isdigit():
        raise InvalidRecord("it does not begin with a leader of 24 characters, the first five of them digits")
    if len(data) > LONGEST:
        raise InvalidRecord(f"it is longer than {LONGEST:,} bytes; send it as MARCXML")
    if data.find(b"\x1d") != len(data) - 1:
        raise InvalidRecord("it does not end with the record terminator (1D), or another record follows")
    if int(leader[:5]) != len(data):
        raise InvalidRecord(f"its leader says {int(leader[:5]):,} bytes, but it has {len(data):,}")
    if leader[10:12] != b"22" or leader[20:22] != b"45":
        raise InvalidRecord("its leader is not of MARC 21 (positions 10 to 11 and 20 to 21)")
    # Positions 22 and 23 have no meaning, and some systems write any byte there.
    if not re.fullmatch(rb"[\x20-\x7e]{2}", leader[22:]):
        data = data[:22] + b"00" + data[_LEADER:]
    try:
        record = pymarc.Record(data, to_unicode=False)
        again = record.as_marc()
    except _UNREADABLE as exc:
        reason = str(exc) or repr(exc)
        raise InvalidRecord(f"its directory, leader or indicators are damaged: {reason}") from exc
    if again != data:
        raise InvalidRecord(_difference(data, record))
    require_marc21([field.tag for field in record.fields])
    decode = _decoder(data)
    fields = tuple(_decoded(field, decode) for field in record.fields)
    return checked(MarcRecord(str(record.leader), fields))


def write_binary(record: MarcRecord) -> bytes:
    """Return the record in UTF-8 (ISO 2709); raises TooLongForBinary."""
    leader = f"{record.leader[:9]}a22{record.leader[12:20]}45{record.leader[22:]}"
    made = _to_pymarc(record, leader)
    lengths = [len(field.as_marc("utf-8")) for field in made.fields]
    for field, length in zip(record.fields, lengths, strict=True):
        if length > _LONGEST_FIELD:
            raise _too_long(f"Field {field.tag}", length, _LONGEST_FIELD)
    length = _LEADER + _ENTRY * len(lengths) + sum(lengths) + 2
    if length > LONGEST:
        raise _too_long("The record", length, LONGEST)
    return made.as_marc()


class _Rationed:
    """A stream that raises InvalidRecord when one record has too many bytes or elements."""

    def __init__(self, stream: BinaryIO, longest: int) -> None:
        self._stream, self._longest = stream, longest
        self.begin()

    def begin(self) -> None:
        """Start counting for the next record."""
        self._taken = self._tags = 0

    def read(self, size: int) -> bytes:
        if self._taken > self._longest or self._tags > 2 * _MOST_ELEMENTS:
            raise InvalidRecord(
                f"it is longer than {self._longest:,} bytes, or has over {_MOST_ELEMENTS:,} elements; "
                "the rest is not read"
            )
        data = self._stream.read(size)
        self._taken += len(data)
        self._tags += data.count(b"<")
        return data


def xml_records(stream: BinaryIO, longest: int) -> Iterator[bytes]:
    """Yield each element `record` of a document as a document, read by lxml without entities or network.

    Raises InvalidRecord for a record of more than `longest` bytes, and if the document is not well-formed.
    """
    rationed = _Rationed(stream, longest)
    events = etree.iterparse(
        cast(BinaryIO, rationed),
        tag=_XML_NAMES,
        resolve_entities=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        for _, element in events:
            rationed.begin()
            if element.getroottree().docinfo.doctype:
                raise InvalidRecord("its document has a document type, which MARCXML forbids; remove it")
            yield etree.tostring(element, encoding="utf-8", with_tail=False)
            element.clear(keep_tail=False)
            # Otherwise parsed elements would fill the memory.
            for each in (element, *element.iterancestors()):
                while (parent := each.getparent()) is not None and each.getprevious() is not None:
                    del parent[0]
    except etree.XMLSyntaxError as exc:
        reason = f"its document is not well-formed XML: {exc.msg}; the rest is not read"
        raise InvalidRecord(reason) from exc


def read_xml(data: bytes) -> MarcRecord:
    """Return the record in a document with one element `record`; raises InvalidRecord with the reason."""
    if data.count(b"<") > 2 * _MOST_ELEMENTS:
        raise InvalidRecord(f"it has over {_MOST_ELEMENTS:,} elements")
    try:
        element = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as exc:
        raise InvalidRecord(f"it is not well-formed XML: {exc.msg}") from exc
    if element.get("type", _XML_TYPE) != _XML_TYPE:
        raise InvalidRecord(f"its type is {element.get('type')!r:.40}, not {_XML_TYPE}")
    try:
        [record] = pymarc.parse_xml_to_array(io.BytesIO(data))
    except KeyError as exc:
        raise InvalidRecord(f"one of its fields or subfields has no attribute {exc.args[0][1]}") from exc
    except _UNREADABLE as exc:
        reason = str(exc) or repr(exc)
        raise InvalidRecord(f"its leader or a field is not valid MARCXML: {reason}") from exc
    _require_same(_parts(element), _parts(pymarc.record_to_xml_node(record)))
    return checked(MarcRecord(str(record.leader), tuple(map(_field_of, record.fields))))


def coded_xml(data: bytes) -> tuple[str, str | None]:
    """Return only the leader and the first 008, if any, of a record that was read before."""
    element = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    return element.findtext("{*}leader", ""), element.findtext("{*}controlfield[@tag='008']")


def write_xml(record: MarcRecord) -> bytes:
    """Return the record as a MARCXML document."""
    node = pymarc.record_to_xml_node(_to_pymarc(record, record.leader), namespace=True)
    node.set("type", _XML_TYPE)
    # Parsers read a bare carriage return as a line feed.
    written: bytes = ElementTree.tostring(node, "utf-8", xml_declaration=True)
    return written.replace(b"\r", b"&#13;")


def read_json(data: bytes) -> MarcRecord:
    """Return the only record in a JSON text; raises InvalidRecord with the reason."""
    if exceeds_json_limits(data, _MOST_VALUES):
        raise _too_many_values()
    try:
        document = json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError) as exc:
        raise InvalidRecord(f"it is not well-formed JSON: {exc}") from exc
    if isinstance(document, list) and len(document) == 1:
        [document] = document
    return of_document(document)


def of_document(document: object) -> MarcRecord:
    """Return the record in a parsed value of MARC-in-JSON; raises InvalidRecord with the reason."""
    if _is_too_large(document):
        raise _too_many_values()
    if not isinstance(document, dict) or document.keys() != {"leader", "fields"}:
        names = list(document)[:5] if isinstance(document, dict) else []
        raise InvalidRecord(f"it is not a JSON object with only leader and fields: {names}"[:200])
    leader, fields = document["leader"], document["fields"]
    if not isinstance(leader, str) or not isinstance(fields, list):
        raise InvalidRecord("its leader is not a string, or its fields are not a list")
    return checked(
        MarcRecord(leader, tuple(_json_field(number, each) for number, each in enumerate(fields, 1)))
    )


def _is_too_large(document: object) -> bool:
    left = [document]
    values = characters = 0
    while left and values <= _MOST_VALUES and characters <= _MOST_CHARACTERS:
        value = left.pop()
        values += 1
        if isinstance(value, str):
            characters += len(value)
        elif isinstance(value, list | dict):
            left.extend(value.values() if isinstance(value, dict) else value)
    return values > _MOST_VALUES or characters > _MOST_CHARACTERS


def _too_many_values() -> InvalidRecord:
    return InvalidRecord(f"it has over {_MOST_VALUES:,} values, or over {_MOST_CHARACTERS:,} characters")


def _json_field(number: int, document: object) -> Field:
    try:
        [record] = pymarc.JSONHandler().elements({"leader": " " * _LEADER, "fields": [deepcopy(document)]})
        if record.as_dict()["fields"] == [document]:
            return _field_of(record.fields[0])
    except _UNREADABLE:
        pass
    tag = f" ({next(iter(document))[:20]})" if document and isinstance(document, dict) else ""
    raise InvalidRecord(
        f"its field {number}{tag} is neither {{tag: text}} nor "
        "{tag: {ind1: text, ind2: text, subfields: [{code: text}, …]}}"
    )


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object; raises ValueError for a repeated name, of which JSON parsers keep only the last."""
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("an object contains a name twice")
    return document


def _field_of(field: pymarc.Field) -> Field:
    if field.control_field:
        return ControlField(field.tag, cast(str, field.data))
    indicators: Sequence[object] = field.indicators or ()
    if not all(isinstance(each, str) and len(each) == 1 for each in indicators):
        raise InvalidRecord(f"field {field.tag} has the indicators {tuple(indicators)!r:.80}")
    return DataField(
        field.tag, "".join(map(str, indicators)), tuple(Subfield(*part) for part in field.subfields)
    )


def _to_pymarc(record: MarcRecord, leader: str) -> pymarc.Record:
    made = pymarc.Record()
    made.leader = pymarc.Leader(leader)
    for field in record.fields:
        if isinstance(field, ControlField):
            made.add_field(pymarc.Field(field.tag, data=field.data))
            continue
        subfields = [pymarc.Subfield(part.code, part.value) for part in field.subfields]
        made.add_field(pymarc.Field(field.tag, pymarc.Indicators(*field.indicators), subfields))
    return made


def _too_long(what: str, length: int, longest: int) -> TooLongForBinary:
    return TooLongForBinary(
        f"{what} has {length:,} bytes; binary MARC can count {longest:,}. "
        "Request application/marcxml+xml instead."
    )


def _difference(data: bytes, record: pymarc.Record) -> str:
    """Describe the first difference between the bytes of a record and what pymarc writes for it."""
    base = int(data[12:17])
    for number, field in enumerate(record.fields):
        entry = data[_LEADER + _ENTRY * number :][:_ENTRY]
        start, length = base + int(entry[7:]), int(entry[3:7])
        if data[start : start + length] != field.as_marc("ascii"):
            return (
                f"field {field.tag}, which its directory puts at byte {start:,} with {length:,} bytes, "
                "does not consist of two indicators, subfields with codes, and a field terminator (1E)"
            )
    return (
        "its directory is damaged: it omits or repeats a field, orders fields differently from the "
        f"data, or does not end at the base address of data, {base:,}"
    )


def _decoder(data: bytes) -> Callable[[bytes], str]:
    """Return the decoder for the bytes, chosen by position 9 of the leader."""
    coding = data[9:10]
    if coding == b"a":
        return bytes.decode
    if coding != b" ":
        raise InvalidRecord(f"position 9 of its leader is not a character coding: {coding!r}")
    if not data.isascii() and is_utf8(data):
        raise InvalidRecord("its leader says MARC-8 (position 9 is blank), but it is written in UTF-8")
    return marc8.decoded


def _decoded(field: pymarc.Field, decode: Callable[[bytes], str]) -> Field:
    """Return the field with its bytes decoded as text."""
    coding = "UTF-8" if decode is bytes.decode else "MARC-8"
    try:
        if not field.control_field:
            parts = [Subfield(code, decode(cast(bytes, value))) for code, value in field.subfields]
            return DataField(field.tag, "".join(field.indicators or ()), tuple(parts))
        data = cast(bytes, field.data)
        if coding == "MARC-8" and not data.isascii():  # each position must be one byte
            raise InvalidRecord(f"field {field.tag} contains a character that is not ASCII")
        return ControlField(field.tag, decode(data))
    except ValueError as exc:
        raise InvalidRecord(f"field {field.tag} is not in {coding}, as the leader says: {exc}") from exc


def _parts(record: Any) -> list[tuple[str, ...]]:
    """Return the elements of a record in order, leaders first, each with its attributes and text."""
    parts = []
    for element in record.iter():
        name, text = _name(element), element.text or ""
        if name in ("record", "datafield"):  # blanks between elements have no meaning
            text = "".join([text, *(child.tail or "" for child in element)]).strip()
        parts.append((name, *(element.get(each, "") for each in _XML_ATTRIBUTES), text))
    return sorted(parts, key=lambda part: part[0] not in ("record", "leader"))


def _require_same(came: Sequence[tuple[str, ...]], read: Sequence[tuple[str, ...]]) -> None:
    """Raise InvalidRecord if MARCXML does not allow one of the elements or its text."""
    tag = ""
    for one, other in zip_longest(came, read, fillvalue=("nothing",)):
        tag = (one[1:2] or ("",))[0] or tag
        if one != other:
            place = f"at field {tag}" if tag else "before its fields"
            raise InvalidRecord(f"{place} it has {_shown(one)}, but MARCXML expects {_shown(other)} there")


def _shown(part: Sequence[str]) -> str:
    given = zip((*_XML_ATTRIBUTES, "text"), part[1:], strict=False)
    return " ".join([part[0], *(f"{name}={value[:40]!r}" for name, value in given if value)])


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
