"""Metadata of a book from a MARC 21 record.

docs/reference/marc.md contains the complete table.
"""

import re
from collections.abc import Iterator

from app.catalog.marc.numbers import identifiers
from app.catalog.marc.record import DataField, MarcRecord
from app.catalog.marc.values import plain, tag_of, trimmed
from bookprint_core.model import Metadata
from bookprint_core.text.catalogue_values import year_in

_AUTHOR_ROLES = re.compile(
    r"aut|cre|(?:joint |co-?)?(?:author|creator)s?|(?:verfasser|auteur|autor)\w*", re.IGNORECASE
)
_ROLE_CODES = frozenset("e4")
_TITLE_PARTS = "abnp"


def metadata_of(record: MarcRecord) -> Metadata:
    """Return the metadata that a record contains; missing fields are unknown."""
    return Metadata(
        title=title_of(record),
        authors=authors_of(record),
        language=language_of(record),
        year=year_of(record),
        volume=volume_of(record),
        publisher=publisher_of(record),
        identifiers=identifiers(record),
    )


def title_of(record: MarcRecord) -> str | None:
    """Return the title proper with subtitle and numbers and names of parts (245 $a $b $n $p)."""
    field = next(record.data("245"), None)
    title, before = "", ""
    for part in field.subfields if field else ():
        text = trimmed(part.value)
        if part.code in _TITLE_PARTS and text:
            title += (_separator(part.code, before, title) if title else "") + text
            before = part.code + plain(part.value)[-1:]
    return title or None


def authors_of(record: MarcRecord) -> tuple[str, ...]:
    """Return the names of the main entry (100, 110, 111), and of authors of the whole work in 700."""
    names = [name_of(field) for field in record.data("100", "110", "111")]
    names += [name_of(field) for field in record.data("700") if is_author(field)]
    return tuple(dict.fromkeys(filter(None, names)))


def is_author(field: DataField) -> bool:
    """Return whether an added entry names an author, not a person of another work ($t) or role ($e, $4)."""
    roles = [trimmed(part.value) for part in field.subfields if part.code in _ROLE_CODES]
    if field.first("t") is not None:
        return False
    return not roles or any(_AUTHOR_ROLES.fullmatch(role.rpartition("/")[2]) for role in roles)


def name_of(field: DataField) -> str:
    """Return the name in an entry ($a with $b), without dates, titles and roles."""
    parts = [part for part in map(trimmed, field.values("ab" if field.tag != "111" else "a")) if part]
    return (". " if field.tag == "110" else " ").join(parts)


def language_of(record: MarcRecord) -> str | None:
    """Return the language of the text: the first of 041 $a, else 008 (35-37)."""
    for field in record.data("041"):
        value = plain(field.first("a") or "")
        if value and field.first("2") is not None:
            return value if re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*", value) else None
        if tag := tag_of(value[:3]):  # older records join several codes
            return tag
    return tag_of((record.control("008") or "")[35:38])


def year_of(record: MarcRecord) -> int | None:
    """Return the year of publication: 264 with second indicator 1, 260, other 264, then 008 (07-10).

    If a field contains several years, or a year of another calendar, 008 decides.
    """
    coded = year_in((record.control("008") or "")[7:11])
    fields = (text for field in publications(record) for text in field.values("c"))
    return next((year for text in fields if (year := year_in(text, coded)) is not None), coded)


def volume_of(record: MarcRecord) -> str | None:
    """Return the number of the part (245 $n), else the number of the volume in its series (490, 830 $v)."""
    return next((trimmed(field.first(code) or "") for field, code in volumes(record)), None)


def publisher_of(record: MarcRecord) -> str | None:
    """Return the first publisher: 264 with second indicator 1, 260, then other 264 ($b)."""
    names = (trimmed(name) for field in publications(record) for name in field.values("b"))
    return next(filter(None, names), None)


def volumes(record: MarcRecord) -> Iterator[tuple[DataField, str]]:
    """Yield the fields that contain a volume number, with their subfield codes; the work's number first."""
    for tag, code in (("245", "n"), ("490", "v"), ("830", "v")):
        for field in record.data(tag):
            if trimmed(field.first(code) or ""):
                yield field, code


def publications(record: MarcRecord) -> Iterator[DataField]:
    """Yield the fields on publication, in the order in which their dates count."""
    produced = list(record.data("264"))
    yield from (field for field in produced if field.indicators[1] == "1")
    yield from record.data("260")
    yield from (field for field in produced if field.indicators[1] != "1")


def _separator(code: str, before: str, title: str) -> str:
    """Return the separator between two parts of a title."""
    if code == "b":
        return {"=": " = ", ";": "; "}.get(before[-1:], ": ")
    if code == "p" and before[:1] == "n":
        return ", "
    return " " if title.endswith((".", "!", "?")) else ". "
