"""Fields that this service adds to a record: identifiers in 024, and a linking entry for each relation.

Each field names this service as its source. Readers of an exported record can therefore ignore the fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from app.catalog.identifiers import isbns
from app.catalog.marc.numbers import OURS
from app.catalog.marc.record import DataField, Field, MarcRecord, subfield_of
from bookprint_core.model import Metadata
from bookprint_core.relations.classification import RELATED, SAME_TEXT, Kind
from bookprint_core.relations.related import RelationSummary

_LINKING = frozenset({"773", "774", "775", "776", "787"})
_OUR_NUMBER = f"({OURS})"

PhysicalForm = Literal["print", "electronic", "microform", "braille"]
"""Physical form of a book, if its record states it."""

_PHRASES: dict[Kind, str] = {
    "SAME_PAGINATION": "Same text on the same pages",
    "DIFFERENT_PAGINATION": "Same text on other pages",
    "SAME_TEXT": "Same text",
    "CONTIGUOUS_SUBSET": "Shares a contiguous part",
    "OVERLAPPING_TEXT": "Shares some of the text",
}
_FORMS: dict[str, PhysicalForm] = {
    **dict.fromkeys("abc", "microform"),
    **dict.fromkeys("oqs", "electronic"),
    **dict.fromkeys(" dr", "print"),
    "f": "braille",
}


@dataclass(frozen=True, slots=True)
class LinkedBook:
    """A book that is related to the book of a record."""

    book_id: UUID
    identifier: str | None  # bp1:… identifier of the text
    metadata: Metadata
    relation: RelationSummary  # seen from the book of the record
    form: PhysicalForm | None = None
    pages: Sequence[str] = ()  # pages of the whole that are the part; empty if there are none or unknown


@dataclass(frozen=True, slots=True)
class Standing:
    """Identifiers and relations of a book in the catalogue, for its record."""

    book_id: UUID
    identifier: str | None  # bp1:… identifier of the text
    cluster: str  # key of the book's cluster of the same text
    linked: Sequence[LinkedBook]


def physical_form(leader: str, fixed: str | None) -> PhysicalForm | None:
    """Return the form of the item (008, position 23) for books, scores and manuscripts."""
    return _FORMS.get((fixed or "")[23:24]) if leader[6] in "atcdp" else None


def with_links(record: MarcRecord, standing: Standing, longest: int | None = None) -> MarcRecord:
    """Return the record with the book's identifiers and linking entries after its own fields.

    Titles and authors of entries are cut to `longest` characters, with an ellipsis.
    """
    form = physical_form(record.leader, record.control("008"))
    names = [("book", str(standing.book_id)), ("text", standing.identifier), ("cluster", standing.cluster)]
    numbers = [_number(name, value) for name, value in names if value is not None]
    entries = [_entry(book, form, longest) for book in standing.linked if book.relation.kind in RELATED]
    entries.sort(key=lambda entry: entry.tag)
    return replace(record, fields=(*without_links(record).fields, *numbers, *entries))


def without_links(record: MarcRecord) -> MarcRecord:
    """Return the record without the fields that `with_links` adds."""
    return replace(record, fields=tuple(field for field in record.fields if not _is_ours(field)))


def entry_tag(book: LinkedBook, form: PhysicalForm | None) -> str:
    """Return the tag of the linking entry for a book, in the record of a book with this form.

    775 other edition, 776 same text in another physical form, 774 part, 773 whole, 787 other relation.
    """
    if book.relation.kind in SAME_TEXT:
        return "776" if form and book.form and form != book.form else "775"
    return {"contains": "774", "contained_in": "773"}.get(book.relation.direction or "", "787")


def _number(name: str, value: str) -> DataField:
    return DataField("024", "7 ", (subfield_of("a", value), subfield_of("q", name), subfield_of("2", OURS)))


def _entry(book: LinkedBook, form: PhysicalForm | None, longest: int | None) -> DataField:
    metadata, relation = book.metadata, book.relation
    phrase = {"contains": "Contains", "contained_in": "Contained in"}.get(
        relation.direction or "", _PHRASES[relation.kind]
    )
    subfields = [subfield_of("i", f"{phrase} (confidence {relation.confidence:.2f}):")]
    if metadata.authors:
        subfields.append(subfield_of("a", _cut(metadata.authors[0], longest)))
    if metadata.title is not None:
        subfields.append(subfield_of("t", _cut(metadata.title, longest)))
    if book.pages:
        subfields.append(subfield_of("g", f"p. {', '.join(book.pages)}"))
    if metadata.year is not None:
        subfields.append(subfield_of("d", str(metadata.year)))
    subfields += [subfield_of("z", isbn) for isbn in isbns(metadata.identifiers)]
    if book.identifier is not None:
        subfields.append(subfield_of("o", book.identifier))
    subfields.append(subfield_of("w", f"{_OUR_NUMBER}{book.book_id}"))
    # First indicator 0: the entry may be shown as a note. Second indicator 8: $i is the only text before it.
    return DataField(entry_tag(book, form), "08", tuple(subfields))


def _cut(text: str, longest: int | None) -> str:
    return text if longest is None or len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _is_ours(field: Field) -> bool:
    if not isinstance(field, DataField):
        return False
    if field.tag == "024":
        return field.first("2") == OURS
    return field.tag in _LINKING and any(value.startswith(_OUR_NUMBER) for value in field.values("w"))
