"""Completeness: the pages that a scan lacks, has twice, out of order or from another book.

The scan is held against copies of its printing, page by page. A page that a copy has and the scan has not may
be missing, or the copy alone has it: a plate, an advertisement, a leaf of another issue. Page numbers, other
copies, sentences that run on and words that the book has elsewhere, too, tell which; each finding says what
spoke for it. Measured in docs/decisions/0041-completeness.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp
from typing import Literal

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

_AS_ALIKE = 0.8
"""Two pages of a copy are as like a page of the scan, if the one has so much of the other's similarity."""

_ANOTHER_COPY = 3.0
"""Log odds that a further copy adds where it shows the same, or takes away where it does not."""

_SAID_BY_NUMBERS = 4.0
"""Log odds that page numbers add or take away."""

_MISSING = 2.5
"""Log odds that pages which only the copy has are missing, before anything else tells."""

_OUT_OF_ORDER = 3.0
"""Log odds that pages which both have are doubled or misplaced, before anything else tells."""

_AT_AN_END = 6.0
"""Log odds taken away before the first page that both have and behind the last: places of advertisements."""

_RUNS_ON = 1.5
"""Log odds that a sentence adds which runs from one page to the next."""

_DEVIATION = 1.4
"""Log odds that each standard deviation of the words takes away."""

_USUAL = 2
"""Standard deviations by which pages may have fewer of the book's words, though a copy has them elsewhere."""


@dataclass(frozen=True, slots=True, eq=False)
class ScannedBook:
    """A book by its pages."""

    pages: PageSignatures
    sequence: PageSequence


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of a scan. Pages are counted from 0, the end exclusive."""

    kind: FaultKind
    pages: tuple[int, int] | None  # of the scan; None: missing
    between: tuple[int, int] | None  # pages of the scan between which what is missing or misplaced belongs
    copies: tuple[tuple[int, tuple[int, int]], ...]  # the copies that have the pages, and where
    confidence: float  # 0 to 1
    because: str


@dataclass(frozen=True, slots=True)
class _Suspicion:
    """A fault that one copy shows."""

    kind: FaultKind
    pages: tuple[int, int]  # of the scan; of what is missing the page before it and the one after
    between: tuple[int, int] | None
    copy: int
    copy_pages: tuple[int, int]
    log_odds: float
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Match:
    """The pages of a scan and those of a copy that are the same."""

    number: int  # of the copy
    scan: ScannedBook
    copy: ScannedBook
    partner: NDArray[np.int64]  # (pages of the scan,) the page of the copy; -1: none
    chain: Sequence[int]  # pages of the scan that are in the order of the copy
    similarities: NDArray[np.uint8]  # (pages of the scan, of the copy); 0: too little text
    least_part: float  # similarity of pages that have some text in common

    def gaps(self) -> Iterator[tuple[int, int, int, int]]:
        """Neighbours in the chain with pages between them: of the scan and the copy, and the next of each."""
        return _gaps(self.chain, self.partner, self.similarities.shape[1])

    def covers(self, pages: tuple[int, int]) -> bool:
        """Whether all these pages of the scan are in the order of the copy."""
        return set(range(*pages)) <= set(self.chain)

    def adjoins(self, between: tuple[int, int]) -> bool:
        """Whether the copy has nothing between these two pages of the scan, which it has both."""
        first, second = between
        return (
            first >= 0
            and second < len(self.partner)
            and {first, second} <= set(self.chain)
            and int(self.partner[second]) - int(self.partner[first]) == 1
        )


def find_faults(scan: ScannedBook, copies: Sequence[ScannedBook]) -> list[Finding]:
    """The faults of a scan, by copies of its printing, in the order of its pages; raises `RecipeMismatch`."""
    matches = [_match(number, scan, copy) for number, copy in enumerate(copies)]
    suspicions = [
        suspicion
        for match in matches
        for suspicion in (*_missing_and_foreign(match), *_doubled_and_misplaced(match))
    ]
    findings = [_finding(group, matches) for group in _grouped(suspicions)]
    return sorted(
        (finding for finding in findings if finding.confidence >= LEAST_CONFIDENCE),
        key=lambda finding: finding.pages or finding.between or (0, 0),
    )


def _match(number: int, scan: ScannedBook, copy: ScannedBook) -> _Match:
    from app.core.relations import kernels

    similarities = np.empty((len(scan.pages.values), len(copy.pages.values)), dtype=np.uint8)
    kernels.page_similarities(scan.pages.values, copy.pages.values, LEAST_BINS, similarities)
    # A page that has just enough text in one book may have a little less in the other.
    lengths = [
        np.where(each.pages.lengths >= _LEAST_TEXT / 2, each.pages.lengths, 0) for each in (scan, copy)
    ]
    background = estimate_background(similarities, *(each.astype(np.int64) for each in lengths))
    similarities[lengths[0] == 0] = 0
    similarities[:, lengths[1] == 0] = 0
    least = 255 * max(background.threshold, _EQUAL * background.typical)
    partner = np.where(similarities.max(axis=1) >= least, similarities.argmax(axis=1), -1)
    # Forms and tables are alike within a book: a page is rather the one that stands where it stands.
    for before, copy_before, after, copy_after in list(
        _gaps(_chain(partner), partner, len(copy.pages.values))
    ):
        here = similarities[before + 1 : after, copy_before + 1 : copy_after]
        if here.size:
            inside = here.max(axis=1) >= least
            partner[before + 1 : after][inside] = copy_before + 1 + here.argmax(axis=1)[inside]
    chain = _chain(partner)
    # Two pages that share a page of the copy may be parts of it: only pages that are alike are there twice.
    twins = {int(partner[page]): page for page in chain}
    for page in set(np.flatnonzero(partner >= 0).tolist()).difference(chain):
        twin = twins.get(int(partner[page]))
        if twin is not None:
            alike = np.empty((1, 1), dtype=np.uint8)
            kernels.page_similarities(scan.pages.values[[page]], scan.pages.values[[twin]], LEAST_BINS, alike)
            partner[page] = partner[page] if alike[0, 0] >= least else -1
    return _Match(
        number,
        scan,
        copy,
        partner,
        chain,
        similarities,
        255 * max(background.threshold, _PART * background.typical),
    )


def _chain(partner: NDArray[np.int64]) -> list[int]:
    """The scan's pages of a longest ascending part of their partners, of two as long the more even one.

    Where two pages have one partner, and all else is equal, it is the earlier of them.
    """
    pages = np.flatnonzero(partner >= 0)
    values = partner[pages]
    # A page counts more than all even steps together.
    one = len(pages) + 1
    lengths, before = np.full(len(pages), one), np.full(len(pages), -1)
    for index in range(1, len(pages)):
        even = values[:index] - pages[:index] == values[index] - pages[index]
        reached = np.where(values[:index] < values[index], lengths[:index] + even, 0)
        best = int(reached.argmax())
        if reached[best]:
            lengths[index], before[index] = reached[best] + one, best
    chosen = [int(lengths.argmax())] if len(pages) else []
    while chosen and before[chosen[-1]] >= 0:
        chosen.append(int(before[chosen[-1]]))
    return [int(page) for page in pages[chosen[::-1]]]


def _gaps(
    chain: Sequence[int], partner: NDArray[np.int64], copy_pages: int
) -> Iterator[tuple[int, int, int, int]]:
    steps = [(-1, -1), *((page, int(partner[page])) for page in chain), (len(partner), copy_pages)]
    for here, after in pairwise(steps):
        if max(after[0] - here[0], after[1] - here[1]) > 1:
            yield *here, *after


def _missing_and_foreign(match: _Match) -> Iterator[_Suspicion]:
    """What lies in gaps of the chain: pages of the copy alone, or of the scan and the copy each their own."""
    taken = set(match.partner.tolist())
    scan_has_some = match.scan.pages.lengths >= _LEAST_TEXT / 2
    copy_has_text = match.copy.pages.lengths >= _LEAST_TEXT
    for before, copy_before, after, copy_after in match.gaps():
        own = [page for page in range(before + 1, after) if scan_has_some[page] and match.partner[page] < 0]
        # Where pages begin elsewhere, a neighbour may have a part of the page.
        near = match.similarities[max(before, 0) : after + 1].max(axis=0) >= match.least_part
        lacked = [
            page
            for page in range(copy_before + 1, copy_after)
            if copy_has_text[page] and page not in taken and not near[page]
        ]
        if not lacked:
            continue
        as_many = len(own) == len(lacked) or after - before == copy_after - copy_before
        if own and as_many:
            if before >= 0 and after < len(match.partner):
                yield _foreign(match, own, lacked)
        elif len(lacked) > len(own):
            yield _missing(match, (before, after), lacked, (copy_before, copy_after))


def _missing(
    match: _Match, bounds: tuple[int, int], lacked: Sequence[int], copy_bounds: tuple[int, int]
) -> _Suspicion:
    copy, scan = match.copy.sequence, match.scan.sequence
    inner = bounds[0] >= 0 and bounds[1] < len(match.partner)
    log_odds, reasons = _MISSING if inner else _MISSING - _AT_AN_END, []
    deviation = copy.deviation(lacked, [int(match.partner[page]) for page in match.chain])
    log_odds += _DEVIATION * min(deviation, 1)
    if deviation > -1:
        reasons.append("they have the words of the book")
    if copy.runs_on(copy_bounds[0], lacked[0]) or copy.runs_on(lacked[-1], copy_bounds[1]):
        log_odds += _RUNS_ON
        reasons.append("sentences run on into them")
    counted = copy.counts(*copy_bounds, len(lacked))
    if counted is not None:
        log_odds += _SAID_BY_NUMBERS if counted else -_SAID_BY_NUMBERS
        reasons += ["the copy counts them by its page numbers"] * counted
    closed = scan.counts(*bounds, 0)
    if closed is not None:
        log_odds += -_SAID_BY_NUMBERS if closed else _SAID_BY_NUMBERS
        reasons += ["the page numbers of the scan jump there"] * (not closed)
    return _Suspicion(
        "missing", bounds, bounds, match.number, (lacked[0], lacked[-1] + 1), log_odds, tuple(reasons)
    )


def _foreign(match: _Match, own: Sequence[int], lacked: Sequence[int]) -> _Suspicion:
    log_odds = -_DEVIATION * match.scan.sequence.deviation(own, match.chain)
    return _Suspicion(
        "foreign",
        (own[0], own[-1] + 1),
        None,
        match.number,
        (lacked[0], lacked[-1] + 1),
        log_odds,
        ("they have other words than the book",),
    )


def _doubled_and_misplaced(match: _Match) -> Iterator[_Suspicion]:
    """The scan's pages that a copy has, but not in this order."""
    in_chain = {int(match.partner[page]): page for page in match.chain}
    chain = set(match.chain)
    others = [page for page in np.flatnonzero(match.partner >= 0).tolist() if page not in chain]
    doubled = {page: int(match.partner[page]) in in_chain for page in others}
    for pages in _stretches(others, doubled):
        if match.scan.pages.lengths[pages].max() < _LEAST_TEXT:
            continue
        partners = [int(match.partner[page]) for page in pages]
        copy_pages = min(partners), max(partners) + 1
        stretch = pages[0], pages[-1] + 1
        if not doubled[pages[0]]:
            yield _misplaced(match, stretch, copy_pages)
        elif not any(_has_twice(match, page) for page in pages):
            yield _Suspicion("doubled", stretch, None, match.number, copy_pages, _OUT_OF_ORDER)


def _misplaced(match: _Match, pages: tuple[int, int], copy_pages: tuple[int, int]) -> _Suspicion:
    places = match.partner[list(match.chain)]
    at = int(np.searchsorted(places, copy_pages[0]))
    between = (
        match.chain[at - 1] if at else -1,
        match.chain[at] if at < len(match.chain) else len(match.partner),
    )
    joins = [
        sum(each.sequence.runs_on(page, page + 1) for page in (bounds[0] - 1, bounds[1] - 1))
        for each, bounds in ((match.scan, pages), (match.copy, copy_pages))
    ]
    deviation = match.copy.sequence.deviation(range(*copy_pages), places.tolist())
    log_odds = _OUT_OF_ORDER + _RUNS_ON * (joins[1] - joins[0]) + _DEVIATION * min(deviation + _USUAL, 0)
    reasons = ("sentences run on there",) if joins[1] > joins[0] else ()
    return _Suspicion("misplaced", pages, between, match.number, copy_pages, log_odds, reasons)


def _has_twice(match: _Match, page: int) -> bool:
    """Whether the copy, too, has another page as like this one as its partner."""
    row = match.similarities[page]
    return bool(np.count_nonzero(row >= _AS_ALIKE * row.max()) > 1)


def _stretches(pages: Sequence[int], doubled: dict[int, bool]) -> Iterator[list[int]]:
    """The pages that follow each other, with one between them at most, and are all doubled or all not."""
    stretch: list[int] = []
    for page in pages:
        if stretch and (page - stretch[-1] > 2 or doubled[page] != doubled[stretch[-1]]):
            yield stretch
            stretch = []
        stretch.append(page)
    if stretch:
        yield stretch


def _grouped(suspicions: Sequence[_Suspicion]) -> list[list[_Suspicion]]:
    """The suspicions of all copies, those of one kind that meet in the scan together."""
    groups: list[list[_Suspicion]] = []
    for suspicion in sorted(suspicions, key=lambda each: (each.kind, each.pages)):
        last = groups[-1] if groups else []
        if (
            last
            and last[0].kind == suspicion.kind
            and suspicion.pages[0] < max(each.pages[1] for each in last)
        ):
            last.append(suspicion)
        else:
            groups.append([suspicion])
    return groups


def _finding(group: Sequence[_Suspicion], matches: Sequence[_Match]) -> Finding:
    best = max(group, key=lambda each: each.log_odds)
    pages = min(each.pages[0] for each in group), max(each.pages[1] for each in group)
    shown = {each.copy for each in group}
    against = [
        match
        for match in matches
        if match.number not in shown
        and (
            (best.between is not None and match.adjoins(best.between))
            or (best.kind != "missing" and match.covers(pages))
        )
    ]
    log_odds = best.log_odds + _ANOTHER_COPY * (len(shown) - 1 - len(against))
    more = len(shown) - 1
    reasons = [*best.reasons, *([f"{len(shown)} copies show it"] if more else [])]
    if not more and not reasons:
        reasons = ["a copy shows it"]
    return Finding(
        best.kind,
        None if best.kind == "missing" else pages,
        best.between,
        tuple((each.copy, each.copy_pages) for each in sorted(group, key=lambda each: -each.log_odds)),
        round(1 / (1 + exp(-log_odds)), 3),
        "; ".join(reasons),
    )
