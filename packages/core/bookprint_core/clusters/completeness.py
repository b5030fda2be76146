"""Completeness: missing, doubled, misplaced and foreign pages of a scan.

The scan is compared with copies of its printing, page by page. A page of a copy that the scan lacks may be
missing. It may also belong to the copy alone: a plate, an advertisement, a leaf of another issue. Page
numbers, other copies, sentences across pages and words common in the book decide; each finding gives its
reasons. Books are compared in the order of their page numbers, so pages do not look misplaced if a copy was
scanned from the back. Measurements: docs/why/decisions/0041-completeness.md.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp
from typing import Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from bookprint_core.clusters.scanned_book import Order, ScannedBook, chain_of, order_between
from bookprint_core.model import PageSignatures, require_same_recipe
from bookprint_core.relations.alignment import page_similarities
from bookprint_core.relations.background import estimate_background

FaultKind = Literal["missing", "doubled", "misplaced", "foreign"]

_LEAST_CONFIDENCE = 0.8  # minimum confidence of a finding
_LEAST_TEXT = 200  # code points; shorter pages are plates, captions or blank, and not faults
_FROM = 0.2  # minimum similarity of a page to its source in another book; unrelated pages have at most .1
_EQUAL, _PART = 0.5, 0.2  # thresholds of equal pages and of common text, as shares of a typical similarity

# Log odds of a fault.
_MISSING = 2.5  # start value for pages that only the copy has
_OUT_OF_ORDER = 3.0  # start value for pages in another order, or twice in the scan
_MUCH = -3.0  # for much of the book out of order, which may be the fault of the copy
_AT_AN_END = -6.0  # before the first common page or after the last, where advertisements are
_ANOTHER_COPY = 3.0  # for another copy with this fault; subtracted for a copy that contradicts it
_BY_NUMBERS = 4.0  # for page numbers; subtracted if they contradict the fault
_RUNS_ON = 1.5  # for a sentence that continues from one page to the next
_DEVIATION = 1.4  # for each standard deviation of the words
_MOST_DEVIATION = 2.5  # maximum standard deviations for foreign pages; two copies outweigh them

_NEAR = 10  # pages around a gap
_RUN = 5  # letters of a run
_MOST_ELSEWHERE = 20  # maximum number of pages in the estimate of runs common to any two pages
_IN_COMMON = 1.5  # ratio to this estimate up to which common runs are chance
_LEAST_IN_COMMON = 0.05  # share of the shorter page's runs up to which common runs are chance
_TOLD: dict[Order, str] = {
    "from the back": "from the back",
    "halves of spreads swapped": "with the halves of its spreads swapped",
}
_MUCH_OF_BOOK = 0.25  # share of the common pages
_SENTENCES = 0.4  # log odds of an order per standard deviation by which sentences continue better
_MOST_BY_SENTENCES = 4.0


@dataclass(frozen=True, slots=True)
class PagesOfCopy:
    """Pages of a copy, from 0, the end exclusive."""

    book_id: UUID
    pages: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of a scan and the copies that contain the pages. Pages are from 0, the end exclusive."""

    kind: FaultKind
    pages: tuple[int, int] | None  # of the scan; None: missing
    between: tuple[int, int] | None  # pages of the scan around the right place of missing or misplaced pages
    labels: Sequence[str | None]  # of the pages of the first copy
    copies: Sequence[PagesOfCopy]  # the surest evidence first
    confidence: float  # 0 to 1
    because: str
    source: PagesOfCopy | None = None  # of another book that contains the foreign pages; None: not known


@dataclass(frozen=True, slots=True)
class _Suspicion:
    """A possible fault, by comparison with one copy."""

    kind: FaultKind
    pages: tuple[int, int]  # of the scan; for missing pages the page before and the page after
    between: tuple[int, int] | None
    copy: PagesOfCopy
    log_odds: float
    reasons: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Match:
    """The equal pages of a scan and a copy."""

    scan: ScannedBook
    copy: ScannedBook  # its pages in the order of the scan
    order: Order  # order of one book relative to the other
    pages: NDArray[np.int64]  # of the scan, in the order of the copy
    partner: NDArray[np.int64]  # (pages of the scan,) the page of the copy; -1: none
    chain: Mapping[int, int]  # pages of the scan that are in the order of the copy, and their partners
    equal: NDArray[np.bool_]  # (pages of the scan, of the copy) whether two pages are equal
    partly: NDArray[np.bool_]  # (pages of the scan, of the copy) whether two pages share some text


def find_faults(scan: ScannedBook, copies: Iterable[ScannedBook]) -> list[Finding]:
    """Find the faults of a scan by copies of its printing; raise `RecipeMismatch`."""
    copies = list(copies)
    faults, turned = _held_against(scan, copies)
    if turned is not None:
        faults, _ = _held_against(turned, copies)
        scan = turned
    if scan.order != "as printed" and copies:
        faults.append(_of_whole(scan, copies, by_numbers=turned is None))
    told = (finding for finding in faults if finding.confidence >= _LEAST_CONFIDENCE)
    return sorted(told, key=lambda finding: finding.pages or finding.between or (0, 0))


def pages_from(pages: PageSignatures, book: PageSignatures) -> tuple[int, int] | None:
    """Find the stretch of a book that contains most of these pages; None if there is none."""
    if book.unit != "page":
        return None
    similarities = page_similarities(pages.values, book.values)
    partner = np.where(similarities.max(axis=1, initial=0) >= 255 * _FROM, similarities.argmax(axis=1), -1)
    chain = sorted(chain_of(partner).values())
    return (chain[0], chain[-1] + 1) if 2 * len(chain) > len(partner) else None


def _held_against(
    scan: ScannedBook, copies: Sequence[ScannedBook]
) -> tuple[list[Finding], ScannedBook | None]:
    """Find faults of single pages; return also the scan in printed order if its order differs."""
    suspicions: list[_Suspicion] = []
    chains, turns = [], []
    known: dict[UUID, ScannedBook] = {}
    for copy in copies:
        match = _match(scan, copy)
        suspicions += [*_missing_and_foreign(match), *_doubled_and_misplaced(match)]
        chains.append(match.chain)
        known[copy.book_id] = match.copy
        turns.append((match.order, match.pages, copy))
    faults = [_finding(group, chains, scan, known) for group in _grouped(suspicions)]
    return faults, None if scan.is_counted else _as_printed(scan, turns)


def _match(scan: ScannedBook, copy: ScannedBook) -> _Match:
    require_same_recipe(scan.pages.recipe, copy.pages.recipe)
    similarities = page_similarities(scan.pages.values, copy.pages.values)
    # A page with just enough text in one book may contain a little less in the other.
    lengths = [
        np.where(each.pages.lengths >= _LEAST_TEXT / 2, each.pages.lengths, 0).astype(np.int64)
        for each in (scan, copy)
    ]
    background = estimate_background(similarities, *lengths)
    similarities[lengths[0] == 0] = 0
    similarities[:, lengths[1] == 0] = 0
    equal, part = (255 * max(background.threshold, of * background.typical) for of in (_EQUAL, _PART))
    partner = np.where(similarities.max(axis=1) >= equal, similarities.argmax(axis=1), -1)
    order, pages, scan_pages = order_between(partner, len(copy.texts))
    if order != "as printed":
        copy, similarities = copy.in_order(pages), similarities[:, pages]
        partner = np.where(partner >= 0, pages[partner], -1)  # the order is its own inverse
    # Forms and tables within a book are similar, so a page in the corresponding gap takes precedence.
    for before, copy_before, after, copy_after in list(_gaps(chain_of(partner), *similarities.shape)):
        here = similarities[before + 1 : after, copy_before + 1 : copy_after]
        if here.size:
            inside = here.max(axis=1) >= equal
            partner[before + 1 : after][inside] = copy_before + 1 + here.argmax(axis=1)[inside]
    chain = chain_of(partner)
    # Two pages with one partner may be parts of the partner; only pages equal to each other are doubled.
    twins = {copied: page for page, copied in chain.items()}
    for page in set(np.flatnonzero(partner >= 0).tolist()).difference(chain):
        twin = twins.get(int(partner[page]))
        if twin is not None:
            alike = page_similarities(scan.pages.values[[page]], scan.pages.values[[twin]])
            partner[page] = partner[page] if alike[0, 0] >= equal else -1
    return _Match(scan, copy, order, scan_pages, partner, chain, similarities >= equal, similarities >= part)


def _as_printed(
    scan: ScannedBook, turns: Sequence[tuple[Order, NDArray[np.int64], ScannedBook]]
) -> ScannedBook | None:
    """Return the scan in the order of its copies if the scan alone departs from the printed order."""
    others = Counter(order for order, _, _ in turns if order != "as printed")
    for order, count in others.most_common(1):
        of_order = [(pages, copy) for name, pages, copy in turns if name == order]
        sentences = scan.reads(order) - max(copy.reads(order) for _, copy in of_order)
        log_odds = _ANOTHER_COPY * (2 * count - 1 - len(turns))
        log_odds += float(np.clip(_SENTENCES * sentences, -_MOST_BY_SENTENCES, _MOST_BY_SENTENCES))
        log_odds += _BY_NUMBERS * any(copy.is_counted for _, copy in of_order)
        if _share(log_odds) >= _LEAST_CONFIDENCE:
            return replace(scan.in_order(of_order[0][0]), order=order, turned=False)
    return None


def _of_whole(scan: ScannedBook, copies: Sequence[ScannedBook], *, by_numbers: bool) -> Finding:
    """Make the finding that the whole scan departs from the printed order."""
    reason = "its page numbers" if by_numbers else "the order of copies and of its sentences"
    return Finding(
        "misplaced",
        (0, len(scan.texts)),
        None,
        copies[0].labels,
        [PagesOfCopy(copy.book_id, (0, len(copy.texts))) for copy in copies],
        _share(_OUT_OF_ORDER + _BY_NUMBERS * by_numbers),
        f"it is scanned {_TOLD[scan.order]}: {reason} say so",
    )


def _share(log_odds: float) -> float:
    return round(1 / (1 + exp(-log_odds)), 3)


def _gaps(chain: Mapping[int, int], pages: int, copy_pages: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the gaps of the chain: the pages of scan and copy before a gap, and their pages after the gap."""
    for here, after in pairwise([(-1, -1), *chain.items(), (pages, copy_pages)]):
        if max(after[0] - here[0], after[1] - here[1]) > 1:
            yield *here, *after


def _missing_and_foreign(match: _Match) -> Iterator[_Suspicion]:
    """Yield suspicions in the gaps of the chain: pages of the copy alone, or different pages of both."""
    taken = set(match.partner.tolist())
    scan_has_some = match.scan.pages.lengths >= _LEAST_TEXT / 2
    copy_has_text = match.copy.pages.lengths >= _LEAST_TEXT
    for gap in _gaps(match.chain, *match.partly.shape):
        before, copy_before, after, copy_after = gap
        own = [page for page in range(before + 1, after) if scan_has_some[page] and match.partner[page] < 0]
        # If page breaks differ, a neighbour may contain a part of the page.
        near = match.partly[max(before, 0) : after + 1].max(axis=0)
        # The scan may contain once a page that the copy contains twice.
        twice = match.equal[max(before - _NEAR, 0) : after + _NEAR].max(axis=0)
        others = [
            page for page in range(copy_before + 1, copy_after) if copy_has_text[page] and page not in taken
        ]
        lacked = [page for page in others if not near[page] and not twice[page]]
        if not lacked:
            continue
        inside = before >= 0 and after < len(match.partner)
        has_text = match.scan.pages.lengths[own].max(initial=0) >= _LEAST_TEXT
        if inside and has_text and _are_others(match, own, lacked):
            # One of many foreign pages may be similar by chance.
            lacked = others if 2 * len(lacked) > len(others) else lacked
            foreign = _foreign(match, own, lacked)
            yield foreign
            missing = _missing(match, gap, lacked, len(own))
            yield replace(missing, log_odds=min(missing.log_odds, foreign.log_odds))
        elif len(lacked) > len(own):
            yield _missing(match, gap, lacked)


def _foreign(match: _Match, own: Sequence[int], lacked: Sequence[int]) -> _Suspicion:
    """Judge pages of the scan in whose place the copy has other pages."""
    # The foreign pages are those that share fewer words and numbers with their book.
    deviation = match.scan.deviation(own, list(match.chain))
    less = match.copy.deviation(lacked, list(match.chain.values())) - deviation
    by_numbers = match.copy.counts_on((lacked[0], lacked[-1] + 1)) - match.scan.counts_on(
        (own[0], own[-1] + 1)
    )
    log_odds = (
        _DEVIATION * float(np.clip(less, -_MOST_DEVIATION, _MOST_DEVIATION)) + _BY_NUMBERS * by_numbers / 2
    )
    reasons = [f"{len(own)} pages stand where another scan has {len(lacked)} others"]
    if deviation < -1:
        reasons.append("their words do not fit the book")
    copied = PagesOfCopy(match.copy.book_id, (lacked[0], lacked[-1] + 1))
    return _Suspicion("foreign", (own[0], own[-1] + 1), None, copied, log_odds, reasons)


def _are_others(match: _Match, own: Sequence[int], lacked: Sequence[int]) -> bool:
    """Return whether pages of the scan share runs of letters with the lacked pages only by chance.

    Badly read pages have dissimilar signatures, but some of their letters are right.
    """
    elsewhere = list(match.chain.values())[:: max(1, len(match.chain) // _MOST_ELSEWHERE)]
    here, there, others = (
        [_runs(book.texts[page]) for page in pages]
        for book, pages in ((match.scan, own), (match.copy, lacked), (match.copy, elsewhere))
    )

    def most(pages: Sequence[set[str]]) -> float:
        return max(
            (len(one & two) / max(min(len(one), len(two)), 1) for one in here for two in pages), default=0
        )

    return most(there) <= max(_IN_COMMON * most(others), _LEAST_IN_COMMON)


def _runs(page: str) -> set[str]:
    letters = "".join(filter(str.isalpha, page.casefold()))
    return {letters[start : start + _RUN] for start in range(len(letters) - _RUN + 1)}


def _missing(
    match: _Match, gap: tuple[int, int, int, int], lacked: Sequence[int], foreign: int = 0
) -> _Suspicion:
    """Judge pages of the copy that the scan lacks; `foreign` is the number of foreign pages instead."""
    before, copy_before, after, copy_after = gap
    copy = match.copy
    at_an_end = before < 0 or after == len(match.partner)
    deviation = copy.deviation(lacked, list(match.chain.values()))
    runs_on = copy.runs_on(copy_before, lacked[0]) or copy.runs_on(lacked[-1], copy_after)
    # At an end of the copy there is no neighbour, so the missing pages are compared with each other.
    uncounted = copy.skipped(
        copy_before if copy_before >= 0 else lacked[-1],
        copy_after if copy_after < len(copy.texts) else lacked[0],
    )
    skipped = match.scan.skipped(before, after) + foreign
    by_numbers = (uncounted == 0) - (uncounted <= -len(lacked)) + (skipped > 0) - (skipped == 0)
    log_odds = _MISSING + at_an_end * _AT_AN_END + _DEVIATION * min(deviation, 1)
    log_odds += runs_on * _RUNS_ON + by_numbers * _BY_NUMBERS
    reasons = {
        "their words fit the book": deviation > -1,
        "sentences continue into them": runs_on,
        "the page numbers of the other scan count them": uncounted == 0,
        "the page numbers of this scan skip them": skipped > 0,
    }
    copied = PagesOfCopy(copy.book_id, (lacked[0], lacked[-1] + 1))
    because = [reason for reason, holds in reasons.items() if holds]
    return _Suspicion("missing", (before, after), (before, after), copied, log_odds, because)


def _doubled_and_misplaced(match: _Match) -> Iterator[_Suspicion]:
    """Yield suspicions about pages of the scan that a copy contains in another order."""
    places = np.array(list(match.chain.values()), dtype=np.int64)
    order = [-1, *match.chain, len(match.partner)]
    others = np.setdiff1d(np.flatnonzero(match.partner >= 0), list(match.chain))
    doubled = np.isin(match.partner[others], places)
    much = match.copy.turned or (~doubled).sum() > _MUCH_OF_BOOK * max((match.partner >= 0).sum(), 1)
    # Consecutive pages, with at most one page between them, are one fault.
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
            by_numbers = match.copy.counts_on(copied.pages) - match.scan.counts_on(stretch)
            log_odds = _OUT_OF_ORDER + by_numbers * _BY_NUMBERS + much * _MUCH
            yield _Suspicion("misplaced", stretch, (order[at], order[at + 1]), copied, log_odds)


def _grouped(suspicions: Iterable[_Suspicion]) -> list[list[_Suspicion]]:
    """Group suspicions of one kind that overlap in the scan, from all copies."""
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
    scan: ScannedBook,
    copies: Mapping[UUID, ScannedBook],
) -> Finding:
    best, *_ = surest = sorted(group, key=lambda each: -each.log_odds)
    pages = min(each.pages[0] for each in group), max(each.pages[1] for each in group)
    further = len({each.copy.book_id for each in group}) - 1
    # Copies contradict if they have no page between the neighbours, or all the pages in the scan's order.
    first, last = best.between or (-1, -1)
    against = sum(
        (last in chain and chain.get(first, -2) == chain[last] - 1)
        or (best.kind != "missing" and chain.keys() >= set(range(*pages)))
        or (best.kind == "missing" and len(chain.keys() & set(range(first + 1, last))) > (last - first) / 2)
        for chain in chains
    )
    log_odds = best.log_odds + _ANOTHER_COPY * (further - against)
    shown_by = [f"{further + 1} other scans show it"] * (further > 0)
    because = "; ".join([*best.reasons, *shown_by] or ["another scan shows it"])
    found = [replace(each.copy, pages=copies[each.copy.book_id].in_scan(each.copy.pages)) for each in surest]
    return Finding(
        best.kind,
        None if best.kind == "missing" else scan.in_scan(pages),
        best.between and scan.between_in_scan(*best.between),
        copies[best.copy.book_id].labels[slice(*found[0].pages)],
        found,
        _share(log_odds),
        f"{because[:1].upper()}{because[1:]}.",
    )
