"""MARC 21 record, independent of its serialisation: a leader and an ordered list of fields."""

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
"""Characters that XML 1.0 (2.2) forbids, including the delimiters of ISO 2709."""


LONGEST = 99_999
"""Maximum size of a binary record in bytes; the leader has five digits for it."""


class InvalidRecord(InvalidInput):
    """An invalid MARC record. The message says which record it is and why."""


class TooLongForBinary(BookprintError):
    """A record or a field with more bytes than ISO 2709 can count."""

    status = 406
    title = "Too long for binary MARC"
    remedy = "Request application/marcxml+xml instead."
    field = "Accept"


@dataclass(frozen=True, slots=True)
class Subfield:
    """One subfield of a data field: a code and a value."""

    code: str
    value: str


@dataclass(frozen=True, slots=True)
class ControlField:
    """A field 001 to 009, which contains only text."""

    tag: str
    data: str


@dataclass(frozen=True, slots=True)
class DataField:
    """A field with two indicators and an ordered list of subfields."""

    tag: str
    indicators: str  # two characters
    subfields: tuple[Subfield, ...]

    def values(self, codes: str) -> Iterator[str]:
        """Return the values of the subfields with any of these codes, in order."""
        return (subfield.value for subfield in self.subfields if subfield.code in codes)

    def first(self, code: str) -> str | None:
        """Return the value of the first subfield with this code."""
        return next(self.values(code), None)


Field = ControlField | DataField


@dataclass(frozen=True, slots=True)
class MarcRecord:
    """A record. The lengths in its leader are those of the serialisation that it was read from."""

    leader: str  # 24 characters
    fields: tuple[Field, ...]

    def control(self, tag: str) -> str | None:
        """Return the data of the first control field with this tag."""
        return next(
            (each.data for each in self.fields if isinstance(each, ControlField) and each.tag == tag), None
        )

    def data(self, *tags: str) -> Iterator[DataField]:
        """Return the data fields with any of these tags, in order."""
        return (each for each in self.fields if isinstance(each, DataField) and each.tag in tags)


def is_control(tag: str) -> bool:
    """Return whether fields with this tag have no indicators and no subfields."""
    return _CONTROL_TAG.fullmatch(tag) is not None


def require_marc21(tags: Sequence[str]) -> None:
    """Raise InvalidRecord if the tags are those of UNIMARC, whose fields have other meanings."""
    if "200" in tags and "245" not in tags:
        raise InvalidRecord(
            "it is UNIMARC, whose title is in field 200 and not in 245; convert it to MARC 21 first"
        )


def checked(record: MarcRecord) -> MarcRecord:
    """Return the record; raises InvalidRecord for UNIMARC and if a serialisation could not express it."""
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
    """Return a subfield with text from outside MARC; characters that no record may contain become blanks."""
    return Subfield(code, _NO_TEXT.sub(" ", text))


def _check_text(place: str, text: object) -> None:
    if not isinstance(text, str):
        raise InvalidRecord(f"{place} is not a string")
    if found := _NO_TEXT.search(text):
        raise InvalidRecord(f"{place} contains the character U+{ord(found[0]):04X}, which is not allowed")
