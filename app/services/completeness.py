"""Completeness: the faults of a scan, found by comparison with copies of its printing in the catalogue."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app.services.pairs.relations import effective_of
from app.stores.postgres.cluster_queries import ClusterQueries
from app.stores.postgres.contents import StoredText
from app.stores.postgres.pairs.candidates import CandidateStore
from app.stores.postgres.pairs.completeness import CompletenessStore, KeptFindings
from app.stores.postgres.pairs.relation_queries import RelationQueries
from bookprint_core.clusters.completeness import (
    FaultKind as FaultKind,
    Finding,
    PagesOfCopy as PagesOfCopy,
    find_faults,
    pages_from,
)
from bookprint_core.clusters.scanned_book import ScannedBook
from bookprint_core.errors import CompletenessUnknown, TextNotKept, UnknownBook
from bookprint_core.model import PAGE_BREAK
from bookprint_core.relations.related import RelationSummary
from bookprint_core.signatures.sketch import page_signatures

MOST_COPIES = 5
"""Maximum number of copies that a scan is compared with."""

MOST_PAGES = 5_000
"""Maximum number of pages of a compared book; time and memory grow with the square."""

_LOOKED_AT_ONCE = 10
_LISTED_AT_ONCE = 100
"""Number of books: compared in one run of a worker, and on a page of the list."""

_MOST_NEAR = 1_000
"""Number of books stored before and after a scan in which its foreign pages are searched."""

_READ_AT_ONCE = 32
"""Number of books whose page signatures are in memory at a time."""


@dataclass(frozen=True, slots=True)
class CompletenessRead:
    """The faults of a scan, in the order of its pages."""

    compared_with: Sequence[UUID]
    findings: Sequence[Finding]
    relations: Mapping[UUID, RelationSummary]  # decided relations of the book, by copy

    def faults(self, book_id: UUID, title: str | None) -> "list[FaultOfBook]":
        """Return the faults for a list, with the id and title of the book."""
        return [
            FaultOfBook(book_id, title, each, self.relations.get(each.copies[0].book_id))
            for each in self.findings
        ]


@dataclass(frozen=True, slots=True)
class FaultOfBook:
    """A fault in a list for many books."""

    book_id: UUID
    title: str | None
    finding: Finding
    relation: RelationSummary | None  # of the book and the first copy


@dataclass(frozen=True, slots=True)
class FaultList:
    """The faults of some books, surest first."""

    faults: Sequence[FaultOfBook]
    compared: int  # books that were compared
    pending: int  # books that are still to be compared
    alone: int  # books that cannot be compared
    next: UUID | None  # the last of these books; None: no others follow


class Completeness:
    """Service that compares scans with copies of their printing. Faults stay until a scan or copy changes."""

    def __init__(
        self,
        clusters: ClusterQueries,
        related: RelationQueries,
        kept: CompletenessStore,
        candidates: CandidateStore,
    ) -> None:
        self._clusters = clusters
        self._related = related
        self._kept = kept
        self._candidates = candidates

    async def of_book(self, book_id: UUID) -> CompletenessRead:
        """Return the faults of the book; raises `UnknownBook`, `TextNotKept` and `CompletenessUnknown`.

        A scan that no worker has compared yet is compared now.
        """
        kept = await self._kept.read(book_id)
        if kept is None or not kept.looked or kept.compared_with is None:
            kept = await self._look(book_id, kept)
        copies = kept.compared_with or ()
        async with self._clusters.snapshot() as snapshot:
            relations = await snapshot.read_relations([book_id, *copies])
        own = {other: relations.get((min(book_id, other), max(book_id, other))) for other in copies}
        decided = {other: each for other, each in own.items() if each is not None and each.decided}
        return CompletenessRead(copies, kept.findings, decided)

    async def of_books(self, collection: str | None, after: UUID | None) -> FaultList:
        """Return the faults of the next books (of a collection) after `after`, surest first."""
        scans = await self._kept.list_faulty(collection, after, _LISTED_AT_ONCE + 1)
        more, scans = len(scans) > _LISTED_AT_ONCE, scans[:_LISTED_AT_ONCE]
        compared, pending, alone = await self._kept.count(collection)
        faults: list[FaultOfBook] = []
        for scan in scans:
            read = CompletenessRead(scan.compared_with or (), scan.findings, {})
            faults += read.faults(scan.book_id, scan.title)
        if faults:
            books = {each.book_id for each in faults} | {each.finding.copies[0].book_id for each in faults}
            async with self._clusters.snapshot() as snapshot:
                relations = await snapshot.read_relations(books)
            decided = {pair: each for pair, each in relations.items() if each.decided}
            pairs = [sorted((each.book_id, each.finding.copies[0].book_id)) for each in faults]
            faults = [
                replace(each, relation=decided.get((left, right)))
                for each, (left, right) in zip(faults, pairs, strict=True)
            ]
        faults.sort(key=lambda fault: -fault.finding.confidence)
        last = scans[-1].book_id if more else None
        return FaultList(faults, compared, pending, alone, last)

    async def look(self) -> int:
        """Compare some scans whose relations or pages have changed, and return their number."""
        stale = await self._kept.list_stale(_LOOKED_AT_ONCE)
        for book_id in stale:
            kept = await self._kept.read(book_id)
            try:
                await self._look(book_id, kept)
            except (CompletenessUnknown, TextNotKept, UnknownBook):
                if kept is not None:
                    await self._kept.update(kept, None, [])
        return len(stale)

    async def _look(self, book_id: UUID, kept: KeptFindings | None) -> KeptFindings:
        """Compare a scan with its copies and store the faults; `kept` are the faults stored before."""
        copies, texts = await self._read(book_id)
        findings = await asyncio.to_thread(_findings, book_id, copies, texts)
        findings = [
            await self._with_source(book_id, [book_id, *copies], texts[book_id], each)
            if each.kind == "foreign"
            else each
            for each in findings
        ]
        if kept is not None:
            await self._kept.update(kept, copies, findings)
        return KeptFindings(book_id, 0, True, copies, findings)

    async def _read(self, book_id: UUID) -> tuple[list[UUID], Mapping[UUID, StoredText]]:
        """Return the copies to compare a scan with, and all their texts."""
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
        pages = texts[book_id].page_count
        if pages is None:
            raise CompletenessUnknown(
                f"The pages of book {book_id} are not known. Send it as `pages`, or with U+000C between them."
            )
        if pages > MOST_PAGES:
            raise CompletenessUnknown(
                f"Book {book_id} has {pages:,} pages, more than the {MOST_PAGES:,} that are compared. "
                "Send its volumes as separate books."
            )
        chosen = [each for each in chosen if 0 < (texts[each].page_count or 0) <= MOST_PAGES]
        if not chosen:
            raise CompletenessUnknown(
                f"No other scan of the printing of book {book_id} is known by pages and text. Add one in "
                "pages, wait until nothing is pending in the book's relations, or decide that a book is "
                "SAME_PAGINATION with it."
            )
        return chosen, texts

    async def _with_source(
        self, book_id: UUID, but: Sequence[UUID], text: StoredText, finding: Finding
    ) -> Finding:
        """Add the source to a finding of foreign pages, if a book stored near the scan contains them."""
        assert finding.pages is not None
        signed = page_signatures(text.content())
        pages = slice(*finding.pages)
        foreign = replace(signed, values=signed.values[pages], lengths=signed.lengths[pages])
        near = await self._kept.list_near(book_id, _MOST_NEAR)
        for start in range(0, len(near), _READ_AT_ONCE):
            entries = near[start : start + _READ_AT_ONCE]
            for other in await self._candidates.read_signatures(entries):
                if other.book_id in but:
                    continue
                book = other.candidate().pages
                if book is None and (content := await self._candidates.read_content(other.entry_id)):
                    book = await asyncio.to_thread(page_signatures, content)
                    await self._candidates.insert_pages(other.entry_id, book)
                found = None if book is None else await asyncio.to_thread(pages_from, foreign, book)
                if found is not None:
                    return replace(finding, source=PagesOfCopy(other.book_id, found))
        return finding


def _findings(book_id: UUID, copies: Sequence[UUID], texts: Mapping[UUID, StoredText]) -> list[Finding]:
    def scanned(each: UUID) -> ScannedBook:
        content, labels = texts[each].content(), texts[each].page_labels
        return ScannedBook.of(each, page_signatures(content), content.text.split(PAGE_BREAK), labels)

    return find_faults(scanned(book_id), map(scanned, copies))
