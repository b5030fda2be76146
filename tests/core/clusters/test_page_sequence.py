"""What the texts of pages tell of their sequence."""

from app.core.clusters.page_sequence import PageSequence

PAGES = [f"{number} EMMA\nand so it went on, page by page, and the" for number in range(1, 21)]


def test_printed_numbers_count_pages_and_jump_where_one_is_missing() -> None:
    whole = PageSequence.of(PAGES)
    assert whole.labels[4:6] == ["5", "6"]
    assert whole.skipped(4, 7) == 0
    assert PageSequence.of(PAGES[:10] + PAGES[12:]).skipped(9, 10) == 2
    assert whole.skipped(-1, 7) is None


def test_labels_outrank_printed_numbers() -> None:
    labels = [str(number) for number in range(101, 121)]
    assert PageSequence.of(PAGES, labels).offsets[:2] == [101, 101]


def test_numbers_that_count_other_things_are_none_of_pages() -> None:
    reports = [f"{number * 3 // 2} -\nsaid Malik" for number in range(1, 21)]
    assert PageSequence.of(reports).offsets == [None] * 20


def test_a_sentence_runs_on_over_the_end_of_a_page_but_not_past_the_book() -> None:
    pages = PageSequence.of(["She said that", "it was so.", "Chapter two"])
    assert pages.runs_on(0, 1)
    assert not pages.runs_on(1, 2)
    assert not pages.runs_on(2, 3)
