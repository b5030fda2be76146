"""Identifiers in MARC fields 001, 010, 020, 022, 024 and 035, converted to scheme:value and back."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.catalog.identifiers import normalised
from app.catalog.marc.record import ControlField, DataField, Field, MarcRecord, Subfield, subfield_of
from app.catalog.marc.values import plain
from bookprint_core.metadata import LONGEST_IDENTIFIER
from bookprint_core.text.catalogue_values import as_written

OURS = "bookprint"
"""Source ($2) and organisation code of identifiers that this service writes."""

CONTROL_NUMBER = "control-number"
"""Scheme of a number in 001 whose organisation is not in 003."""

CANCELLED = "cancelled-"
"""Prefix of the scheme of identifiers that a record marks as cancelled or wrong ($z)."""

_FIRST_INDICATOR = {"0": "isrc", "1": "upc", "2": "ismn", "3": "ean", "4": "sici"}
_BY_TAG = {"010": "lccn", "020": "isbn", "022": "issn"}
_PREFIXED = re.compile(r"\(([^()]+)\)\s*(.+)")
_OCLC_NUMBER = re.compile(r"oc[mn]\d+|on\d+", re.IGNORECASE)
_NO_SCHEME = re.compile(r"[^0-9a-z]+")


@dataclass(frozen=True, slots=True)
class _Place:
    """The field and subfield that contain an identifier."""

    field: Field
    subfield: Subfield | None  # None for a control field


def identifiers(record: MarcRecord) -> tuple[str, ...]:
    """Return the identifiers of a record as scheme:value, in order, without duplicates."""
    return tuple(dict.fromkeys(identifier for identifier, _ in _identifiers(record)))


def without(record: MarcRecord, unwanted: set[str]) -> MarcRecord:
    """Return the record without these normalised identifiers; its control number stays."""
    gone = [place for identifier, place in _identifiers(record) if normalised(identifier) in unwanted]
    fields: list[Field] = []
    for field in record.fields:
        subfields = [place.subfield for place in gone if place.field is field and place.subfield]
        if isinstance(field, DataField) and subfields:
            left = tuple(each for each in field.subfields if not any(each is one for one in subfields))
            if any(each.code in "az" for each in left):
                fields.append(replace(field, subfields=left))
        else:
            fields.append(field)
    return replace(record, fields=tuple(fields))


def field_of(identifier: str) -> DataField | None:
    """Return the field for an identifier; None for a control number, which is in 001."""
    scheme, _, value = identifier.partition(":")
    code, scheme = ("z", scheme.removeprefix(CANCELLED)) if scheme.startswith(CANCELLED) else ("a", scheme)
    if scheme == CONTROL_NUMBER:
        return None
    for tag, standard in _BY_TAG.items():
        if scheme == standard:
            return DataField(tag, "  ", (subfield_of(code, value),))
    if scheme == "oclc":
        return DataField("035", "  ", (subfield_of(code, f"(OCoLC){value}"),))
    for indicator, standard in _FIRST_INDICATOR.items():
        if scheme == standard:
            return DataField("024", f"{indicator} ", (subfield_of(code, value),))
    return DataField("024", "7 ", (subfield_of(code, value), subfield_of("2", scheme)))


def _identifiers(record: MarcRecord) -> Iterator[tuple[str, _Place]]:
    """Yield each identifier with its place; identifiers that are common among libraries come first."""
    for tag in ("020", "022", "010", "035", "024"):
        for field in record.data(tag):
            for subfield in field.subfields:
                identifier = _identifier(field, subfield)
                # Longer identifiers remain only in the record.
                if identifier is not None and len(identifier) <= LONGEST_IDENTIFIER:
                    yield identifier, _Place(field, subfield)
    organisation = plain(record.control("003") or "")
    for control in record.fields:
        number = plain(control.data) if isinstance(control, ControlField) and control.tag == "001" else ""
        if number and organisation != OURS:
            scheme = _scheme(organisation) or ("oclc" if _OCLC_NUMBER.fullmatch(number) else CONTROL_NUMBER)
            if len(number) + len(scheme) < LONGEST_IDENTIFIER:
                yield f"{scheme}:{number}", _Place(control, None)


def _identifier(field: DataField, subfield: Subfield) -> str | None:
    if subfield.code not in ("a", "z", "y") or (subfield.code == "y" and field.tag != "022"):
        return None
    value = plain(subfield.value)
    if field.tag in ("020", "022"):
        scheme = _BY_TAG[field.tag]
        value = as_written(scheme, value) or ""
    elif field.tag == "010":
        scheme = "lccn"
    elif field.tag == "035":
        prefixed = _PREFIXED.fullmatch(value)
        scheme, value = (_scheme(prefixed[1]), prefixed[2]) if prefixed else ("", "")
    else:
        source = field.first("2") if field.indicators[0] == "7" else None
        scheme = _FIRST_INDICATOR.get(field.indicators[0]) or _scheme(source or "")
    if not scheme or not value or scheme == OURS:
        return None
    return f"{'' if subfield.code == 'a' else CANCELLED}{scheme}:{value}"


def _scheme(organisation: str) -> str:
    """Return the code of an organisation or source as a scheme; empty if there is no code.

    >>> _scheme("OCoLC"), _scheme("DE-627")
    ('oclc', 'de-627')
    """
    scheme = _NO_SCHEME.sub("-", organisation.lower()).strip("-")
    return "oclc" if scheme == "ocolc" else scheme
