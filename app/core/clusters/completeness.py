"""Completeness: the pages that a scan lacks, has twice, out of order or from another book.

The scan is held against copies of its printing, page by page. A page that a copy has and the scan has not may
be missing, or the copy alone has it: a plate, an advertisement, a leaf of another issue. Page numbers, other
copies, sentences that run on and words that the book has elsewhere, too, tell which; each finding says what
spoke for it. Measured in docs/decisions/0041-completeness.md.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp
from typing import Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.clusters.scanned_book import ScannedBook
from app.core.model import require_same_recipe
from app.core.relations.alignment import LEAST_BINS
from app.core.relations.background import estimate_background

FaultKind = Literal["missing", "doubled", "misplaced", "foreign"]

_LEAST_CONFIDENCE = 0.8  # of what is told
_LEAST_TEXT = 200  # code points; pages with less are plates, captions or blank, and no faults
_EQUAL, _PART = 0.5, 0.2  # of the similarity of equal pages: pages are the same, or share some text

# Log odds of a fault.
_MISSING = 2.5  # of pages that only the copy has, before anything else tells
_OUT_OF_ORDER = 3.0  # of pages that both have in another order, or the scan twice
_FOREIGN = 1.0  # of as many pages of the scan alone in their place
_AT_AN_END = -6.0  # before the first page that both have, or behind the last: places of advertisements
_ANOTHER_COPY = 3.0  # that shows the same; taken away for one that shows that nothing lacks
_BY_NUMBERS = 4.0  # of pages; taken away where they say the contrary
_RUNS_ON = 1.5  # a sentence, from one page to the next
_DEVIATION = 1.4  # each standard deviation of the words


@dataclass(frozen=True, slots=True)
class PagesOfCopy:
    """Pages of a copy, counted from 0, the end exclusive."""

    book_id: UUID
    pages: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of a scan and the copies that have the pages. Pages are counted from 0, the end exclusive."""

    kind: FaultKind
    pages: tuple[int, int] | None  # of the scan; None: missing
    between: tuple[int, int] | None  # the pages of the scan between which what is out of place belongs
    labels: Sequence[str | None]  # of the pages of the first copy
    copies: Sequence[PagesOfCopy]  # the surest first
    confidence: float  # 0 to 1
    because: str


@dataclass(frozen=True, slots=True)
class _Suspicion:
    """A fault that one copy shows."""

    kind: FaultKind
    pages: tuple[int, int]  # of the scan; of what is missing the page before it and the one after
    between: tuple[int, int] | None
    copy: PagesOfCopy
    log_odds: float
    reasons: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Match:
    """The pages of a scan and those of a copy that are the same."""

    scan: ScannedBook
    copy: ScannedBook
    partner: NDArray[np.int64]  # (pages of the scan,) the page of the copy; -1: none
    chain: Mapping[int, int]  # pages of the scan that are in the order of the copy, and their partners
    partly: NDArray[np.bool_]  # (pages of the scan, of the copy) whether they have some text in common


def find_faults(scan: ScannedBook, copies: Iterable[ScannedBook]) -> list[Finding]:
    """The faults of a scan, by one copy of its printing after the other; raises `RecipeMismatch`."""
    chains, suspicions = [], []
    labels: dict[UUID, Sequence[str | None]] = {}
    for copy in copies:
        match = _match(scan, copy)
        suspicions += [*_missing_and_foreign(match), *_doubled_and_misplaced(match)]
        chains.append(match.chain)
        labels[copy.book_id] = copy.labels
    findings = [_finding(group, chains, labels) for group in _grouped(suspicions)]
    return sorted(
        (finding for finding in findings if finding.confidence >= _LEAST_CONFIDENCE),
        key=lambda finding: finding.pages or finding.between or (0, 0),
    )


def _match(scan: ScannedBook, copy: ScannedBook) -> _Match:
    require_same_recipe(scan.pages.recipe, copy.pages.recipe)
    similarities = _similarities(scan.pages.values, copy.pages.values)
    # A page that has just enough text in one book may have a little less in the other.
    lengths = [
        np.where(each.pages.lengths >= _LEAST_TEXT / 2, each.pages.lengths, 0).astype(np.int64)
        for each in (scan, copy)
    ]
    background = estimate_background(similarities, *lengths)
    similarities[lengths[0] == 0] = 0
    similarities[:, lengths[1] == 0] = 0
    equal, part = (255 * max(background.threshold, of * background.typical) for of in (_EQUAL, _PART))
    partner = np.where(similarities.max(axis=1) >= equal, similarities.argmax(axis=1), -1)
    # Forms and tables are alike within a book: a page is rather the one that stands where it stands.
    for before, copy_before, after, copy_after in list(_gaps(_chain(partner), *similarities.shape)):
        here = similarities[before + 1 : after, copy_before + 1 : copy_after]
        if here.size:
            inside = here.max(axis=1) >= equal
            partner[before + 1 : after][inside] = copy_before + 1 + here.argmax(axis=1)[inside]
    chain = _chain(partner)
    # Two pages that share a page of the copy may be parts of it: only pages that are alike are there twice.
    twins = {copied: page for page, copied in chain.items()}
    for page in set(np.flatnonzero(partner >= 0).tolist()).difference(chain):
        twin = twins.get(int(partner[page]))
        if twin is not None:
            alike = _similarities(scan.pages.values[[page]], scan.pages.values[[twin]])
            partner[page] = partner[page] if alike[0, 0] >= equal else -1
    return _Match(scan, copy, partner, chain, similarities >= part)


def _similarities(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.uint8]:
    from app.core.relations import kernels

    similarities = np.empty((len(left), len(right)), dtype=np.uint8)
    kernels.page_similarities(left, right, LEAST_BINS, similarities)
    return similarities


def _chain(partner: NDArray[np.int64]) -> dict[int, int]:
    """The scan's pages of a longest ascending part of their partners, with these; the earlier of doubles."""
    ends: list[int] = []
    pages: list[int] = []
    before: dict[int, int] = {}
    for page in np.flatnonzero(partner >= 0).tolist():
        end = int(partner[page])
        length = bisect_left(ends, end)
        if end not in ends[length : length + 1]:
            ends[length : length + 1], pages[length : length + 1] = [end], [page]
            before[page] = pages[length - 1] if length else -1
    chosen = pages[-1:]
    while chosen and before[chosen[-1]] >= 0:
        chosen.append(before[chosen[-1]])
    return {page: int(partner[page]) for page in reversed(chosen)}


def _gaps(chain: Mapping[int, int], pages: int, copy_pages: int) -> Iterator[tuple[int, int, int, int]]:
    """Neighbours in the chain with pages between them: of the scan and the copy, and the next of each."""
    for here, after in pairwise([(-1, -1), *chain.items(), (pages, copy_pages)]):
        if max(after[0] - here[0], after[1] - here[1]) > 1:
            yield *here, *after


def _missing_and_foreign(match: _Match) -> Iterator[_Suspicion]:
    """What lies in gaps of the chain: pages of the copy alone, or of the scan and the copy each their own."""
    taken = set(match.partner.tolist())
    scan_has_some = match.scan.pages.lengths >= _LEAST_TEXT / 2
    copy_has_text = match.copy.pages.lengths >= _LEAST_TEXT
    for gap in _gaps(match.chain, *match.partly.shape):
        before, copy_before, after, copy_after = gap
        own = [page for page in range(before + 1, after) if scan_has_some[page] and match.partner[page] < 0]
        # Where pages begin elsewhere, a neighbour may have a part of the page.
        near = match.partly[max(before, 0) : after + 1].max(axis=0)
        lacked = [
            page
            for page in range(copy_before + 1, copy_after)
            if copy_has_text[page] and page not in taken and not near[page]
        ]
        if lacked and own and (len(own) == len(lacked) or after - before == copy_after - copy_before):
            if before >= 0 and after < len(match.partner):
                log_odds = _FOREIGN - _DEVIATION * match.scan.deviation(own, list(match.chain))
                copied = PagesOfCopy(match.copy.book_id, (lacked[0], lacked[-1] + 1))
                reasons = ["they have other words than the book"]
                yield _Suspicion("foreign", (own[0], own[-1] + 1), None, copied, log_odds, reasons)
        elif len(lacked) > len(own):
            yield _missing(match, gap, lacked)


def _missing(match: _Match, gap: tuple[int, int, int, int], lacked: Sequence[int]) -> _Suspicion:
    before, copy_before, after, copy_after = gap
    copy = match.copy
    at_an_end = before < 0 or after == len(match.partner)
    deviation = copy.deviation(lacked, list(match.chain.values()))
    runs_on = copy.runs_on(copy_before, lacked[0]) or copy.runs_on(lacked[-1], copy_after)
    # Behind the last page of the copy, and before its first, they have to count on themselves.
    uncounted = copy.skipped(
        copy_before if copy_before >= 0 else lacked[-1],
        copy_after if copy_after < len(copy.texts) else lacked[0],
    )
    skipped = match.scan.skipped(before, after)
    by_numbers = (uncounted == 0) - (uncounted <= -len(lacked)) + (skipped > 0) - (skipped == 0)
    log_odds = _MISSING + at_an_end * _AT_AN_END + _DEVIATION * min(deviation, 1)
    log_odds += runs_on * _RUNS_ON + by_numbers * _BY_NUMBERS
    reasons = {
        "they have the words of the book": deviation > -1,
        "sentences run on into them": runs_on,
        "the copy counts them by its page numbers": uncounted == 0,
        "the page numbers of the scan jump there": skipped > 0,
    }
    copied = PagesOfCopy(copy.book_id, (lacked[0], lacked[-1] + 1))
    because = [reason for reason, holds in reasons.items() if holds]
    return _Suspicion("missing", (before, after), (before, after), copied, log_odds, because)


def _doubled_and_misplaced(match: _Match) -> Iterator[_Suspicion]:
    """The scan's pages that a copy has, but not in this order."""
    places = np.array(list(match.chain.values()), dtype=np.int64)
    order = [-1, *match.chain, len(match.partner)]
    others = np.setdiff1d(np.flatnonzero(match.partner >= 0), list(match.chain))
    doubled = np.isin(match.partner[others], places)
    # Those that follow each other, with one page between them at most, are one fault.
    cuts = np.flatnonzero((np.diff(others) > 2) | np.diff(doubled)) + 1
    for pages, twice in zip(np.split(others, cuts), np.split(doubled, cuts), strict=True):
        if match.scan.pages.lengths[pages].max(initial=0) < _LEAST_TEXT:
            continue
        stretch = int(pages[0]), int(pages[-1]) + 1
        first, last = int(match.partner[pages].min()), int(match.partner[pages].max())
        copied = PagesOfCopy(match.copy.book_id, (first, last + 1))
        if twice[0]:
            yield _Suspicion("doubled", stretch, None, copied, _OUT_OF_ORDER)
        else:
            at = int(np.searchsorted(places, first))
            yield _Suspicion("misplaced", stretch, (order[at], order[at + 1]), copied, _OUT_OF_ORDER)


def _grouped(suspicions: Iterable[_Suspicion]) -> list[list[_Suspicion]]:
    """The suspicions of all copies, those of one kind that meet in the scan together."""
    groups: list[list[_Suspicion]] = []
    end = 0
    for suspicion in sorted(suspicions, key=lambda each: (each.kind, each.pages)):
        if groups and groups[-1][0].kind == suspicion.kind and suspicion.pages[0] < end:
            groups[-1].append(suspicion)
            end = max(end, suspicion.pages[1])
        else:
            groups.append([suspicion])
            end = suspicion.pages[1]
    return groups


def _finding(
    group: Sequence[_Suspicion],
    chains: Sequence[Mapping[int, int]],
    labels: Mapping[UUID, Sequence[str | None]],
) -> Finding:
    best, *_ = surest = sorted(group, key=lambda each: -each.log_odds)
    pages = min(each.pages[0] for each in group), max(each.pages[1] for each in group)
    further = len({each.copy.book_id for each in group}) - 1
    # Copies that have nothing between the neighbours of what is out of place, or all the pages in this order.
    first, last = best.between or (-1, -1)
    against = sum(
        (last in chain and chain.get(first, -2) == chain[last] - 1)
        or (best.kind != "missing" and chain.keys() >= set(range(*pages)))
        for chain in chains
    )
    log_odds = best.log_odds + _ANOTHER_COPY * (further - against)
    reasons = [*best.reasons, *([f"{further + 1} copies show it"] * (further > 0))] or ["a copy shows it"]
    return Finding(
        best.kind,
        None if best.kind == "missing" else pages,
        best.between,
        labels[best.copy.book_id][slice(*best.copy.pages)],
        [each.copy for each in surest],
        round(1 / (1 + exp(-log_odds)), 3),
        "; ".join(reasons),
    )
