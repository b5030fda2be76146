"""MARC 21 in its binary form (ISO 2709), read so strictly that nothing is repaired without a word.

A record is read if leader, directory and delimiters agree on every byte of it. Then what is written is what
was read. pymarc and others go on where they do not agree, and drop what they cannot place.
"""

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

from app.catalog.marc import marc8
from app.catalog.marc.record import (
    ControlField,
    DataField,
    Field,
    InvalidRecord,
    MarcRecord,
    Subfield,
    checked,
    is_control,
    require_marc21,
)
from app.core.errors import BookprintError

_LEADER, _ENTRY = 24, 12
_RECORD_END, _FIELD_END, _SUBFIELD = b"\x1d", b"\x1e", b"\x1f"
_DIRECTORY = re.compile(rb"(?:[0-9A-Za-z]{3}\d{9})*")

LONGEST = 99_999
"""Bytes of a record, of which its leader has five digits."""

LONGEST_FIELD = 9_999
"""Bytes of a field, of which the directory has four digits."""

_PART = 1 << 16
_BETWEEN = b"\r\n\0\x1a "
"""What stands between the records of some files, and at their end."""


class TooLongForBinary(BookprintError):
    """A record, or a field of it, has more bytes than ISO 2709 can count."""

    problem = "too-long-for-binary"
    status = 406
    title = "Too long for binary MARC"
    remedy = "Ask for application/marcxml+xml."
    field = "Accept"


def records(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of each record of a file, one after the other, up to and with its terminator.

    The terminator counts, not the length in the leader: a record whose length is wrong spoils no other. Of
    one that is longer than any may be only the beginning comes.
    """
    rest = b""
    while part := stream.read(_PART):
        *whole, rest = (rest + part).split(_RECORD_END)
        for record in whole:
            yield record.lstrip(_BETWEEN) + _RECORD_END
        if len(rest) > 2 * _PART + LONGEST:  # its end is yet to come
            rest = rest[: LONGEST + _PART]
    if rest := rest.strip(_BETWEEN):
        yield rest


def read(data: bytes) -> MarcRecord:
    """The one record in these bytes; raises InvalidRecord with the reason."""
    leader = data[:_LEADER]
    if len(leader) < _LEADER or not leader[:5].isdigit():
        raise InvalidRecord("it does not begin with a leader of 24 characters, the first five of them digits")
    if len(data) > LONGEST:
        raise InvalidRecord(f"it is longer than {LONGEST:,} bytes; as MARCXML it may be")
    if not data.endswith(_RECORD_END):
        raise InvalidRecord("it does not end with the record terminator (1D)")
    if _RECORD_END in data[:-1]:
        raise InvalidRecord("another record follows")
    if int(leader[:5]) != len(data):
        raise InvalidRecord(f"its leader says {int(leader[:5]):,} bytes, and it has {len(data):,}")
    if leader[10:12] != b"22" or leader[20:22] != b"45" or not leader[12:17].isdigit():
        raise InvalidRecord("its leader describes no MARC 21 record (positions 10 to 16 and 20 to 21)")
    base = int(leader[12:17])
    directory = data[_LEADER : base - 1]
    if data[base - 1 : base] != _FIELD_END or not _DIRECTORY.fullmatch(directory):
        raise InvalidRecord(
            f"its directory is damaged, or does not end at the base address of data, {base:,}"
        )
    bodies = _bodies(directory, data[base:-1])
    require_marc21([tag for tag, _ in bodies])
    decode = _decoder(data)
    fields = tuple(_field(tag, body, decode) for tag, body in bodies)
    return checked(MarcRecord(_printable(leader), fields))


def write(record: MarcRecord) -> bytes:
    """The record in UTF-8; raises TooLongForBinary."""
    entries, bodies, start = [], [], 0
    for field in record.fields:
        body = _body(field).encode() + _FIELD_END
        if len(body) > LONGEST_FIELD:
            raise TooLongForBinary(
                f"Field {field.tag} has {len(body):,} bytes, and binary MARC can count {LONGEST_FIELD:,}. "
                "Ask for application/marcxml+xml."
            )
        entries.append(f"{field.tag}{len(body):04}{start:05}")
        bodies.append(body)
        start += len(body)
    base = _LEADER + _ENTRY * len(entries) + 1
    length = base + start + 1
    if length > LONGEST:
        raise TooLongForBinary(
            f"The record has {length:,} bytes, and binary MARC can count {LONGEST:,}. "
            "Ask for application/marcxml+xml."
        )
    leader = record.leader
    leader = f"{length:05}{leader[5:9]}a22{base:05}{leader[17:20]}45{leader[22:]}"
    return b"".join([leader.encode(), "".join(entries).encode(), _FIELD_END, *bodies, _RECORD_END])


def _printable(leader: bytes) -> str:
    """The leader; positions 22 and 23 mean nothing, and some systems leave there what is no text."""
    last = leader[22:] if leader[22:].decode("latin-1").isprintable() and leader[22:].isascii() else b"00"
    return (leader[:22] + last).decode("latin-1")


def _bodies(directory: bytes, data: bytes) -> list[tuple[str, bytes]]:
    """The fields that the directory names, in its order; raises InvalidRecord unless they are all."""
    bodies, spans = [], []
    for entry in (directory[start : start + _ENTRY] for start in range(0, len(directory), _ENTRY)):
        tag, length, start = entry[:3].decode(), int(entry[3:7]), int(entry[7:])
        body = data[start : start + length]
        if not length or len(body) != length or body.find(_FIELD_END) != length - 1:
            raise InvalidRecord(f"its directory puts field {tag} where no field of {length:,} bytes lies")
        bodies.append((tag, body[:-1]))
        spans.append((start, start + length))
    ends = [0, *(end for _, end in sorted(spans))]
    if ends != [*(start for start, _ in sorted(spans)), len(data)]:
        raise InvalidRecord("its directory leaves out a field, or names one twice")
    return bodies


def _decoder(data: bytes) -> Callable[[bytes], str]:
    """What makes text of the bytes, as position 9 of the leader says."""
    coding = data[9:10]
    if coding == b"a":
        return bytes.decode
    if coding != b" ":
        raise InvalidRecord(f"its leader names no character coding in position 9: {coding!r}")
    if not data.isascii() and _is_utf8(data):
        raise InvalidRecord("its leader says MARC-8 (position 9 is blank), and it is written in UTF-8")
    return marc8.decoded


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _field(tag: str, body: bytes, decode: Callable[[bytes], str]) -> Field:
    try:
        if is_control(tag):
            if decode is marc8.decoded and not body.isascii():  # its characters count by their places
                raise InvalidRecord(f"field {tag} holds what is not ASCII")
            return ControlField(tag, decode(body))
        indicators, *parts = body.split(_SUBFIELD)
        if len(indicators) != 2:
            raise InvalidRecord(
                f"field {tag} begins with {len(indicators)} characters in place of two indicators"
            )
        subfields = (Subfield(part[:1].decode("latin-1"), decode(part[1:])) for part in parts)
        return DataField(tag, indicators.decode("latin-1"), tuple(subfields))
    except UnicodeDecodeError as exc:
        raise InvalidRecord(f"field {tag} is not in UTF-8, as the leader says: {exc.reason}") from exc
    except marc8.UnknownCharacter as exc:
        raise InvalidRecord(f"field {tag} is not in MARC-8, as the leader says: {exc}") from exc


def _body(field: Field) -> str:
    if isinstance(field, ControlField):
        return field.data
    return field.indicators + "".join(f"\x1f{part.code}{part.value}" for part in field.subfields)
