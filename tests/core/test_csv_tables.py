"""CSV tables: no cell is a formula, and what our own tables say is read as it was."""

import csv
from io import StringIO

import pytest

from bookprint_core.csv_tables import csv_line, unmarked

FORMULAS = ("=1+1", "@SUM(1)", "+cmd|'/C calc'!A0", "-1+1", "-x", "\t=1", "\r=1", "\n=1", "＝1", "－2+3")
PLAIN = ("Emma", "a=b", "-12", "+1.5", "'tis", "", "'", "1-2")


@pytest.mark.parametrize("cell", [*FORMULAS, "'=1", "''+x"])
def test_what_a_spreadsheet_would_run_is_marked_and_read_back(cell: str) -> None:
    [[written, second]] = csv.reader(StringIO(csv_line([cell, "x"]), newline=""))
    assert (written, second) == (f"'{cell}", "x")
    assert unmarked(written) == cell


@pytest.mark.parametrize("cell", PLAIN)
def test_what_is_no_formula_stays_as_it_is(cell: str) -> None:
    [[written, _]] = csv.reader(StringIO(csv_line([cell, -12]), newline=""))
    assert written == unmarked(cell) == cell
