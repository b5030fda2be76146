"""Sixty made books: copies, editions, volumes, badly read ones, and ones whose metadata are wrong."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from app.synthesis.library import synthetic_library
from tests.api.library import prose, scanned
from tests.factories import pages_of

Json = dict[str, Any]

BOOKS = 60
ISBN, OTHER_ISBN = "isbn:9780141439600", "isbn:9783161484100"
NOVEL = pages_of(prose(31, 6_000))
LABELS = [str(number) for number in range(1, len(NOVEL) + 1)]
SERMONS = prose(32, 4_000)


def made_library() -> list[Json]:
    """The books as they are posted, each with an external id."""
    known = list(_known())
    return [*known, *islice(_synthetic(), BOOKS - len(known))]


def rescanned(pages: list[str], seed: int, error_rate: float = 0.02) -> list[str]:
    """The same pages, read with other errors."""
    return [scanned(page, 100 * seed + number, error_rate) for number, page in enumerate(pages)]


def _known() -> Iterator[Json]:
    """Books that stand in every relation to others."""
    novel = {"title": "The Ferry at Dawn", "authors": ["E. M. Harbour"], "year": 1913, "language": "en"}
    yield novel | {"external_id": "novel", "pages": NOVEL, "page_labels": LABELS, "identifiers": [ISBN]}
    yield novel | {"external_id": "novel-rescan", "pages": rescanned(NOVEL, 1), "page_labels": LABELS}
    yield novel | {"external_id": "novel-badly-read", "pages": rescanned(NOVEL, 2, 0.12)}
    lacking = {"pages": rescanned(NOVEL[:9] + NOVEL[11:], 3), "page_labels": LABELS[:9] + LABELS[11:]}
    yield novel | lacking | {"external_id": "novel-lacks-a-leaf", "collection": "partner"}
    swapped = [*NOVEL[:5], NOVEL[6], NOVEL[5], *NOVEL[7:], NOVEL[-1]]
    yield novel | {"external_id": "novel-misbound", "pages": rescanned(swapped, 4)}
    edition = pages_of(scanned(" ".join(NOVEL), 5, 0.01), 170)
    yield novel | {
        "external_id": "novel-edition",
        "pages": edition,
        "year": 1921,
        "identifiers": [OTHER_ISBN],
    }
    yield novel | {"external_id": "novel-volume-1", "pages": rescanned(NOVEL[:10], 6), "volume": "1"}
    yield novel | {"external_id": "novel-volume-2", "pages": rescanned(NOVEL[10:], 7), "volume": "2"}
    yield novel | {"external_id": "novel-text", "text": scanned(" ".join(NOVEL), 8, 0.03)}
    yield {"external_id": "sermons", "title": "Sermons", "text": SERMONS, "collection": "partner"}
    yield {"external_id": "omnibus", "title": "Works", "pages": [*NOVEL, *pages_of(SERMONS)]}
    yield {"external_id": "wrong-isbn", "pages": pages_of(prose(33, 3_000)), "identifiers": [ISBN]}
    yield novel | {"external_id": "same-title", "pages": pages_of(prose(34, 3_000)), "year": 1700}
    yield {"external_id": "leaflet", "title": "A leaflet", "text": "Come to the ferry at dawn, all of you."}
    yield {
        "external_id": "quotation",
        "pages": [*pages_of(prose(35, 3_000)), NOVEL[3], *pages_of(prose(36, 900))],
    }


def _synthetic() -> Iterator[Json]:
    """Works with two or three copies each, some of which share a chapter."""
    for book in synthetic_library(43, BOOKS, copies=(2, 3), characters=(9_000, 14_000), sharing=0.3):
        yield {
            "external_id": book.id,
            "title": book.title,
            "authors": [book.author],
            "year": book.year,
            "pages": list(book.pages),
        }
