"""Scores of the completeness of made scans."""

from uuid import UUID

import numpy as np

from bench.data.damaged_scans import Fault, MadeScan
from bench.data.paginated_books import Source
from bench.quality.completeness import Score, is_meant
from bookprint_core.clusters.completeness import FaultKind, Finding, PagesOfCopy
from bookprint_core.model import PAGE_BREAK

SOURCE = Source(0, "a", "", "", "en", 1900, PAGE_BREAK, np.zeros(1, np.intp), np.zeros(1, np.bool_))
MISSING = Fault("missing", (2, 2), (2, 4))
SCAN = MadeScan(
    SOURCE, ["a", "b", "e"], [0, 1, 4], [MISSING], [["a", "b", "c", "d", "e"]], [[0, 1, 2, 3, 4]], (0.0, 0.0)
)


def missing(pages: tuple[int, int]) -> Finding:
    return Finding("missing", None, (1, 2), (), [PagesOfCopy(UUID(int=1), pages)], 0.9, "")


def finding(kind: FaultKind) -> Finding:
    return Finding(kind, (1, 2), None, (), [PagesOfCopy(UUID(int=1), (2, 4))], 0.9, "")


def test_a_finding_counts_where_its_copy_has_the_missing_pages() -> None:
    score = Score()
    score.add(SCAN, [missing((2, 4)), missing((0, 1))])
    assert next(score.rows()) == ["missing", 1, 1, 2, 1, 1, 1.0, 0.5]


def test_a_foreign_leaf_in_the_place_of_the_missing_one_is_meant_and_a_double_is_not() -> None:
    assert is_meant(SCAN, finding("foreign"), MISSING)
    assert not is_meant(SCAN, finding("doubled"), MISSING)
