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

_EQUAL = 0.35
"""Two pages are the same one from so much of the similarity that equal pages have."""

_AS_ALIKE = 0.8
"""Two pages of a copy are as like a page of the scan, if the one has so much of the other's similarity."""


_EVEN_STEP = 0.01

_ANOTHER_COPY = 3.0
"""Log odds that a further copy adds where it shows the same, or takes away where it does not."""

_SAID_BY_NUMBERS = 4.0
"""Log odds that page numbers add or take away."""


@dataclass(frozen=True, slots=True, eq=False)
class ScannedBook:
    """A book by its pages."""

    pages: PageSignatures
    sequence: PageSequence | None  # None: the text is not kept


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
    pages: tuple[int, int]  # of the scan; of what is missing the page before it and the one after, end inclusive
    between: tuple[int, int] | None
    copy: int
    copy_pages: tuple[int, int]
    log_odds: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Match:
    """The pages of a scan and those of a copy that are the same."""

    number: int  # of the copy
    scan: ScannedBook
    copy: ScannedBook
    partner: NDArray[np.int64]  # (pages of the scan,) the page of the copy; -1: none
    chain: NDArray[np.int64]  # pages of the scan that are in the order of the copy
    similarities: NDArray[np.uint8]  # (pages of the scan, pages of the copy); 0 where a page has too little text

    def gaps(self) -> Iterator[tuple[int, int, int, int]]:
        """Neighbours in the chain with pages between them: of the scan and the copy, and the next of each."""
        chain = [(page, int(self.partner[page])) for page in self.chain.tolist()]
        rows, columns = self.similarities.shape
        for here, after in pairwise([(-1, -1), *chain, (rows, columns)]):
            if max(after[0] - here[0], after[1] - here[1]) > 1:
                yield *here, *after

    def covers(self, first: int, end: int) -> bool:
        """Whether the scan's pages from first to before end are all in the order of the copy."""
        return set(range(first, end)) <= set(self.chain.tolist())


def find_faults(scan: ScannedBook, copies: Sequence[ScannedBook]) -> list[Finding]:
    """The faults of a scan, by copies of the same printing, in the order of its pages; raises `RecipeMismatch`."""
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
    lengths = [np.where(each.pages.lengths >= _LEAST_TEXT / 2, each.pages.lengths, 0) for each in (scan, copy)]
    background = estimate_background(similarities, *(each.astype(np.int64) for each in lengths))
    similarities[lengths[0] == 0] = 0
    similarities[:, lengths[1] == 0] = 0
    least = 255 * max(background.threshold, _EQUAL * background.typical)
    partner = np.where(similarities.max(axis=1) >= least, similarities.argmax(axis=1), -1)
    rows = np.flatnonzero(partner >= 0)
    chain = rows[_longest_ascending(partner[rows], rows)]
    return _Match(number, scan, copy, partner, chain, similarities)


def _longest_ascending(values: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The indices of a longest strictly ascending part of the values, rather of neighbours than of others.

    Of two that are as long, the one with more steps that are as wide in the values as in the places.
    """
    lengths, before = np.ones(len(values)), np.full(len(values), -1)
    for index in range(1, len(values)):
        even = values[:index] - places[:index] == values[index] - places[index]
        reached = np.where(values[:index] < values[index], lengths[:index] + _EVEN_STEP * even, 0)
        best = index - 1 - int(reached[::-1].argmax())
        if reached[best]:
            lengths[index], before[index] = reached[best] + 1, best
    chosen = [int(lengths.argmax())] if len(values) else []
    while chosen and before[chosen[-1]] >= 0:
        chosen.append(int(before[chosen[-1]]))
    return np.array(chosen[::-1], dtype=np.int64)


def _missing_and_foreign(match: _Match) -> Iterator[_Suspicion]:
    """What lies in gaps of the chain: pages that the copy alone has, or the scan and the copy each their own."""
    taken = set(match.partner.tolist())
    has_text = [each.pages.lengths >= _LEAST_TEXT for each in (match.scan, match.copy)]
    for before, copy_before, after, copy_after in match.gaps():
        own = [page for page in range(before + 1, after) if has_text[0][page] and match.partner[page] < 0]
        lacked = [page for page in range(copy_before + 1, copy_after) if has_text[1][page] and page not in taken]
        if not lacked:
            continue
        if own and len(own) == len(lacked):
            if before >= 0 and after < len(match.partner):
                yield _foreign(match, own, lacked)
        elif len(lacked) > len(own):
            yield _missing(match, (before, after), lacked, (copy_before, copy_after))


def _missing(match: _Match, bounds: tuple[int, int], lacked: Sequence[int], copy_bounds: tuple[int, int]) -> _Suspicion:
    log_odds, reasons = 2.5, []
    if bounds[0] < 0 or bounds[1] == len(match.partner):
        log_odds -= 6
    copy, scan = match.copy.sequence, match.scan.sequence
    if copy is not None and scan is not None:
        deviation = copy.deviation(lacked, [page for page in match.partner[match.chain].tolist()])
        log_odds += 1.4 * min(deviation, 1)
        if deviation > -1:
            reasons.append("they have the words of the book")
        if copy.runs_on(copy_bounds[0], lacked[0]) or copy.runs_on(lacked[-1], copy_bounds[1]):
            log_odds += 1.5
            reasons.append("sentences run on into them")
        counted = copy.counts(*copy_bounds, len(lacked))
        jumps = scan.counts(*bounds, 0)
        if counted is not None:
            log_odds += _SAID_BY_NUMBERS if counted else -_SAID_BY_NUMBERS
            reasons += ["they are counted by its page numbers"] * counted
        if jumps is not None:
            log_odds += -_SAID_BY_NUMBERS if jumps else _SAID_BY_NUMBERS
    return _Suspicion("missing", bounds, bounds, match.number, (lacked[0], lacked[-1] + 1), log_odds, tuple(reasons))


def _foreign(match: _Match, own: Sequence[int], lacked: Sequence[int]) -> _Suspicion:
    log_odds = 0.0
    if match.scan.sequence is not None:
        log_odds = -1 - 1.4 * match.scan.sequence.deviation(own, match.chain.tolist())
    return _Suspicion(
        "foreign", (own[0], own[-1] + 1), None, match.number, (lacked[0], lacked[-1] + 1), log_odds, ()
    )


def _doubled_and_misplaced(match: _Match) -> Iterator[_Suspicion]:
    """The scan's pages that a copy has, but not in this order."""
    chain = set(match.chain.tolist())
    in_chain = {int(match.partner[page]): page for page in match.chain.tolist()}
    others = [page for page in np.flatnonzero(match.partner >= 0).tolist() if page not in chain]
    kinds = {page: "doubled" if int(match.partner[page]) in in_chain else "misplaced" for page in others}
    for first, end in _stretches(others, lambda page: (kinds[page])):
        partners = [int(match.partner[page]) for page in range(first, end) if page in kinds]
        copy_pages = min(partners), max(partners) + 1
        if kinds[first] == "doubled":
            if not any(_has_twice(match, page) for page in range(first, end) if page in kinds):
                yield _Suspicion("doubled", (first, end), None, match.number, copy_pages, 3.0, ())
            continue
        places = match.partner[match.chain]
        at = int(np.searchsorted(places, copy_pages[0]))
        between = (
            int(match.chain[at - 1]) if at else -1,
            int(match.chain[at]) if at < len(match.chain) else len(match.partner),
        )
        yield _Suspicion("misplaced", (first, end), between, match.number, copy_pages, 1.5 + _order_evidence(match, (first, end), copy_pages), ())


def _order_evidence(match: _Match, pages: tuple[int, int], copy_pages: tuple[int, int]) -> float:
    scan, copy = match.scan.sequence, match.copy.sequence
    if scan is None or copy is None:
        return 0.0
    joins = [
        sum(each.runs_on(page, page + 1) for page in (bounds[0] - 1, bounds[1] - 1))
        for each, bounds in ((scan, pages), (copy, copy_pages))
    ]
    return 1.5 * (joins[1] - joins[0])


def _has_twice(match: _Match, page: int) -> bool:
    """Whether the copy, too, has another page as like this one as its partner."""
    row = match.similarities[page]
    return bool(np.count_nonzero(row >= _AS_ALIKE * row.max()) > 1)


def _stretches(pages, kind) -> Iterator[tuple[int, int]]:
    """The pages that follow each other, with one page between them at most, and are of one kind."""
    start = 0
    for place, page in enumerate(pages):
        last = place + 1 == len(pages)
        if last or pages[place + 1] - page > 2 or kind(pages[place + 1]) != kind(page):
            yield pages[start], page + 1
            start = place + 1


def _grouped(suspicions: Sequence[_Suspicion]) -> list[list[_Suspicion]]:
    """The suspicions of all copies, those of one kind that meet in the scan together."""
    groups: list[list[_Suspicion]] = []
    for suspicion in sorted(suspicions, key=lambda each: (each.kind, each.pages)):
        if groups and groups[-1][0].kind == suspicion.kind and suspicion.pages[0] < max(each.pages[1] for each in groups[-1]):
            groups[-1].append(suspicion)
        else:
            groups.append([suspicion])
    return groups


def _finding(group: Sequence[_Suspicion], matches: Sequence[_Match]) -> Finding:
    best = max(group, key=lambda each: each.log_odds)
    first, end = min(each.pages[0] for each in group), max(each.pages[1] for each in group)
    shown = {each.copy for each in group}
    if best.kind == "missing":
        first, end = best.pages
        against = [match.number for match in matches if match.number not in shown and match.covers(max(first, 0), min(first + 1, len(match.partner))) and match.covers(min(end, len(match.partner) - 1), end + 1)]
    else:
        against = [match.number for match in matches if match.number not in shown and match.covers(first, end)]
    log_odds = best.log_odds + _ANOTHER_COPY * (len(shown) - 1 - len(against))
    copies = tuple((each.copy, each.copy_pages) for each in group)
    return Finding(
        best.kind,
        None if best.kind == "missing" else (first, end),
        best.between,
        copies,
        round(1 / (1 + exp(-log_odds)), 3),
        "; ".join(best.reasons),
    )
