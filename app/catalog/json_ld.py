"""JSON-LD 1.1 description of a book: schema.org's Book with BIBFRAME's relations and an inline context."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

from app.catalog.identifiers import is_valid, isbns
from app.catalog.marc.links import LinkedBook, Standing, entry_tag, physical_form
from app.catalog.marc.numbers import OURS
from app.catalog.marc.record import MarcRecord
from app.catalog.marc.values import trimmed
from bookprint_core.model import Book
from bookprint_core.relations.classification import RELATED

CONTEXT: Mapping[str, Any] = {
    "@version": 1.1,
    "@vocab": "https://schema.org/",
    "bf": "http://id.loc.gov/ontologies/bibframe/",
    "sameAs": {"@type": "@id"},
    "url": {"@type": "@id"},
}
"""JSON-LD context: names without a prefix are schema.org's, names with `bf:` are BIBFRAME's."""

_RELATIONS: Mapping[str, tuple[str, ...]] = {
    "773": ("isPartOf", "bf:partOf"),
    "774": ("hasPart", "bf:hasPart"),
    "775": ("bf:otherEdition",),
    "776": ("bf:otherPhysicalFormat",),
    "787": ("bf:relatedTo",),
}
"""Properties that express a linking entry, by its tag."""

_PAGES: Mapping[str, Callable[[str], str]] = {
    "ark": "https://n2t.net/ark:/{}".format,
    "doi": "https://doi.org/{}".format,
    "gutenberg": "https://www.gutenberg.org/ebooks/{}".format,
    "htid": "https://hdl.handle.net/2027/{}".format,
    "isbn": "urn:isbn:{}".format,
    "issn": "urn:issn:{}".format,
    "lccn": "https://lccn.loc.gov/{}".format,
    "oclc": "https://www.worldcat.org/oclc/{}".format,
}
"""Formats of the URIs of the same book elsewhere, by identifier scheme."""


def document(book: Book, record: MarcRecord, standing: Standing) -> dict[str, Any]:
    """Return the JSON-LD document of a book; unknown fields are left out."""
    metadata = book.metadata
    fields: dict[str, Any] = {
        "@context": dict(CONTEXT),
        "@id": _name(book.id),
        "@type": ["Book", "bf:Instance"],
        "url": f"/v1/books/{book.id}",
        "name": metadata.title,
        "alternateName": list(_other_scripts(record)),
        "author": [{"@type": "bf:Agent", "name": name} for name in metadata.authors],
        "inLanguage": metadata.language,
        "datePublished": None if metadata.year is None else _date(metadata.year),
        "volumeNumber": metadata.volume,
        "bookEdition": _first(record, "a", "250"),
        "publisher": _publisher(record),
        "numberOfPages": book.page_count,
        "isbn": list(isbns(metadata.identifiers)),
        "identifier": [
            _property(*identifier.split(":", 1)) for identifier in (*_own(standing), *metadata.identifiers)
        ],
        "sameAs": list(_pages(metadata.identifiers)),
        "exampleOfWork": _work(standing),
        "bf:instanceOf": {"@id": _cluster(standing)},
        **_relations(record, standing),
    }
    return {name: value for name, value in fields.items() if value not in (None, [])}


def _relations(record: MarcRecord, standing: Standing) -> dict[str, list[dict[str, Any]]]:
    form = physical_form(record.leader, record.control("008"))
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for linked in standing.linked:
        if linked.relation.kind in RELATED:
            for name in _RELATIONS[entry_tag(linked, form)]:
                found[name].append(_linked(linked))
    return found


def _linked(linked: LinkedBook) -> dict[str, Any]:
    relation = linked.relation
    fields = {
        "@id": _name(linked.book_id),
        "@type": ["Book", "bf:Instance"],
        "url": f"/v1/books/{linked.book_id}",
        "name": linked.metadata.title,
        "identifier": linked.identifier and _property(OURS, linked.identifier),
        "pagination": ", ".join(linked.pages) or None,
        "additionalProperty": [
            _property("relation", relation.kind),
            _property("confidence", round(relation.confidence, 4)),
        ],
    }
    return {name: value for name, value in fields.items() if value is not None}


def _work(standing: Standing) -> dict[str, Any]:
    """Return the work that copies of one text share; its id is the key of their cluster."""
    same = [
        {"@id": _name(linked.book_id)}
        for linked in standing.linked
        if linked.relation.kind in RELATED and entry_tag(linked, None) == "775"
    ]
    return {
        "@id": _cluster(standing),
        "@type": ["CreativeWork", "bf:Work"],
        "workExample": [{"@id": _name(standing.book_id)}, *same],
    }


def _own(standing: Standing) -> Iterator[str]:
    if standing.identifier is not None:
        yield f"{OURS}:{standing.identifier}"
    yield f"{OURS}-cluster:{standing.cluster}"


def _pages(identifiers: tuple[str, ...]) -> Iterator[str]:
    for identifier in identifiers:
        scheme, _, value = identifier.partition(":")
        if scheme in _PAGES and is_valid(identifier):
            yield _PAGES[scheme](value)


def _other_scripts(record: MarcRecord) -> Iterator[str]:
    """Yield the title in other scripts (fields 880 that are linked to 245)."""
    for field in record.data("880"):
        if (field.first("6") or "").startswith("245"):
            yield ": ".join(filter(None, map(trimmed, field.values("ab"))))


def _publisher(record: MarcRecord) -> dict[str, str] | None:
    name = _first(record, "b", "260", "264")
    return None if name is None else {"@type": "Organization", "name": name}


def _first(record: MarcRecord, code: str, *tags: str) -> str | None:
    texts = (trimmed(value) for field in record.data(*tags) for value in field.values(code))
    return next(filter(None, texts), None)


def _date(year: int) -> str:
    """Return the year in ISO 8601.

    >>> _date(813), _date(-500)
    ('0813', '-0500')
    """
    return f"{year:0{5 if year < 0 else 4}}"


def _property(name: str, value: object) -> dict[str, Any]:
    return {"@type": "PropertyValue", "propertyID": name, "value": value}


def _name(book_id: UUID) -> str:
    return f"urn:uuid:{book_id}"


def _cluster(standing: Standing) -> str:
    return f"urn:bookprint:cluster:{standing.cluster}"
