"""The evidence for a relation: of two stored books for exchange, and of two books for display."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from uuid import UUID

import numpy as np

from app.catalog.evidence import NamedBook, PairEvidence
from app.services.books import Books
from app.services.pairs.relations import Relations, effective_of
from app.stores.postgres.contents import StoredText, TextStore
from bookprint_core.clusters.master_copy import WINDOW
from bookprint_core.errors import NotCompared
from bookprint_core.model import PAGE_BREAK, Book, Content, Metadata, Submission
from bookprint_core.relations.alignment import Alignment, Unit, align, concatenated
from bookprint_core.relations.classification import Kind
from bookprint_core.relations.related import (
    PageMatches,
    RelatedBook,
    RelationSummary,
    StoredDecision,
    StoredRelation,
)
from bookprint_core.relations.relation import CLASSIFIER, ComparedBook, compare, relation_of
from bookprint_core.relations.revision import changed_lines, is_one_issue
from bookprint_core.relations.signals import Sides
from bookprint_core.relations.word_differences import (
    Difference,
    Passage,
    common_words,
    even_parts,
    place_of,
    word_differences,
)
from bookprint_core.signatures.sketch import page_signatures, sketch
from bookprint_core.text.page_furniture import printed_numbers

MOST_COMPARED = 200
"""Maximum number of pages whose words are compared, evenly distributed over the book."""

MOST_SHOWN = 12
"""Maximum number of pages that are shown beside pages of the other book."""

LONGEST_SHOWN = 20_000
"""Maximum number of characters of a page that are shown."""

_NEIGHBOURS = 6
"""Number of pages before and after a shown page whose words help to recognise misreadings."""


class EvidenceOfPairs:
    """Reader of the evidence for relations, for exchange and for display."""

    def __init__(self, relations: Relations, books: Books, texts: TextStore) -> None:
        self._relations = relations
        self._books = books
        self._texts = texts

    async def read(self, book_id: UUID, other_id: UUID) -> PairEvidence:
        """Return the matching pages of two books; raises `UnknownBook` and `NotCompared`."""
        related, matches = await self._relations.pair(book_id, other_id)
        this, other = [
            NamedBook(each, (await self._books.get(each)).metadata) for each in (book_id, other_id)
        ]
        summary = effective_of(related)
        assert summary is not None  # else `pair` has raised NotCompared
        return PairEvidence(this, other, summary, matches)

    async def shown(self, book_id: UUID, other_id: UUID) -> "ShownPair":
        """Return two stored books with their evidence, without the words of their pages.

        The books need not have been compared. Raises `UnknownBook`, and `NotCompared` for a book and itself.
        """
        one, two, found = await asyncio.gather(
            self._books.get(book_id), self._books.get(other_id), self._pair(book_id, other_id)
        )
        related, matches = found
        books = [one, two]
        finding, decided = (None, None) if related is None else (related.evidence, related.decided)
        same_breaks = finding is not None and finding.summary.kind in _SAME_BREAKS
        counts = _unit_counts(books, finding, matches)
        this, other = (
            PairedBook(book.metadata, count, book.page_count, book.word_count, book.id)
            for book, count in zip(books, counts, strict=True)
        )
        matched = _matched(matches, same_breaks=same_breaks)
        return ShownPair(this, other, finding, matches, matched, decided=decided)

    async def _pair(self, book_id: UUID, other_id: UUID) -> tuple[RelatedBook | None, PageMatches]:
        """Return the relation of two books and their matching pages; None and no pages if not compared."""
        try:
            return await self._relations.pair(book_id, other_id)
        except NotCompared:
            if book_id == other_id:
                raise
            return None, PageMatches(None, [], np.empty((0, 2), np.int32), np.empty(0), None, None)

    async def texts(self, book_id: UUID, other_id: UUID) -> Sequence[StoredText | None]:
        """Return the texts of two books, for `with_words`; None for a text that is not stored."""
        found = await self._texts.read([book_id, other_id])
        return [found.get(each) for each in (book_id, other_id)]


async def with_words(
    pair: "ShownPair", texts: Sequence[StoredText | None], pages: Sequence["MatchedPage"]
) -> "ShownPair":
    """Return the pair with the words of some of its pages, if the texts of both books are stored."""
    this, other = (
        replace(book, has_text=text is not None)
        for book, text in zip((pair.this, pair.other), texts, strict=True)
    )
    pair, kept = replace(pair, this=this, other=other), [text for text in texts if text is not None]
    if len(kept) < len(texts):
        return pair
    differing = await asyncio.to_thread(lambda: _compared(pair, [each.content() for each in kept], pages))
    return replace(pair, differing=differing, compared=len(differing))


@dataclass(frozen=True, slots=True)
class PairedBook:
    """A book that is shown beside another book."""

    metadata: Metadata
    unit_count: int  # pages, or windows of 300 words if pages are not known
    page_count: int | None
    word_count: int
    book_id: UUID | None = None  # None: the book is not stored
    has_text: bool = True


@dataclass(frozen=True, slots=True)
class MatchedPage:
    """A page, the pages of the other book that contain its text, and their similarity."""

    this: int
    other: tuple[int, int]  # index of the first page, and of the page after the last
    similarity: float  # 0 to 1


@dataclass(frozen=True, slots=True)
class DifferingPages:
    """A page, the pages of the other book that contain its text, and the differences of their words."""

    this: int
    other: tuple[int, int]  # index of the first page, and of the page after the last
    passages: Sequence[Passage]
    begins_inside: bool  # the first of the other pages contains earlier text
    ends_inside: bool  # the last of the other pages contains later text

    def count(self, kind: Difference) -> int:
        """Return the number of words in passages of this kind."""
        return sum(each.words for each in self.passages if each.kind == kind)


@dataclass(frozen=True, slots=True, eq=False)
class ShownPair:
    """Two books with all values that the page of their pair shows."""

    this: PairedBook
    other: PairedBook
    finding: StoredRelation | None  # None: not compared
    matches: PageMatches
    matched: Sequence[MatchedPage]  # in the order of this book
    differing: Sequence[DifferingPages] = ()  # pages with most differences, in order
    compared: int = 0  # number of pages whose words were compared
    decided: StoredDecision | None = None


def shown_pair(this: Submission, other: Submission) -> ShownPair:
    """Compare two books with texts as the service does, and return them for display."""
    left, right = _content(this), _content(other)
    sketches = sketch(left), sketch(right)
    one, two = (
        ComparedBook(each.pages, each.minhash, sent.metadata)
        for each, sent in zip(sketches, (this, other), strict=True)
    )
    comparison = compare(one, two)
    alignment, revised = comparison.alignment, None
    relation = relation_of(comparison, this.metadata, other.metadata)
    if relation.classification.kind == "SAME_PAGINATION" and not is_one_issue(this.metadata, other.metadata):
        assert alignment is not None
        revised = changed_lines(left, right, alignment)
        relation = relation_of(comparison, this.metadata, other.metadata, revised)
    texts = _pages(left), _pages(right)
    if alignment is None or alignment.unit == "window":
        # The compared windows are windows of the normal form; the windows of the text are aligned anew.
        signed = (page_signatures(Content(PAGE_BREAK.join(pages), len(pages))) for pages in texts)
        matches = _matches("window", align(*signed))
    else:
        matches = _matches("page", alignment, _labels(this, texts[0]), _labels(other, texts[1]))
    pages = _matched(matches, same_breaks=relation.classification.kind in _SAME_BREAKS)
    step = max(len(pages) / MOST_COMPARED, 1.0)
    places = [int(each * step) for each in range(min(len(pages), MOST_COMPARED))]
    known = common_words(*texts)
    differing = [
        _differing(page, texts[0][page.this], texts[1][slice(*page.other)], known)
        for page in (pages[place] for place in places)
    ]
    most = sorted(differing, key=lambda each: (-each.count("other"), -each.count("ocr"), each.this))
    found = relation.classification
    return ShownPair(
        PairedBook(this.metadata, len(texts[0]), left.page_count, sketches[0].word_count),
        PairedBook(other.metadata, len(texts[1]), right.page_count, sketches[1].word_count),
        StoredRelation(
            RelationSummary(found.kind, found.direction, found.confidence),
            CLASSIFIER,
            found.because,
            found.confidences,
            relation.signals,
            revised,
        ),
        matches,
        pages,
        sorted(most[:MOST_SHOWN], key=lambda each: each.this),
        len(differing),
    )


def _unit_counts(books: Sequence[Book], finding: StoredRelation | None, matches: PageMatches) -> list[int]:
    """Return the page counts of both books; for windows (not stored) the number with enough text."""
    if matches.unit != "window":
        return [book.page_count or 0 for book in books]
    assert finding is not None  # matches exist only after a comparison
    signals, last = finding.signals, matches.pairs.max(axis=0, initial=0).tolist()
    text = Sides(0, 0) if signals is None else signals.text_pages
    return [max(int(text.left), last[0] + 1), max(int(text.right), last[1] + 1)]


def _compared(
    pair: ShownPair, contents: Sequence[Content], pages: Sequence[MatchedPage]
) -> Sequence[DifferingPages]:
    """Return the differences between pages of two stored books."""
    texts = [each.text for each in contents]
    ends = [_part_ends(each, pair.matches.unit) for each in contents]

    def parts(side: int, first: int, end: int) -> list[str]:
        bounds = pairwise(ends[side][max(first, 0) : end + 1])
        return [texts[side][one:two].removesuffix(PAGE_BREAK) for one, two in bounds]

    differing = []
    for page in pages:
        this, others = parts(0, page.this, page.this + 1), parts(1, *page.other)
        if not this or not others:
            continue  # the content was replaced a moment ago
        firsts = enumerate((page.this, page.other[0]))
        near = [parts(side, first - _NEIGHBOURS, first + _NEIGHBOURS) for side, first in firsts]
        differing.append(_differing(page, this[0], others, common_words(*near)))
    return differing


def _part_ends(content: Content, unit: Unit | None) -> list[int]:
    """Return 0 and the end offset of each page or window of a text; windows have equal word counts."""
    if unit == "window":
        windows = page_signatures(Content(content.text, None)).lengths.size  # of the normal form
        return [0, *accumulate(map(len, even_parts(content.text, windows)))]
    return [0, *(found.end() for found in re.finditer(PAGE_BREAK, content.text)), len(content.text)]


def _content(sent: Submission) -> Content:
    assert sent.content is not None  # a file without a text is refused
    return sent.content


def _pages(content: Content) -> list[str]:
    if content.page_count is None:
        return WINDOW.findall(content.text)
    return content.text.split(PAGE_BREAK)


def _labels(sent: Submission, pages: Sequence[str]) -> Sequence[str | None]:
    """Return the page labels sent with a book, else the numbers printed on its pages."""
    numbers = ((None if number is None else str(number)) for number in printed_numbers(pages))
    return sent.page_labels or list(numbers)


def _matches(
    unit: Unit,
    alignment: Alignment,
    this_labels: Sequence[str | None] | None = None,
    other_labels: Sequence[str | None] | None = None,
) -> PageMatches:
    every = concatenated(alignment.runs)
    return PageMatches(
        unit,
        [(run.left, run.right) for run in alignment.runs],
        every.pairs.astype(np.int32),
        every.similarities,
        this_labels,
        other_labels,
    )


_SAME_BREAKS: frozenset[Kind] = frozenset({"SAME_PAGINATION", "CONTIGUOUS_SUBSET"})


def _matched(matches: PageMatches, *, same_breaks: bool) -> list[MatchedPage]:
    """Return each matching page, in order, and the pages of the other book that contain its text.

    If the page breaks differ, one more page on either side is included.
    """
    around = 0 if same_breaks and matches.unit == "page" else 1
    order = np.lexsort((matches.pairs[:, 1], -matches.similarities, matches.pairs[:, 0]))
    every, others = matches.pairs[order].T
    pages, starts, counts = np.unique(every, return_index=True, return_counts=True)
    best = np.repeat(others[starts], counts)
    near = np.where(np.abs(others - best) <= around, others, best)  # leaves out pages of other runs
    if not pages.size:
        return []
    first = np.maximum(np.minimum.reduceat(near, starts) - around, 0)
    end = np.maximum.reduceat(near, starts) + 1 + around
    similarities = matches.similarities[order][starts]
    return [
        MatchedPage(page, (one, two), similarity)
        for page, one, two, similarity in zip(
            *(each.tolist() for each in (pages, first, end, similarities)), strict=True
        )
    ]


def _differing(
    matched: MatchedPage, page: str, others: Sequence[str], known: frozenset[str]
) -> DifferingPages:
    """Return the differences of a page; text of the other pages before and after its text is left out."""
    text = "\n".join(each[:LONGEST_SHOWN] for each in others)
    start, stop = (0, len(text)) if len(others) == 1 else place_of(page, text)
    passages = word_differences(page[:LONGEST_SHOWN], text[start:stop], known)
    first = matched.other[0]
    return DifferingPages(matched.this, (first, first + len(others)), passages, start > 0, stop < len(text))
