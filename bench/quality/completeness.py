"""Completeness: made scans with known faults, and how many of them are found."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args
from uuid import UUID

import numpy as np

from bench.data.damaged_scans import TURNS, Fault, FaultKind, MadeScan, Numbering, made_scan
from bench.data.paginated_books import Shelf, halves, unseen
from bench.harness.corpus import corpus_books, corpus_folder, gutenberg_books
from bench.harness.report import Cell, Section, Table
from bookprint_core.clusters.completeness import Finding, find_faults
from bookprint_core.clusters.scanned_book import ScannedBook
from bookprint_core.signatures.sketch import page_signatures
from bookprint_core.text.content import content_from_pages

SEED, SCANS = 7, 110  # scans of each half of the works
_MOST_FAULTS, _MOST_COPIES = 4, 3
_KINDS: tuple[FaultKind, ...] = ("missing", "doubled", "misplaced", "foreign")
_SHARES, _UNSEEN_SHARES = (0.5, 0.2, 0.2, 0.1), (0.2, 0.25, 0.25, 0.3)
_NUMBERINGS: tuple[Numbering, ...] = get_args(Numbering)
_TURNED = 0.4
"""Share of the scans that are from the back or have the halves of their spreads swapped."""
_HALVES = ("tuned on", "kept apart")
_COUNTED = ["made", "found", "findings", "false", "copies named right"]


@dataclass(slots=True)
class Score:
    """What was found in some scans: counts by kind of fault, for each column of the table."""

    scans: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in _COUNTED})

    def add(self, scan: MadeScan, findings: Sequence[Finding]) -> None:
        """Count the findings of a scan."""
        self.scans += 1
        made, found, findings_of, false, named = self.counts.values()
        made.update(fault.kind for fault in scan.faults)
        hits: set[int] = set()
        for finding in findings:
            meant = {n: fault for n, fault in enumerate(scan.faults) if is_meant(scan, finding, fault)}
            told = {n: "misplaced" if fault.kind in TURNS else fault.kind for n, fault in meant.items()}
            hits |= {number for number, kind in told.items() if kind == finding.kind}
            kind = next((fault.kind for fault in meant.values() if fault.kind in TURNS), finding.kind)
            findings_of[kind] += 1
            false[kind] += not meant
            named[kind] += any(_has_pages(scan, finding, fault) for fault in meant.values())
        found.update(scan.faults[number].kind for number in hits)

    def rows(self) -> Iterator[list[Cell]]:
        """Return a row for each kind, and one for all."""
        kinds = [kind for kind in (*_KINDS, *TURNS) if self.counts["made"][kind]]
        for name, of in [*((kind, [kind]) for kind in kinds), ("all", kinds)]:
            sums = [sum(counts[kind] for kind in of) for counts in self.counts.values()]
            made, found, findings, false, _ = sums
            yield [name, *sums, found / max(made, 1), false / max(findings, 1)]


def run(out_dir: Path) -> Section:
    """Two halves of the paginated works, and of works of Project Gutenberg, 110 scans each; half an hour."""
    tables = []
    corpus = list(corpus_books(corpus_folder()))
    sets = (("books", corpus), ("works of Project Gutenberg", unseen(gutenberg_books().values(), corpus)))
    for number, (what, books) in enumerate(sets):
        for half, (name, shelf) in enumerate(zip(_HALVES, halves(books, SEED), strict=True)):
            score = Score()
            for scan in made_scans(shelf, SCANS, 200 + half, unseen=number > 0):
                score.add(scan, found_in(scan))
            columns = ["fault", *_COUNTED, "share found", "share false"]
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
    """Return so many scans of the sources, every work as likely; of unseen works, in any order."""
    rng = np.random.default_rng(seed)
    made = 0
    while made < count:
        faults = int(rng.integers(0, _MOST_FAULTS + 1))
        kinds = list(rng.choice(_KINDS, faults, p=_UNSEEN_SHARES if unseen else _SHARES))
        source, copies = shelf.any(rng), int(rng.integers(1, _MOST_COPIES + 1))
        own, numbering = int(rng.integers(1 << 30)), _NUMBERINGS[0]
        if unseen:
            numbering = _NUMBERINGS[int(rng.integers(len(_NUMBERINGS)))]
            kinds += [TURNS[int(rng.integers(len(TURNS)))]] if rng.random() < _TURNED else []
        try:
            scan = made_scan(shelf, source, kinds, copies, own, numbering)
        except ValueError:
            continue  # The book is too short for these faults.
        made += 1
        yield scan


def found_in(scan: MadeScan) -> list[Finding]:
    """Return what is found in a scan."""
    first, *copies = (
        ScannedBook.of(
            UUID(int=number),
            page_signatures(content_from_pages(list(pages))),
            pages,
            scan.labels[number] if scan.labels else (),
        )
        for number, pages in enumerate([scan.pages, *scan.copies])
    )
    return find_faults(first, copies)


def is_meant(scan: MadeScan, finding: Finding, fault: Fault) -> bool:
    """Whether the finding is of this fault."""
    is_whole = finding.kind == "misplaced" and finding.between is None
    if is_whole or fault.kind in TURNS:
        return is_whole and fault.kind in TURNS
    if fault.kind == "missing":
        return finding.kind in ("missing", "foreign") and _has_pages(scan, finding, fault)
    if finding.kind != fault.kind or finding.pages is None:
        return False
    first, end = fault.pages
    if fault.kind == "doubled":
        doubled = [place for place, origin in enumerate(scan.origins) if origin in range(*fault.printed)]
        first, end = min(doubled), max(doubled) + 1
    return finding.pages[0] <= end and first <= finding.pages[1]


def _has_pages(scan: MadeScan, finding: Finding, fault: Fault) -> bool:
    """Whether every copy that is named has some of the pages that are meant there."""
    return all(
        set(range(*fault.printed)) & set(scan.copy_origins[copy.book_id.int - 1][slice(*copy.pages)])
        for copy in finding.copies
    )
