"""Volumes: works and passages of a book that other books also contain, and the volumes of a set."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app.services.pairs.relations import effective_of
from app.stores.postgres.names import NameQueries
from app.stores.postgres.pairs.relation_queries import RelationQueries
from bookprint_core.errors import UnknownBook
from bookprint_core.model import Book
from bookprint_core.relations.related import PageMatches, RelatedBook
from bookprint_core.relations.volume import (
    PartKind as PartKind,
    SharingBook,
    Span,
    VolumePart,
    parts_of,
    spans_of,
)
from bookprint_core.text.page_furniture import number_of

_TOTAL = re.compile(r"(?:\bof|\bvon|\bsur|\bde|\bdi|\bиз|/)\W*(\d+)")
_WORD = re.compile(r"[^\W_]+")

MOST_VOLUMES = 200
"""The highest number of a volume in a set; a higher number is a year."""


@dataclass(frozen=True, slots=True)
class SharedPages:
    """Pages on which another book and this book have the same text."""

    book_id: UUID
    is_whole: bool  # the other book contains this one
    spans: Sequence[tuple[Span, Span]]  # pages of this book and of the other book
    this_labels: Sequence[str | None] | None  # page labels of this book; None: not known
    other_labels: Sequence[str | None] | None


@dataclass(frozen=True, slots=True)
class VolumeSet:
    """The volumes of a work that a book contains completely."""

    volumes: Mapping[int, UUID]  # by number
    total: int | None  # number of volumes, by their metadata
    missing: Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class VolumeContents:
    """The contents of a book that other books of the library also contain."""

    book: Book
    page_count: int  # number of windows if the pages are not known
    labels: Sequence[str | None] | None  # page labels; None: not known
    parts: Sequence[VolumePart]  # in page order; pages without a known part are parts too
    wholes: Sequence[SharedPages]  # books that contain this one
    books: Mapping[UUID, Book]  # books named in `parts` and `wholes`
    set: VolumeSet | None  # None: no part has a volume number in its metadata


class Volumes:
    """Reader of the contents of books."""

    def __init__(self, related: RelationQueries, names: NameQueries) -> None:
        self._related = related
        self._names = names

    async def contents(self, book_id: UUID) -> VolumeContents:
        """Return the contents of a book; raises `UnknownBook`."""
        shared = await self._related.list_partly_shared(book_id)
        books = await self._names.read_books([book_id, *(related.book_id for related, _ in shared)])
        if book_id not in books:
            raise UnknownBook(book_id)
        return await asyncio.to_thread(_contents, books[book_id], shared, books)

    async def shared_pages(self, book_id: UUID) -> Mapping[UUID, SharedPages]:
        """Return the pages that a book shares with its parts and with books that contain it, by book id."""
        shared = await self._related.list_partly_shared(book_id)
        return await asyncio.to_thread(lambda: {each.book_id: each for each in _directed(shared)})


_Shared = Sequence[tuple[RelatedBook, PageMatches]]


def _contents(book: Book, shared: _Shared, books: Mapping[UUID, Book]) -> VolumeContents:
    known = [(related, matches) for related, matches in shared if related.book_id in books]
    directed = list(_directed(known))
    wholes = [each for each in directed if each.is_whole]
    containing = {each.book_id for each in wholes}
    sharings = [
        _sharing(related, matches, books[related.book_id].founder_id)
        for related, matches in known
        if related.book_id not in containing
    ]
    ends = [end for _, matches in known for (_, end), _ in matches.runs]
    page_count = book.page_count or max(ends, default=0)
    parts = parts_of(page_count, sharings)
    named = {source.book_id: books[source.book_id] for part in parts for source in part.sources}
    labels = next((matches.this_labels for _, matches in known if matches.this_labels), None)
    return VolumeContents(
        book,
        page_count,
        labels,
        parts,
        wholes,
        named | {each: books[each] for each in containing},
        volume_set(books[each.book_id] for each in directed if not each.is_whole),
    )


def _directed(shared: _Shared) -> Iterable[SharedPages]:
    for related, matches in shared:
        summary = effective_of(related)
        if summary is not None and summary.direction is not None:
            spans = spans_of(replace(_sharing(related, matches, related.book_id), is_contained=True))
            is_whole = summary.direction == "contained_in"
            yield SharedPages(related.book_id, is_whole, spans, matches.this_labels, matches.other_labels)


def _sharing(related: RelatedBook, matches: PageMatches, founder_id: UUID) -> SharingBook:
    summary, evidence = effective_of(related), related.evidence
    signals = None if evidence is None else evidence.signals
    share = 0.0 if signals is None else signals.text_shared.right
    contained = summary is not None and summary.direction == "contains"
    return SharingBook(related.book_id, founder_id, contained, share, matches)


def volume_set(books: Iterable[Book]) -> VolumeSet | None:
    """Return the volumes among the parts of a book, by number; the first part of each number counts."""
    volumes: dict[int, UUID] = {}
    totals: list[int] = []
    for book in books:
        number, total = numbers_of(book.metadata.volume or "")
        if number is not None:
            volumes.setdefault(number, book.id)
            totals += [] if total is None else [total]
    if not volumes:
        return None
    total = max(totals, default=None)
    last = max(total or 0, *volumes)
    return VolumeSet(
        dict(sorted(volumes.items())), total, [each for each in range(1, last + 1) if each not in volumes]
    )


def written_pages(pages: Span, labels: Sequence[str | None] | None) -> str:
    """Return the first and the last page: the printed numbers if both are known, else counted from 1.

    >>> written_pages((12, 45), None)
    '13-45'
    """
    first, last = (labels[pages[0]], labels[pages[1] - 1]) if labels else (None, None)
    return f"{first}-{last}" if first and last else f"{pages[0] + 1}-{pages[1]}"


def numbers_of(volume: str) -> tuple[int | None, int | None]:
    """Return the number of a volume and the number of all volumes; None for a number that is not stated.

    >>> numbers_of("Vol. 2 of 5"), numbers_of("Bd. IV"), numbers_of("1868")
    ((2, 5), (4, None), (None, None))
    """
    words = _WORD.findall(volume.casefold())
    digits = [int(word) for word in words if word.isdecimal()]
    numbers = digits or [number for word in words[-1:] if (number := number_of(word)) is not None]
    number = next((each for each in numbers if 0 < each <= MOST_VOLUMES), None)
    total = _TOTAL.search(volume.casefold())
    if number is None or total is None or not number <= int(total[1]) <= MOST_VOLUMES:
        return number, None
    return number, int(total[1])
