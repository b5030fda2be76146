"""A MARC 21 record as its three serialisations have it in common: a leader, and fields in their order."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bookprint_core.errors import BookprintError, InvalidInput

_CONTROL_TAG = re.compile(r"00[0-9]")
_TAG = re.compile(r"[0-9A-Za-z]{3}")
_LEADER = re.compile(r"[\x20-\x7e]{24}")
_INDICATORS = re.compile(r"[\x20-\x7e]{2}")
_CODE = re.compile(r"[\x21-\x7e]")
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 (2.2) cannot hold, the delimiters of ISO 2709 among them."""


LONGEST = 99_999
"""Bytes of a record in its binary form, of which the leader has five digits."""


class InvalidRecord(InvalidInput):
    """A MARC record that cannot be taken as it is; the message says which one and why."""


class TooLongForBinary(BookprintError):
    """A record, or a field of it, has more bytes than ISO 2709 can count."""

    status = 406
    title = "Too long for binary MARC"
    remedy = "Ask for application/marcxml+xml."
    field = "Accept"


@dataclass(frozen=True, slots=True)
class Subfield:
    """A part of a field."""

    code: str
    value: str


@dataclass(frozen=True, slots=True)
class ControlField:
    """A field 001 to 009: text alone."""

    tag: str
    data: str


@dataclass(frozen=True, slots=True)
class DataField:
    """A field of two indicators and of subfields in their order."""

    tag: str
    indicators: str  # two characters
    subfields: tuple[Subfield, ...]

    def values(self, codes: str) -> Iterator[str]:
        """Return the values of the subfields with any of these codes, in their order."""
        return (subfield.value for subfield in self.subfields if subfield.code in codes)

    def first(self, code: str) -> str | None:
        """Return the value of the first subfield with this code."""
        return next(self.values(code), None)


Field = ControlField | DataField


@dataclass(frozen=True, slots=True)
class MarcRecord:
    """A record. Its lengths in the leader are those of the form that it came in."""

    leader: str  # 24 characters
    fields: tuple[Field, ...]

    def control(self, tag: str) -> str | None:
        """Return the data of the first control field with this tag."""
        return next(
            (each.data for each in self.fields if isinstance(each, ControlField) and each.tag == tag), None
        )

    def data(self, *tags: str) -> Iterator[DataField]:
        """Return the data fields with any of these tags, in their order."""
        return (each for each in self.fields if isinstance(each, DataField) and each.tag in tags)


def is_control(tag: str) -> bool:
    """Return whether fields with this tag have no indicators and no subfields."""
    return _CONTROL_TAG.fullmatch(tag) is not None


def require_marc21(tags: Sequence[str]) -> None:
    """Raise InvalidRecord where the tags are those of UNIMARC, whose fields mean other things."""
    if "200" in tags and "245" not in tags:
        raise InvalidRecord(
            "it is UNIMARC, whose title is in field 200 and not in 245; have it converted to MARC 21 first"
        )


def checked(record: MarcRecord) -> MarcRecord:
    """Return the record; raises InvalidRecord for UNIMARC and for what not every serialisation can hold."""
    if not _LEADER.fullmatch(record.leader):
        raise InvalidRecord(f"its leader is not 24 printable ASCII characters: {record.leader[:40]!r}")
    require_marc21([field.tag for field in record.fields])
    if not record.fields:
        raise InvalidRecord("it has no fields")
    for number, field in enumerate(record.fields, start=1):
        if not _TAG.fullmatch(field.tag) or is_control(field.tag) != isinstance(field, ControlField):
            raise InvalidRecord(f"the tag of its field {number} is {field.tag[:20]!r}")
        if isinstance(field, ControlField):
            _check_text(field.tag, field.data)
            continue
        if not _INDICATORS.fullmatch(field.indicators):
            raise InvalidRecord(f"field {field.tag} has the indicators {field.indicators[:20]!r}")
        for subfield in field.subfields:
            if not _CODE.fullmatch(subfield.code):
                raise InvalidRecord(f"field {field.tag} has a subfield with the code {subfield.code[:20]!r}")
            _check_text(f"{field.tag} ${subfield.code}", subfield.value)
    return record


def subfield_of(code: str, text: str) -> Subfield:
    """Return a subfield for text that did not come as MARC, with blanks for what no record can hold."""
    return Subfield(code, _NO_TEXT.sub(" ", text))


def _check_text(place: str, text: object) -> None:
    if not isinstance(text, str):
        raise InvalidRecord(f"{place} is not a string")
    if found := _NO_TEXT.search(text):
        raise InvalidRecord(f"{place} holds the character U+{ord(found[0]):04X}, which no text may hold")
