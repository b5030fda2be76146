"""Completeness: made scans with known faults, and how many of them are found."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args
from uuid import UUID

import numpy as np

from app.core.clusters.completeness import Finding, find_faults
from app.core.clusters.scanned_book import ScannedBook
from app.core.signatures.sketch import page_signatures
from app.core.text.content import content_from_pages
from bench.data.damaged_scans import Fault, FaultKind, MadeScan, Numbering, made_scan
from bench.data.paginated_books import Shelf, halves, unseen
from bench.harness.corpus import corpus_books, corpus_folder, gutenberg_books
from bench.harness.report import Cell, Section, Table

SEED = 7
SCANS = 110
"""Of each half of the works."""

_MOST_FAULTS = 4
_MOST_COPIES = 3
_SHARES: dict[FaultKind, float] = {"missing": 0.5, "doubled": 0.2, "misplaced": 0.2, "foreign": 0.1}
_UNSEEN_SHARES: dict[FaultKind, float] = {"missing": 0.2, "doubled": 0.25, "misplaced": 0.25, "foreign": 0.3}
_NUMBERINGS: tuple[Numbering, ...] = get_args(Numbering)
_TURNS: tuple[FaultKind, ...] = ("reversed", "swapped")
_TURNED = 0.4
"""Of the scans, from the back or with the halves of their spreads swapped."""
_HALVES = ("tuned on", "kept apart")


@dataclass(slots=True)
class Score:
    """What was found in some scans, by kind of fault."""

    scans: int = 0
    made: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)  # findings of which every copy named has the page

    def add(self, scan: MadeScan, findings: Sequence[Finding]) -> None:
        """Count the findings of a scan."""
        self.scans += 1
        self.made.update(fault.kind for fault in scan.faults)
        hits: set[int] = set()
        for finding in findings:
            meant = [number for number, fault in enumerate(scan.faults) if is_meant(scan, finding, fault)]
            hits.update(each for each in meant if _told_as(scan.faults[each].kind) == finding.kind)
            whole = next((scan.faults[each].kind for each in meant if scan.faults[each].kind in _TURNS), None)
            kind = whole or finding.kind
            self.told[kind] += 1
            self.false[kind] += not meant
            self.named[kind] += any(_has_pages(scan, finding, scan.faults[each]) for each in meant)
        self.found.update(scan.faults[number].kind for number in hits)

    def rows(self) -> Iterator[list[Cell]]:
        """A row for each kind, and one for all."""
        kinds = list(filter(self.made.__getitem__, (*_SHARES, *_TURNS)))
        for kind in kinds:
            yield [kind, *(counts[kind] for counts in self._counts()), *self._shares([kind])]
        yield ["all", *(counts.total() for counts in self._counts()), *self._shares(kinds)]

    def _counts(self) -> tuple[Counter[str], ...]:
        return self.made, self.found, self.told, self.false, self.named

    def _shares(self, kinds: Sequence[str]) -> Iterator[float]:
        made, found, told, false, _ = (sum(counts[kind] for kind in kinds) for counts in self._counts())
        yield from (found / max(made, 1), false / max(told, 1))


def run(out_dir: Path) -> Section:
    """Two halves of the paginated works, and of works of Project Gutenberg, 110 scans each; half an hour."""
    columns = [
        "fault",
        "made",
        "found",
        "findings",
        "false",
        "copies named right",
        "share found",
        "share false",
    ]
    tables = []
    corpus = list(corpus_books(corpus_folder()))
    sets = (("books", corpus), ("works of Project Gutenberg", unseen(gutenberg_books().values(), corpus)))
    for number, (what, books) in enumerate(sets):
        for half, (name, shelf) in enumerate(zip(_HALVES, halves(books, SEED), strict=True)):
            score = Score()
            for scan in made_scans(shelf, SCANS, 200 + half, unseen=number > 0):
                score.add(scan, found_in(scan))
            tables.append(Table(columns, list(score.rows()), f"{score.scans} scans of {what} {name}"))
    return Section(
        title="Completeness of scans",
        command="python -m bench completeness",
        tables=tables,
        notes=[
            f"Each scan has up to {_MOST_FAULTS} faults of 1 to 20 leaves (of 5 but for missing ones), "
            f"and 1 to {_MOST_COPIES} whole copies; each text has its own rate of errors, 0 to 5 %. Plates, "
            "blank leaves and another book's pages as advertisements are in scans and copies, and are no "
            "faults. A leaf that is there twice counts as found by either place; pages foreign where "
            "a leaf is missing count as it, where the finding names the copy's pages."
        ],
    )


def made_scans(shelf: Shelf, count: int, seed: int, *, unseen: bool = False) -> Iterator[MadeScan]:
    """So many scans of the sources, every work as likely as the next; of unseen works, in any order."""
    rng = np.random.default_rng(seed)
    made, shares = 0, _UNSEEN_SHARES if unseen else _SHARES
    while made < count:
        kinds = list(
            rng.choice(list(shares), int(rng.integers(0, _MOST_FAULTS + 1)), p=list(shares.values()))
        )
        source, copies, own = (
            shelf.any(rng),
            int(rng.integers(1, _MOST_COPIES + 1)),
            int(rng.integers(1 << 30)),
        )
        numbering: Numbering = "none"
        if unseen:
            numbering = _NUMBERINGS[int(rng.integers(len(_NUMBERINGS)))]
            kinds += [_TURNS[int(rng.integers(len(_TURNS)))]] if rng.random() < _TURNED else []
        try:
            scan = made_scan(shelf, source, kinds, copies, own, numbering)
        except ValueError:
            continue  # The book is too short for these faults.
        made += 1
        yield scan


def found_in(scan: MadeScan) -> list[Finding]:
    """What is told of a scan."""
    first, *copies = (
        _scanned(number, pages, scan.labels[number] if scan.labels else ())
        for number, pages in enumerate([scan.pages, *scan.copies])
    )
    return find_faults(first, copies)


def is_meant(scan: MadeScan, finding: Finding, fault: Fault) -> bool:
    """Whether the finding is of this fault."""
    is_whole = finding.kind == "misplaced" and finding.between is None
    if is_whole or fault.kind in _TURNS:
        return is_whole and fault.kind in _TURNS
    if fault.kind == "missing":
        return finding.kind in ("missing", "foreign") and _has_pages(scan, finding, fault)
    if finding.kind != fault.kind or finding.pages is None:
        return False
    first, end = fault.pages
    if fault.kind == "doubled":
        doubled = [place for place, origin in enumerate(scan.origins) if origin in range(*fault.printed)]
        first, end = min(doubled), max(doubled) + 1
    return finding.pages[0] <= end and first <= finding.pages[1]


def _told_as(kind: FaultKind) -> str:
    return "misplaced" if kind in _TURNS else kind


def _has_pages(scan: MadeScan, finding: Finding, fault: Fault) -> bool:
    """Whether every copy that is named has some of the pages that are meant there."""
    meant = range(*fault.printed)
    return all(
        any(origin in meant for origin in scan.copy_origins[copy.book_id.int - 1][slice(*copy.pages)])
        for copy in finding.copies
    )


def _scanned(number: int, pages: Sequence[str], labels: Sequence[str | None]) -> ScannedBook:
    return ScannedBook.of(UUID(int=number), page_signatures(content_from_pages(list(pages))), pages, labels)
