"""Completeness: what a scan lacks, by copies of its printing in the catalogue."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.core.clusters.completeness import (
    FaultKind as FaultKind,
    Finding,
    PagesOfCopy as PagesOfCopy,
    find_faults,
)
from app.core.clusters.scanned_book import ScannedBook
from app.core.errors import CompletenessUnknown, TextNotKept, UnknownBook
from app.core.model import PAGE_BREAK
from app.core.signatures.sketch import page_signatures
from app.services.pairs.relations import effective_of
from app.stores.postgres.cluster_queries import ClusterQueries, CopyText
from app.stores.postgres.pairs.relation_queries import RelationQueries

MOST_COPIES = 5
"""Copies that a scan is held against."""

MOST_PAGES = 5_000
"""Pages of a book that are held against those of others; time and memory grow with the square."""


@dataclass(frozen=True, slots=True)
class CompletenessRead:
    """The faults of a scan, in the order of its pages."""

    compared_with: Sequence[UUID]
    findings: Sequence[Finding]


class Completeness:
    """Holds scans against copies of the same printing, anew for each request."""

    def __init__(self, clusters: ClusterQueries, related: RelationQueries) -> None:
        self._clusters = clusters
        self._related = related

    async def of_book(self, book_id: UUID) -> CompletenessRead:
        """What the book lacks; raises `UnknownBook`, `TextNotKept` and `CompletenessUnknown`."""
        related = {each.book_id: effective_of(each) for each in await self._related.list_direct(book_id)}
        copies = sorted(
            (-each.confidence, other)
            for other, each in related.items()
            if each is not None and each.kind == "SAME_PAGINATION"
        )
        async with self._clusters.snapshot() as snapshot:
            if not await snapshot.has_book(book_id):
                raise UnknownBook(book_id)
            with_text = await snapshot.list_with_text([other for _, other in copies])
            chosen = [other for _, other in copies if other in with_text][:MOST_COPIES]
            texts = await snapshot.read_texts([book_id, *chosen])
        if book_id not in texts:
            raise TextNotKept(f"The text of book {book_id}", "id")
        pages = texts[book_id].text.page_count
        if pages is None:
            raise CompletenessUnknown(
                f"The pages of book {book_id} are not known. Send it as `pages`, or with U+000C between them."
            )
        if pages > MOST_PAGES:
            raise CompletenessUnknown(
                f"Book {book_id} has {pages:,} pages, more than the {MOST_PAGES:,} that are held against "
                "others. Send its volumes as books of their own."
            )
        chosen = [each for each in chosen if 0 < (texts[each].text.page_count or 0) <= MOST_PAGES]
        if not chosen:
            raise CompletenessUnknown(
                f"No other scan of the printing of book {book_id} is known by pages and text. Add one in "
                "pages, wait until nothing is pending in the book's relations, or decide that a book is "
                "SAME_PAGINATION with it."
            )
        findings = await asyncio.to_thread(_findings, book_id, chosen, texts)
        return CompletenessRead(chosen, findings)


def _findings(book_id: UUID, copies: Sequence[UUID], texts: Mapping[UUID, CopyText]) -> list[Finding]:
    def scanned(each: UUID) -> ScannedBook:
        content, labels = texts[each].text.content(), texts[each].page_labels
        return ScannedBook.of(each, page_signatures(content), content.text.split(PAGE_BREAK), labels)

    return find_faults(scanned(book_id), map(scanned, copies))
