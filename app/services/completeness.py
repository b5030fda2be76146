"""Completeness: what a scan lacks, by copies of its printing in the catalogue."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.core.clusters.completeness import FaultKind, Finding, ScannedBook, find_faults
from app.core.clusters.page_sequence import PageSequence
from app.core.errors import CompletenessUnknown, TextNotKept, UnknownBook
from app.core.model import PAGE_BREAK
from app.core.signatures.sketch import page_signatures
from app.services.relations import effective_of
from app.stores.postgres.cluster_queries import ClusterQueries, CopyText
from app.stores.postgres.relation_queries import RelationQueries

MOST_COPIES = 5
"""Copies that a scan is held against."""

MOST_PAGES = 5_000
"""Pages of a book that are held against those of others; time and memory grow with the square."""


@dataclass(frozen=True, slots=True)
class PagesOfCopy:
    """Pages of a copy, counted from 0, the end exclusive."""

    book_id: UUID
    pages: tuple[int, int]


@dataclass(frozen=True, slots=True)
class BookFinding:
    """A fault of a scan and the copies that have the pages. Pages are counted from 0, the end exclusive."""

    kind: FaultKind
    pages: tuple[int, int] | None  # of the scan; None: missing
    between: tuple[int, int] | None  # the pages of the scan between which they belong
    labels: Sequence[str | None]  # of the scan's pages; of missing ones, those of the first copy
    copies: Sequence[PagesOfCopy]
    confidence: float  # 0 to 1
    because: str


@dataclass(frozen=True, slots=True)
class CompletenessRead:
    """The faults of a scan, in the order of its pages."""

    compared_with: Sequence[UUID]
    findings: Sequence[BookFinding]


class Completeness:
    """Holds scans against copies of the same printing, anew for each request."""

    def __init__(self, clusters: ClusterQueries, related: RelationQueries) -> None:
        self._clusters = clusters
        self._related = related

    async def of_book(self, book_id: UUID) -> CompletenessRead:
        """What the book lacks; raises `UnknownBook`, `TextNotKept` and `CompletenessUnknown`."""
        copies = await self._copies(book_id)
        async with self._clusters.snapshot() as snapshot:
            if not await snapshot.has_book(book_id):
                raise UnknownBook(book_id)
            with_text = await snapshot.list_with_text([book_id, *copies])
            chosen = [each for each in copies if each in with_text][:MOST_COPIES]
            texts = await snapshot.read_texts([book_id, *chosen])
        if book_id not in texts:
            raise TextNotKept(f"The text of book {book_id}", "id")
        _require_pages(book_id, texts[book_id])
        chosen = [each for each in chosen if each in texts and _has_pages(texts[each])]
        if not chosen:
            raise CompletenessUnknown(
                f"No other scan of the printing of book {book_id} is known by pages and text. Add one in "
                "pages, wait until nothing is pending in the book's relations, or decide that a book is "
                "SAME_PAGINATION with it."
            )
        findings = await asyncio.to_thread(_findings, texts[book_id], {each: texts[each] for each in chosen})
        return CompletenessRead(chosen, findings)

    async def _copies(self, book_id: UUID) -> list[UUID]:
        """The copies of the same printing, the surest first."""
        summaries = {each.book_id: effective_of(each) for each in await self._related.list_direct(book_id)}
        copies = [
            (-summary.confidence, other)
            for other, summary in summaries.items()
            if summary is not None and summary.kind == "SAME_PAGINATION"
        ]
        return [other for _, other in sorted(copies)]


def _has_pages(copy: CopyText) -> bool:
    return copy.text.page_count is not None and copy.text.page_count <= MOST_PAGES


def _require_pages(book_id: UUID, book: CopyText) -> None:
    if book.text.page_count is None:
        raise CompletenessUnknown(
            f"The pages of book {book_id} are not known. Send its content again as `pages`, or as text with "
            "U+000C between them."
        )
    if not _has_pages(book):
        raise CompletenessUnknown(
            f"Book {book_id} has {book.text.page_count:,} pages, more than the {MOST_PAGES:,} that are held "
            "against others. Send its volumes as books of their own."
        )


def _findings(scan: CopyText, copies: dict[UUID, CopyText]) -> list[BookFinding]:
    this, others, ids = _scanned(scan), [_scanned(copy) for copy in copies.values()], list(copies)
    return [_named(finding, this, others, ids) for finding in find_faults(this, others)]


def _scanned(copy: CopyText) -> ScannedBook:
    content = copy.text.content()
    return ScannedBook(
        page_signatures(content), PageSequence.of(content.text.split(PAGE_BREAK), copy.page_labels)
    )


def _named(
    finding: Finding, this: ScannedBook, others: Sequence[ScannedBook], ids: Sequence[UUID]
) -> BookFinding:
    number, pages = finding.copies[0]
    sequence = others[number].sequence if finding.pages is None else this.sequence
    return BookFinding(
        finding.kind,
        finding.pages,
        finding.between,
        sequence.labels[slice(*(finding.pages or pages))],
        [PagesOfCopy(ids[copy], copied) for copy, copied in finding.copies],
        finding.confidence,
        finding.because,
    )
