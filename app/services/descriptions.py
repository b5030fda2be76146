"""Descriptions of books for other catalogues: MARC record, present relations and present cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import orjson

from app.catalog import json_ld
from app.catalog.marc import forms
from app.catalog.marc.changes import record_of, with_changes
from app.catalog.marc.links import LinkedBook, Standing, physical_form, with_links, without_links
from app.catalog.marc.record import MarcRecord, TooLongForBinary
from app.services.pairs.relations import list_related
from app.services.volumes import SharedPages, Volumes, written_pages
from app.stores.postgres.changes import identifier_of_book
from app.stores.postgres.contents import MarcRecordStore
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.names import NameQueries
from app.stores.postgres.pairs.relation_queries import RelationQueries
from bookprint_core.clusters.cluster_name import ClusterName
from bookprint_core.errors import UnknownBook
from bookprint_core.matching.verification import evidence_of_each, have_common_matter
from bookprint_core.model import Book, CatalogRecord, RecordFormat
from bookprint_core.relations.related import RelationSummary, outranking

DescriptionForm = RecordFormat | Literal["json-ld"]

_LONGEST_CUT = 100  # characters


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """A book as described to other catalogues."""

    book: Book
    record: MarcRecord  # sent by its catalogue and updated with later changes; else made from metadata
    standing: Standing

    def written(self, form: DescriptionForm) -> bytes:
        """Return the description in a form, with the relations as links; raises TooLongForBinary.

        In binary MARC, titles and authors of related books are cut if the record would be too long.
        """
        if form == "json-ld":
            return orjson.dumps(json_ld.document(self.book, self.record, self.standing))
        try:
            return forms.write(with_links(self.record, self.standing), form)
        except TooLongForBinary:
            return forms.write(with_links(self.record, self.standing, _LONGEST_CUT), form)


class Descriptions:
    """Reader of descriptions of books."""

    def __init__(
        self,
        records: MarcRecordStore,
        names: NameQueries,
        related: RelationQueries,
        volumes: Volumes,
        entries: EntryStore,
    ) -> None:
        self._records = records
        self._entries = entries
        self._names = names
        self._related = related
        self._volumes = volumes

    async def read(self, book_id: UUID) -> Description:
        """Return the description of a book with all its effective relations; raises `UnknownBook`."""
        related = await list_related(self._related, book_id)
        relations = {other.book_id: summary for other, summary in related}
        ids = [book_id, *sorted(relations)]
        books = await self._names.read_books(ids)
        records = await self._records.read_records(ids)
        if book_id not in books:
            raise UnknownBook(book_id)
        book = books[book_id]
        shared = await self._volumes.shared_pages(book_id)
        others = [books[other] for other in ids[1:] if other in books]
        common = await self._common_matter(book, others, relations)
        linked = [
            _linked(other, relations[other.id], records, _pages(book, other, shared.get(other.id)))
            for other in others
            if other.id not in common
        ]
        cluster = ClusterName("same_text", book.founder_id).key
        standing = Standing(book_id, identifier_of_book(book), cluster, linked)
        return Description(book, _record(book, records.get(book_id)), standing)

    async def _common_matter(
        self, book: Book, others: Sequence[Book], relations: Mapping[UUID, RelationSummary]
    ) -> set[UUID]:
        """Return the related books that share only common matter with a book; no entry links them."""
        unsure = [other.entry_id for other in others if outranking(relations[other.id]) is None]
        summaries = await self._entries.read_summaries([book.entry_id, *unsure]) if unsure else []
        by_entry = {each.entry.entry_id: each for each in summaries}
        this = by_entry.pop(book.entry_id, None)
        if this is None:
            return set()
        found = evidence_of_each(this.entry, [each.entry for each in by_entry.values()])
        pairs = zip(by_entry.values(), found, strict=True)
        return {other.book_id for other, each in pairs if have_common_matter(each)}


def _record(book: Book, source: CatalogRecord | None) -> MarcRecord:
    if source is None:
        return record_of(book.metadata, book.id)
    return with_changes(without_links(forms.single(source)), book.metadata, source.changed)


def _linked(
    book: Book, relation: RelationSummary, records: Mapping[UUID, CatalogRecord], pages: Sequence[str]
) -> LinkedBook:
    source = records.get(book.id)
    form = None if source is None else physical_form(*forms.coded(source))
    return LinkedBook(book.id, identifier_of_book(book), book.metadata, relation, form, pages)


def _pages(book: Book, other: Book, shared: SharedPages | None) -> list[str]:
    """Return the pages of the containing book that the part occupies; none if its pages are not known."""
    if shared is None or (other if shared.is_whole else book).page_count is None:
        return []
    side = 1 if shared.is_whole else 0
    labels = (shared.this_labels, shared.other_labels)[side]
    return [written_pages(span[side], labels) for span in shared.spans]
