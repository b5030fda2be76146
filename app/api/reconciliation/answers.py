"""Answers of the reconciliation API 0.2, as its JSON schemas have them, and the preview of a book.

https://www.w3.org/community/reports/reconciliation/CG-FINAL-specs-0.2-20230410/. They are plain values: a
large batch has ten thousand candidates.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from uuid import UUID

from app.api.http.problems import problem_of
from app.api.reconciliation.queries import (
    BATCH_SIZE,
    BOOK_TYPE,
    WIDER_TYPE,
    ExtensionQuery,
    ReconciliationQuery,
    property_named,
)
from app.catalog.reconciliation import PROPERTIES, RELATIONS, book_id_of, book_name, plain_values
from app.catalog.scoring import Candidate
from app.services.pairs.relations import Related
from bookprint_core.errors import BookprintError
from bookprint_core.model import Book, Metadata

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Content-Security-Policy of the preview: a browser loads nothing but its own style."""


def result_of(query: ReconciliationQuery, answer: Sequence[Candidate] | BookprintError) -> dict[str, Any]:
    """Returns the result of a query."""
    if isinstance(answer, BookprintError):
        return failed(answer)
    return {"result": [_candidate(each) for each in answer[: query.most]]}


def failed(error: Exception) -> dict[str, Any]:
    """Returns the result of a query that cannot be answered."""
    return {"result": [], "error": problem_of(error).model_dump(mode="json")}


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "id": candidate.id,
        "name": book_name(candidate.metadata.title, candidate.id),
        "description": described(candidate.metadata, candidate.page_count),
        "type": [BOOK_TYPE],
        "score": candidate.score,
        "features": [{"id": name, "value": value} for name, value in candidate.features.items()],
        "match": candidate.match,
    }


def described(metadata: Metadata, page_count: int | None) -> str:
    """Returns the line that distinguishes books of one title."""
    parts = ["; ".join(metadata.authors), metadata.year, metadata.volume and f"volume {metadata.volume}"]
    parts.append(page_count and f"{page_count} pages")
    return ", ".join(str(part) for part in parts if part)


def extension_of(
    query: ExtensionQuery, books: Mapping[UUID, Book], related: Mapping[UUID, Sequence[Related]]
) -> dict[str, Any]:
    """Returns the answer to a data extension query."""
    names = {each.id: property_named(each.id) for each in query.properties}
    rows: dict[str, Any] = {}
    for text in query.ids:
        book_id = book_id_of(text)
        book = None if book_id is None else books.get(book_id)
        rows[text] = {
            wanted: _cells(name, book, related.get(book.id, ())) if book else []
            for wanted, name in names.items()
        }
    return {"meta": [_column(wanted, name) for wanted, name in names.items()], "rows": rows}


def _column(wanted: str, name: str) -> dict[str, Any]:
    known = PROPERTIES.get(name)
    column: dict[str, Any] = {"id": wanted, "name": known.name if known else wanted}
    return column | {"type": BOOK_TYPE} if name == RELATIONS else column


def _cells(name: str, book: Book, related: Sequence[Related]) -> list[dict[str, Any]]:
    if name == RELATIONS:
        return [
            {
                "id": str(other.book_id),
                "name": book_name(other.title, other.book_id),
                "description": f"{summary.kind}, {summary.confidence:.2f}",
            }
            for other, summary in related
        ]
    values = plain_values(name, book)
    return [{"int": value} if isinstance(value, int) else {"str": value} for value in values]


def manifest_at(address: str, version: str) -> dict[str, Any]:
    """Returns the manifest of the service at an address without a slash at its end."""
    page = f"{address}/reconcile/preview/{{{{id}}}}"
    return {
        "versions": ["0.2"],
        "name": "Bookprint",
        "identifierSpace": f"{address}/v1/books/",
        "schemaSpace": "https://schema.org/Book",
        "documentation": f"{address}/docs",
        "serviceVersion": version,
        "defaultTypes": [BOOK_TYPE | {"broader": [WIDER_TYPE]}],
        "view": {"url": page},
        "preview": {"url": page, "width": 430, "height": 300},
        "suggest": {"entity": {"service_url": address, "service_path": "/reconcile/suggest/entity"}},
        "extend": {
            "propose_properties": {"service_url": address, "service_path": "/reconcile/properties"},
            "property_settings": [],
        },
        "batchSize": BATCH_SIZE,
    }


_STYLE = """
body { margin: 0; padding: .6em .8em; font: 13px/1.4 sans-serif; color: #1b1b1b; background: #fff }
h1 { margin: 0; font-size: 1.2em } p { margin: .1em 0 .5em } dl, ul { margin: 0; padding: 0 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1em .8em } dt { color: #555 }
dd { margin: 0; overflow-wrap: anywhere } ul { list-style: none }
"""
_SHOWN = ("identifiers", "identifier", "language", "volume", "page_count", "word_count", "cluster")
_MOST_RELATED = 20


def book_page(book: Book, related: Sequence[Related]) -> str:
    """Returns a page about a book, small enough for a frame beside a table."""
    title = escape(book_name(book.metadata.title, book.id))
    byline = ", ".join([*book.metadata.authors, *map(str, plain_values("year", book))])
    facts = [
        f"<dt>{PROPERTIES[name].name}</dt><dd>{escape(', '.join(map(str, values)))}</dd>"
        for name in _SHOWN
        if (values := plain_values(name, book))
    ]
    links = [
        f'<li><a href="{other.book_id}" target="_blank">{escape(book_name(other.title, other.book_id))}</a>'
        f" ({summary.kind.replace('_', ' ').lower()})"
        for other, summary in related[:_MOST_RELATED]
    ]
    if (more := len(related) - _MOST_RELATED) > 0:
        links.append(f"<li>and {more:,} more")
    if links:
        facts.append(f"<dt>Related</dt><dd><ul>{''.join(links)}</ul></dd>")
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{_STYLE}</style>'
        f'</head>\n<body>\n<h1 dir="auto">{title}</h1>\n<p dir="auto">{escape(byline)}</p>\n'
        f"<dl>\n{chr(10).join(facts)}\n</dl>\n</body>\n</html>\n"
    )
