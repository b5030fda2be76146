"""The error rate of readings and of their master copy, by hand and on a small corpus."""

import json

import pytest

from app.core.text.content import content_from_pages
from bench.harness.corpus import CorpusBook
from bench.quality.master_copy import (
    best_of,
    engine_rows,
    error_rate,
    scanned,
)
from tests.core.printed_pages import Pages, book, read

TRUTH = book(8, seed=3)


def reading(engine: str, pages: Pages, work: str = "w") -> CorpusBook:
    return CorpusBook(f"cis-1809-Book-{engine}", work, "1809-Book", "", None, "de", " ".join(pages), pages)


def test_the_error_rate_is_of_the_whole_text_where_pages_differ() -> None:
    assert error_rate(["abcd", "efgh"], ["abcx", "efgh"]) == pytest.approx(1 / 8)
    assert error_rate(["abcd", "efgh"], ["abcd efgx"]) == pytest.approx(1 / 9)


def test_the_transcription_is_no_copy() -> None:
    [scans] = scanned(
        [
            reading("gt", TRUTH),
            *(reading(f"engine{seed}", read(TRUTH, 0.03, seed)) for seed in range(3)),
            reading("gt", TRUTH, "alone"),
        ]
    )
    assert list(scans.engines) == ["engine0", "engine1", "engine2"]
    rows = list(engine_rows(scans))
    by_name = {str(row[1]): row for row in rows}
    assert len(rows) == 4
    assert sum("best copy" in name for name in by_name) == 1
    share = by_name["master copy"][3]
    assert isinstance(share, float)
    assert share < 0.5
    assert json.dumps(rows)


def test_the_best_copy_is_the_one_whose_pages_agree_best() -> None:
    copies = {f"{rate}": content_from_pages(read(TRUTH, rate, 5)) for rate in (0.04, 0.005, 0.02)}
    assert best_of(copies) == "0.005"
