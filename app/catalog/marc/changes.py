"""MARC fields from metadata: a new record, or a record with changed metadata."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from app.catalog.identifiers import all_normalised
from app.catalog.marc import description, numbers
from app.catalog.marc.record import ControlField, DataField, Field, MarcRecord, subfield_of
from app.catalog.marc.values import code_of
from bookprint_core.model import Metadata

_LEADER = "00000nam a2200000u  4500"
_FIXED = "||||||nuuuuuuuuxx |||||||||||||||||und||"
"""Field 008 (40 positions) when nothing is known."""

_DATE_TYPE, _DATES, _LANGUAGE = slice(6, 7), slice(7, 15), slice(35, 38)


def record_of(metadata: Metadata, book_id: UUID) -> MarcRecord:
    """Make a record from metadata alone, with the book's id as control number."""
    created = datetime.fromtimestamp((book_id.int >> 80) / 1_000, UTC)  # RFC 9562, version 7
    fields = (
        ControlField("001", str(book_id)),
        ControlField("003", numbers.OURS),
        ControlField("008", f"{created:%y%m%d}{_FIXED[6:]}"),
    )
    return with_changes(MarcRecord(_LEADER, fields), metadata, _CHANGES)


def with_changes(record: MarcRecord, metadata: Metadata, changed: Collection[str]) -> MarcRecord:
    """Return the record with the changed fields of the metadata; unchanged fields stay as they are."""
    before = description.metadata_of(record)
    for name, change in _CHANGES.items():
        if name in changed and _normal(name, before) != _normal(name, metadata):
            record = change(record, metadata)
    return record


def with_field(record: MarcRecord, field: Field) -> MarcRecord:
    """Return the record with one more field, before the first field with a higher tag."""
    fields = record.fields
    place = next((at for at, each in enumerate(fields) if each.tag > field.tag), len(fields))
    return replace(record, fields=(*fields[:place], field, *fields[place:]))


def _normal(name: str, metadata: Metadata) -> object:
    value: object = getattr(metadata, name)
    return frozenset(all_normalised(metadata.identifiers)) if name == "identifiers" else value


def _with_title(record: MarcRecord, metadata: Metadata) -> MarcRecord:
    old = next(record.data("245"), None)
    if metadata.title is None:
        return record if old is None else _replaced(record, old, None)
    if old is None:
        return with_field(record, DataField("245", "00", (subfield_of("a", metadata.title),)))
    # Without non-filing characters, because the first words of the new title are unknown.
    new = replace(old, indicators=f"{old.indicators[0]}0")
    return _replaced(record, old, _with_subfields(new, "abnp", (metadata.title,)))


def _with_authors(record: MarcRecord, metadata: Metadata) -> MarcRecord:
    entries = {
        description.name_of(field): field
        for field in (*record.data("100", "110", "111"), *record.data("700"))
        if field.tag != "700" or description.is_author(field)
    }
    record = _without(record, lambda field: any(field is entry for entry in entries.values()))
    record = _without(record, lambda field: field.tag in ("100", "110", "111"))
    for number, name in enumerate(metadata.authors):
        tag = "700" if number else "100"
        entry = entries.get(name)
        if entry is not None and entry.tag in ("100", "700"):
            record = with_field(record, replace(entry, tag=tag))
        elif entry is not None and not number:
            record = with_field(record, entry)
        else:
            indicators = "1 " if "," in name else "0 "
            record = with_field(record, DataField(tag, indicators, (subfield_of("a", name),)))
    return record


def _with_language(record: MarcRecord, metadata: Metadata) -> MarcRecord:
    code = None if metadata.language is None else code_of(metadata.language)
    record = _with_fixed(record, _LANGUAGE, code or "und")
    for field in record.data("041"):
        record = _with_values(record, field, "a", ())
    if metadata.language is not None and description.language_of(record) != metadata.language:
        own = DataField("041", " 7", (subfield_of("a", metadata.language), subfield_of("2", "rfc5646")))
        record = with_field(record, own)
    return record


def _with_year(record: MarcRecord, metadata: Metadata) -> MarcRecord:
    dated = [field for field in description.publications(record) if field.first("c") is not None]
    if metadata.year is None:
        for field in dated:
            record = _with_values(record, field, "c", ())
        return _with_fixed(_with_fixed(record, _DATES, "uuuuuuuu"), _DATE_TYPE, "n")
    year = str(metadata.year)
    if 0 <= metadata.year <= 9_999:
        record = _with_fixed(_with_fixed(record, _DATES, f"{metadata.year:04}    "), _DATE_TYPE, "s")
    if dated:
        return _with_values(record, dated[0], "c", (year,))
    return with_field(record, DataField("264", " 1", (subfield_of("c", year),)))


def _with_volume(record: MarcRecord, metadata: Metadata) -> MarcRecord:
    places = list(description.volumes(record))
    if metadata.volume is None:
        for field, code in places:
            record = _with_values(record, field, code, ())
        return record
    if places:
        return _with_values(record, *places[0], (metadata.volume,))
    return with_field(record, DataField("490", "0 ", (subfield_of("v", metadata.volume),)))


def _with_publisher(record: MarcRecord, metadata: Metadata) -> MarcRecord:
    named = [field for field in description.publications(record) if field.first("b") is not None]
    if metadata.publisher is None:
        for field in named:
            record = _with_values(record, field, "b", ())
        return record
    if named:
        return _with_values(record, named[0], "b", (metadata.publisher,))
    new = subfield_of("b", metadata.publisher)
    for field in description.publications(record):
        codes = [part.code for part in field.subfields]
        place = codes.index("c") if "c" in codes else len(codes)
        subfields = (*field.subfields[:place], new, *field.subfields[place:])
        return _replaced(record, field, replace(field, subfields=subfields))
    return with_field(record, DataField("264", " 1", (new,)))


def _with_identifiers(record: MarcRecord, metadata: Metadata) -> MarcRecord:
    before, now = (all_normalised(each) for each in (numbers.identifiers(record), metadata.identifiers))
    record = numbers.without(record, set(before) - set(now))
    for identifier in now:
        if identifier not in before and (field := numbers.field_of(identifier)) is not None:
            record = with_field(record, field)
    return record


_CHANGES: Mapping[str, Callable[[MarcRecord, Metadata], MarcRecord]] = {
    "title": _with_title,
    "authors": _with_authors,
    "language": _with_language,
    "year": _with_year,
    "volume": _with_volume,
    "publisher": _with_publisher,
    "identifiers": _with_identifiers,
}


def _without(record: MarcRecord, unwanted: Callable[[Field], bool]) -> MarcRecord:
    return replace(record, fields=tuple(field for field in record.fields if not unwanted(field)))


def _replaced(record: MarcRecord, old: Field, new: Field | None) -> MarcRecord:
    fields = ((new if each is old else each) for each in record.fields)
    return replace(record, fields=tuple(each for each in fields if each is not None))


def _with_values(record: MarcRecord, field: DataField, code: str, values: Sequence[str]) -> MarcRecord:
    """Return the record in which the subfields `code` of `field` contain these values."""
    return _replaced(record, field, _with_subfields(field, code, values))


def _with_subfields(field: DataField, codes: str, values: Sequence[str]) -> DataField | None:
    """Return the field with these values instead of all subfields with these codes; None if it gets empty."""
    place = next((at for at, part in enumerate(field.subfields) if part.code in codes), len(field.subfields))
    left = [part for part in field.subfields if part.code not in codes]
    left[place:place] = [subfield_of(codes[0], value) for value in values]
    return replace(field, subfields=tuple(left)) if left else None


def _with_fixed(record: MarcRecord, places: slice, text: str) -> MarcRecord:
    """Return the record with `text` at these positions of 008. A missing or short 008 is unchanged."""
    for field in record.fields:
        if isinstance(field, ControlField) and field.tag == "008" and len(field.data) >= places.stop:
            data = field.data[: places.start] + text + field.data[places.stop :]
            return _replaced(record, field, replace(field, data=data))
    return record
