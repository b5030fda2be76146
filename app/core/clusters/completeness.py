"""Completeness: the pages that a scan lacks, has twice, out of order or from another book.

The scan is held against copies of its printing, page by page. A page that a copy has and the scan has not may
be missing, or the copy alone has it: a plate, an advertisement, a leaf of another issue. Page numbers, other
copies, sentences that run on and words that the book has elsewhere, too, tell which; each finding says what
spoke for it. Measured in docs/decisions/0041-completeness.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp
from typing import Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.clusters.page_sequence import PageSequence
from app.core.model import PageSignatures
from app.core.relations.alignment import LEAST_BINS
from app.core.relations.background import estimate_background

FaultKind = Literal["missing", "doubled", "misplaced", "foreign"]

LEAST_CONFIDENCE = 0.8
"""Findings below are not told."""

_LEAST_TEXT = 200
"""Code points; pages with less are plates, captions or blank, and no faults."""

_EQUAL = 0.5
"""Two pages are the same one from so much of the similarity that equal pages have."""

_PART = 0.25
"""A page has some of another's text from so much of it on."""

# Log odds.

_MISSING = 2.5
"""That pages which only the copy has are missing, before anything else tells."""

_OUT_OF_ORDER = 3.0
"""That pages which both have are doubled or misplaced, before anything else tells."""

_AT_AN_END = -6.0
"""Before the first page that both have and behind the last: places of advertisements."""

_ANOTHER_COPY = 3.0
"""Of each further copy that shows the same; taken away for one that shows that nothing lacks."""

_BY_NUMBERS = 4.0
"""Of page numbers; taken away where they say the contrary."""

_RUNS_ON = 1.5
"""Of a sentence that runs from one page to the next."""

_DEVIATION = 1.4
"""Of each standard deviation of the words."""


@dataclass(frozen=True, slots=True, eq=False)
class ScannedBook:
    """A book by its pages."""

    pages: PageSignatures
    sequence: PageSequence


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
    labels: Sequence[str | None]  # of the scan's pages; of missing ones, those of the first copy
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
    labels: Sequence[str | None]  # of the pages of the copy
    log_odds: float
    reasons: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Match:
    """The pages of a scan and those of a copy that are the same."""

    scan: ScannedBook
    copy: ScannedBook
    copy_id: UUID
    partner: NDArray[np.int64]  # (pages of the scan,) the page of the copy; -1: none
    chain: Mapping[int, int]  # pages of the scan that are in the order of the copy, and their partners
    partly: NDArray[np.bool_]  # (pages of the scan, of the copy) whether they have some text in common

    def suspicion(
        self,
        kind: FaultKind,
        pages: tuple[int, int],
        between: tuple[int, int] | None,
        copy_pages: tuple[int, int],
        log_odds: float,
        reasons: Sequence[str] = (),
    ) -> _Suspicion:
        copied = PagesOfCopy(self.copy_id, copy_pages)
        labels = self.copy.sequence.labels[slice(*copy_pages)]
        return _Suspicion(kind, pages, between, copied, labels, log_odds, reasons)


def find_faults(scan: ScannedBook, copies: Iterable[tuple[UUID, ScannedBook]]) -> list[Finding]:
    """The faults of a scan, by copies of its printing, in the order of its pages; raises `RecipeMismatch`.

    The copies are read one after the other.
    """
    chains, suspicions = [], []
    for copy_id, copy in copies:
        match = _match(scan, copy, copy_id)
        chains.append(match.chain)
        suspicions += [*_missing_and_foreign(match), *_doubled_and_misplaced(match)]
    findings = [_finding(group, chains, scan.sequence.labels) for group in _grouped(suspicions)]
    return sorted(
        (finding for finding in findings if finding.confidence >= LEAST_CONFIDENCE),
        key=lambda finding: finding.pages or finding.between or (0, 0),
    )


def _match(scan: ScannedBook, copy: ScannedBook, copy_id: UUID) -> _Match:
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
    return _Match(scan, copy, copy_id, partner, chain, similarities >= part)


def _similarities(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.uint8]:
    from app.core.relations import kernels

    similarities = np.empty((len(left), len(right)), dtype=np.uint8)
    kernels.page_similarities(left, right, LEAST_BINS, similarities)
    return similarities


def _chain(partner: NDArray[np.int64]) -> dict[int, int]:
    """The scan's pages of a longest ascending part of their partners, with these.

    Where two pages have one partner, and all else is equal, it is the earlier of them.
    """
    pages = np.flatnonzero(partner >= 0)
    values = partner[pages]
    lengths, before = np.ones(len(pages), dtype=np.int64), np.full(len(pages), -1)
    for index in range(1, len(pages)):
        reached = np.where(values[:index] < values[index], lengths[:index], 0)
        best = int(reached.argmax())
        if reached[best]:
            lengths[index], before[index] = reached[best] + 1, best
    chosen = [int(lengths.argmax())] if len(pages) else []
    while chosen and before[chosen[-1]] >= 0:
        chosen.append(int(before[chosen[-1]]))
    return dict(zip(pages[chosen[::-1]].tolist(), values[chosen[::-1]].tolist(), strict=True))


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
    for before, copy_before, after, copy_after in _gaps(match.chain, *match.partly.shape):
        own = [page for page in range(before + 1, after) if scan_has_some[page] and match.partner[page] < 0]
        # Where pages begin elsewhere, a neighbour may have a part of the page.
        near = match.partly[max(before, 0) : after + 1].any(axis=0)
        lacked = [
            page
            for page in range(copy_before + 1, copy_after)
            if copy_has_text[page] and page not in taken and not near[page]
        ]
        inner = before >= 0 and after < len(match.partner)
        if lacked and own and (len(own) == len(lacked) or after - before == copy_after - copy_before):
            if inner:
                log_odds = -_DEVIATION * match.scan.sequence.deviation(own, list(match.chain))
                pages, copied = ((each[0], each[-1] + 1) for each in (own, lacked))
                reasons = ["they have other words than the book"]
                yield match.suspicion("foreign", pages, None, copied, log_odds, reasons)
        elif len(lacked) > len(own):
            yield _missing(match, (before, after), lacked, (copy_before, copy_after), inner)


def _missing(
    match: _Match,
    bounds: tuple[int, int],
    lacked: Sequence[int],
    copy_bounds: tuple[int, int],
    inner: bool,
) -> _Suspicion:
    copy, scan = match.copy.sequence, match.scan.sequence
    deviation = copy.deviation(lacked, list(match.chain.values()))
    log_odds = _MISSING + (not inner) * _AT_AN_END + _DEVIATION * min(deviation, 1)
    reasons = ["they have the words of the book"] if deviation > -1 else []
    if copy.runs_on(copy_bounds[0], lacked[0]) or copy.runs_on(lacked[-1], copy_bounds[1]):
        log_odds += _RUNS_ON
        reasons.append("sentences run on into them")
    skipped = copy.skipped(*copy_bounds)
    if skipped == 0:
        log_odds += _BY_NUMBERS
        reasons.append("the copy counts them by its page numbers")
    elif skipped is not None and skipped <= -len(lacked):
        log_odds -= _BY_NUMBERS
    skipped = scan.skipped(*bounds)
    if skipped == 0:
        log_odds -= _BY_NUMBERS
    elif skipped is not None and skipped > 0:
        log_odds += _BY_NUMBERS
        reasons.append("the page numbers of the scan jump there")
    return match.suspicion("missing", bounds, bounds, (lacked[0], lacked[-1] + 1), log_odds, reasons)


def _doubled_and_misplaced(match: _Match) -> Iterator[_Suspicion]:
    """The scan's pages that a copy has, but not in this order."""
    places = np.array(list(match.chain.values()))
    order = [-1, *match.chain, len(match.partner)]
    doubled = {
        page: int(match.partner[page]) in places
        for page in np.flatnonzero(match.partner >= 0).tolist()
        if page not in match.chain
    }
    for stretch in _stretches(doubled):
        if match.scan.pages.lengths[stretch].max() < _LEAST_TEXT:
            continue
        pages, partners = (stretch[0], stretch[-1] + 1), match.partner[stretch]
        first, end = int(partners.min()), int(partners.max()) + 1
        if doubled[stretch[0]]:
            yield match.suspicion("doubled", pages, None, (first, end), _OUT_OF_ORDER)
        else:
            at = int(np.searchsorted(places, first))
            # Forms and tables have fewer of the book's words, and may be alike elsewhere.
            deviation = match.copy.sequence.deviation(range(first, end), places.tolist())
            log_odds = _OUT_OF_ORDER + _DEVIATION * min(deviation + 2, 0)
            yield match.suspicion("misplaced", pages, (order[at], order[at + 1]), (first, end), log_odds)


def _stretches(doubled: Mapping[int, bool]) -> Iterator[list[int]]:
    """The pages that follow each other, with one between them at most, and are all doubled or all not."""
    stretch: list[int] = []
    for page, twice in doubled.items():
        if stretch and (page - stretch[-1] > 2 or twice != doubled[stretch[-1]]):
            yield stretch
            stretch = []
        stretch.append(page)
    if stretch:
        yield stretch


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
    group: Sequence[_Suspicion], chains: Sequence[Mapping[int, int]], labels: Sequence[str | None]
) -> Finding:
    best, *_ = surest = sorted(group, key=lambda each: -each.log_odds)
    pages = min(each.pages[0] for each in group), max(each.pages[1] for each in group)
    further = len({each.copy.book_id for each in group}) - 1
    # Copies that have both neighbours of what is out of place, and nothing between them.
    against = 0
    if best.between is not None:
        first, last = best.between
        against = sum(last in chain and chain.get(first, -2) == chain[last] - 1 for chain in chains)
    log_odds = best.log_odds + _ANOTHER_COPY * (further - against)
    reasons = [*best.reasons, *([f"{further + 1} copies show it"] * (further > 0))] or ["a copy shows it"]
    return Finding(
        best.kind,
        None if best.kind == "missing" else pages,
        best.between,
        best.labels if best.kind == "missing" else labels[slice(*pages)],
        [each.copy for each in surest],
        round(1 / (1 + exp(-log_odds)), 3),
        "; ".join(reasons),
    )
