"""What the texts of pages tell of their sequence."""

from uuid import UUID

import numpy as np

from bookprint_core.clusters.scanned_book import ScannedBook
from bookprint_core.signatures.sketch import page_signatures
from bookprint_core.text.content import content_from_pages

PAGES = [f"{number} EMMA\nand so it went on, page by page, and the" for number in range(1, 21)]


def scan(pages: list[str], labels: list[str | None] | None = None) -> ScannedBook:
    return ScannedBook.of(UUID(int=0), page_signatures(content_from_pages(pages)), pages, labels or ())


def test_printed_numbers_count_pages_and_jump_where_one_is_missing() -> None:
    whole = scan(PAGES)
    assert whole.labels[4:6] == ["5", "6"]
    assert whole.skipped(4, 7) == 0
    assert scan(PAGES[:10] + PAGES[12:]).skipped(9, 10) == 2
    assert np.isnan(whole.skipped(-1, 7))


def test_labels_outrank_printed_numbers() -> None:
    labels = [str(number) for number in range(101, 121)]
    assert scan(PAGES, labels).offsets[:2].tolist() == [101, 101]


def test_numbers_that_count_other_things_are_none_of_pages() -> None:
    reports = [f"{number * 3 // 2} -\nsaid Malik" for number in range(1, 21)]
    assert np.isnan(scan(reports).offsets).all()


def test_a_sentence_runs_on_over_the_end_of_a_page_but_not_past_the_book() -> None:
    pages = scan(["She said that", "it was so.", "Chapter two"])
    assert pages.runs_on(0, 1)
    assert not pages.runs_on(1, 2)
    assert not pages.runs_on(2, 3)
