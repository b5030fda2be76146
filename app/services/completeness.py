"""Completeness: what a scan lacks, by copies of its printing in the catalogue."""

import asyncio
import time
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
from app.core.relations.related import StoredDecision
from app.core.signatures.sketch import page_signatures
from app.services.pairs.relations import effective_of
from app.stores.postgres.cluster_queries import ClusterQueries, CopyText
from app.stores.postgres.pairs.relation_queries import RelationQueries

MOST_COPIES = 5
"""Copies that a scan is held against."""

MOST_PAGES = 5_000
"""Pages of a book that are held against those of others; time and memory grow with the square."""

_COMPARED_AT_ONCE = 10
_LISTED_AT_ONCE = 1_000
_LOOKED_AT_ONCE = 20_000
"""Books of one request: to compare, to read from the catalogue, and to look for copies of."""

_SECONDS = 4.0
"""After these no further book of a list is compared."""


@dataclass(frozen=True, slots=True)
class CompletenessRead:
    """The faults of a scan, in the order of its pages."""

    compared_with: Sequence[UUID]
    findings: Sequence[Finding]
    decided: Mapping[UUID, StoredDecision]  # what people said of the book and these copies

    def faults(self, book_id: UUID, title: str | None) -> "list[FaultOfBook]":
        """The faults as those of a book with this title."""
        return [
            FaultOfBook(book_id, title, each, self.decided.get(each.copies[0].book_id))
            for each in self.findings
        ]


@dataclass(frozen=True, slots=True)
class FaultOfBook:
    """A fault in a list of those of many books."""

    book_id: UUID
    title: str | None
    finding: Finding
    decided: StoredDecision | None  # what a person said of the book and the first copy


@dataclass(frozen=True, slots=True)
class FaultList:
    """The faults of some books, the surest first."""

    faults: Sequence[FaultOfBook]
    compared: int  # books that were held against others
    alone: int  # books that could not be
    next: UUID | None  # the last book that was looked at, where others follow


class Completeness:
    """Holds scans against copies of the same printing, anew for each request."""

    def __init__(self, clusters: ClusterQueries, related: RelationQueries) -> None:
        self._clusters = clusters
        self._related = related

    async def of_book(self, book_id: UUID) -> CompletenessRead:
        """What the book lacks; raises `UnknownBook`, `TextNotKept` and `CompletenessUnknown`."""
        direct = await self._related.list_direct(book_id)
        related = {each.book_id: effective_of(each) for each in direct}
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
        decided = {each.book_id: each.decided for each in direct if each.decided and each.book_id in chosen}
        return CompletenessRead(chosen, findings, decided)

    async def of_books(self, collection: str | None, after: UUID | None) -> FaultList:
        """What the next books (of a collection) behind the id `after` lack, as far as some seconds allow."""
        ends, faults, compared, looked = time.monotonic() + _SECONDS, list[FaultOfBook](), 0, 0
        while True:
            scans = await self._related.list_scans(collection, after, _LISTED_AT_ONCE)
            for scan in scans:
                after, looked = scan.id, looked + 1
                if not scan.has_copy:
                    continue
                try:
                    read = await self.of_book(scan.id)
                except (CompletenessUnknown, TextNotKept, UnknownBook):
                    continue
                compared += 1
                faults += read.faults(scan.id, scan.title)
                if compared == _COMPARED_AT_ONCE or time.monotonic() > ends:
                    break
            else:
                if len(scans) == _LISTED_AT_ONCE and looked < _LOOKED_AT_ONCE:
                    continue
            break
        more = bool(scans) and (after != scans[-1].id or len(scans) == _LISTED_AT_ONCE)
        faults.sort(key=lambda fault: -fault.finding.confidence)
        return FaultList(faults, compared, looked - compared, after if more else None)


def _findings(book_id: UUID, copies: Sequence[UUID], texts: Mapping[UUID, CopyText]) -> list[Finding]:
    def scanned(each: UUID) -> ScannedBook:
        content, labels = texts[each].text.content(), texts[each].page_labels
        return ScannedBook.of(each, page_signatures(content), content.text.split(PAGE_BREAK), labels)

    return find_faults(scanned(book_id), map(scanned, copies))
