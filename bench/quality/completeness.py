"""Completeness: made scans with known faults, and how many of them are found."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import numpy as np

from app.core.clusters.completeness import Finding, find_faults
from app.core.clusters.scanned_book import ScannedBook
from app.core.signatures.sketch import page_signatures
from app.core.text.content import content_from_pages
from bench.data.damaged_scans import Fault, FaultKind, MadeScan, made_scan
from bench.data.paginated_books import Shelf, halves
from bench.harness.corpus import corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table

SEED = 7
SCANS = 110
"""Of each half of the works."""

_MOST_FAULTS = 4
_MOST_COPIES = 3
_SHARES: dict[FaultKind, float] = {"missing": 0.5, "doubled": 0.2, "misplaced": 0.2, "foreign": 0.1}
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
            hits.update(meant)
            self.told[finding.kind] += 1
            self.false[finding.kind] += not meant
            self.named[finding.kind] += any(_has_pages(scan, finding, scan.faults[each]) for each in meant)
        self.found.update(scan.faults[number].kind for number in hits)

    def rows(self) -> Iterator[list[Cell]]:
        """A row for each kind, and one for all."""
        for kind in _SHARES:
            yield [kind, *(counts[kind] for counts in self._counts()), *self._shares([kind])]
        yield ["all", *(counts.total() for counts in self._counts()), *self._shares(list(_SHARES))]

    def _counts(self) -> tuple[Counter[str], ...]:
        return self.made, self.found, self.told, self.false, self.named

    def _shares(self, kinds: Sequence[str]) -> Iterator[float]:
        made, found, told, false, _ = (sum(counts[kind] for kind in kinds) for counts in self._counts())
        yield from (found / max(made, 1), false / max(told, 1))


def run(out_dir: Path) -> Section:
    """Two halves of the paginated works, 110 scans each; a quarter of an hour."""
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
    for half, (name, shelf) in enumerate(
        zip(_HALVES, halves(list(corpus_books(corpus_folder())), SEED), strict=True)
    ):
        score = Score()
        for scan in made_scans(shelf, SCANS, 200 + half):
            score.add(scan, found_in(scan))
        tables.append(Table(columns, list(score.rows()), f"{score.scans} scans of books {name}"))
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


def made_scans(shelf: Shelf, count: int, seed: int) -> Iterator[MadeScan]:
    """So many scans of the sources, every work as likely as the next."""
    rng = np.random.default_rng(seed)
    made = 0
    while made < count:
        kinds = list(
            rng.choice(list(_SHARES), int(rng.integers(0, _MOST_FAULTS + 1)), p=list(_SHARES.values()))
        )
        source, copies, own = (
            shelf.any(rng),
            int(rng.integers(1, _MOST_COPIES + 1)),
            int(rng.integers(1 << 30)),
        )
        try:
            scan = made_scan(shelf, source, kinds, copies, own)
        except ValueError:
            continue  # The book is too short for these faults.
        made += 1
        yield scan


def found_in(scan: MadeScan) -> list[Finding]:
    """What is told of a scan."""
    first, *copies = (_scanned(number, pages) for number, pages in enumerate([scan.pages, *scan.copies]))
    return find_faults(first, copies)


def is_meant(scan: MadeScan, finding: Finding, fault: Fault) -> bool:
    """Whether the finding is of this fault."""
    if fault.kind == "missing":
        return finding.kind in ("missing", "foreign") and _has_pages(scan, finding, fault)
    if finding.kind != fault.kind or finding.pages is None:
        return False
    first, end = fault.pages
    if fault.kind == "doubled":
        first = min(place for place, origin in enumerate(scan.origins) if origin == fault.printed[0])
    return finding.pages[0] <= end and first <= finding.pages[1]


def _has_pages(scan: MadeScan, finding: Finding, fault: Fault) -> bool:
    """Whether every copy that is named has some of the pages that are meant there."""
    if fault.kind == "foreign":
        before, after = (scan.origins[place] for place in (fault.pages[0] - 1, fault.pages[1]))
        meant = range(min(before, after), max(before, after) + 1)
    else:
        meant = range(*fault.printed)
    return all(
        any(origin in meant for origin in scan.copy_origins[copy.book_id.int - 1][slice(*copy.pages)])
        for copy in finding.copies
    )


def _scanned(number: int, pages: Sequence[str]) -> ScannedBook:
    return ScannedBook.of(UUID(int=number), page_signatures(content_from_pages(list(pages))), pages)
