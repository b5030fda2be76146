"""The faults of a scan, by copies of its printing."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from bookprint_core.clusters.completeness import Finding, PagesOfCopy, find_faults
from bookprint_core.clusters.scanned_book import ScannedBook
from bookprint_core.signatures.sketch import page_signatures
from bookprint_core.text.content import content_from_pages
from tests.api.library import prose, scanned
from tests.factories import pages_of

PAGES = pages_of(prose(1, 9000))
OTHER = pages_of(prose(2, 3000))


def scan(pages: list[str], labels: Sequence[str | None] = (), number: int = 0) -> ScannedBook:
    signatures = page_signatures(content_from_pages(pages))
    return ScannedBook.of(UUID(int=number), signatures, pages, labels)


def noisy(seed: int, pages: list[str]) -> list[str]:
    return [scanned(page, 100 * seed + place, 0.02) for place, page in enumerate(pages)]


def faults(pages: list[str], *copies: list[str]) -> list[Finding]:
    others = copies or (PAGES,)
    books = [scan(noisy(number, each), number=number) for number, each in enumerate([pages, *others])]
    return find_faults(books[0], books[1:])


def test_a_scan_that_lacks_nothing_has_no_faults() -> None:
    assert faults(PAGES) == []


@pytest.mark.parametrize("copies", [1, 2])
def test_a_missing_leaf_is_told_with_its_place_in_the_copy(copies: int) -> None:
    [fault] = faults(PAGES[:12] + PAGES[14:], *[PAGES] * copies)
    assert (fault.kind, fault.pages, fault.between) == ("missing", None, (11, 12))
    assert {copy.book_id.int: copy.pages for copy in fault.copies} == dict.fromkeys(
        range(1, copies + 1), (12, 14)
    )


def test_of_a_leaf_that_is_there_twice_the_second_is_named() -> None:
    [fault] = faults(PAGES[:12] + PAGES[10:])
    assert (fault.kind, fault.pages) == ("doubled", (12, 14))
    assert fault.copies == [PagesOfCopy(UUID(int=1), (10, 12))]


def test_a_misplaced_leaf_is_told_with_the_place_where_it_belongs() -> None:
    [fault] = faults([*PAGES[:4], *PAGES[6:20], *PAGES[4:6], *PAGES[20:]])
    assert (fault.kind, fault.pages, fault.between) == ("misplaced", (18, 20), (3, 4))


def test_advertisements_of_a_copy_are_not_missing() -> None:
    assert faults(PAGES, [*PAGES[:12], *OTHER[:2], *PAGES[12:], *OTHER[2:]], PAGES) == []


@pytest.mark.parametrize("size", [2, 6, 10])
@pytest.mark.parametrize("replaced", [2, 6])
def test_leaves_of_another_book_are_foreign_and_those_they_stand_for_missing(
    size: int, replaced: int
) -> None:
    pages = [*PAGES[:12], *OTHER[:size], *PAGES[12 + replaced :]]
    missing, foreign = faults(pages, PAGES)
    assert (foreign.kind, foreign.pages) == ("foreign", (12, 12 + size))
    assert (missing.kind, missing.between) == ("missing", (11, 12 + size))
    assert {fault.copies[0].pages for fault in (missing, foreign)} == {(12, 12 + replaced)}
    assert f"{size} pages stand where another scan has {replaced} others" in foreign.because


def test_pages_that_are_badly_read_are_not_foreign() -> None:
    misread = [scanned(page, place, 0.3) for place, page in enumerate(PAGES[12:18])]
    assert faults([*PAGES[:12], *misread, *PAGES[18:]], PAGES) == []


def test_books_with_nothing_to_compare_have_no_faults() -> None:
    for pages in (["Nice day."], ["", "Nice day.", ""]):
        assert find_faults(scan(pages), [scan(pages), scan(PAGES)]) == []


def test_pages_that_begin_elsewhere_in_a_copy_are_not_missing() -> None:
    halves = [part for page in PAGES[10:14] for part in (page[: len(page) // 2], page[len(page) // 2 :])]
    assert faults(PAGES, [*PAGES[:10], *halves, *PAGES[14:]]) == []


def test_page_numbers_tell_a_plate_from_a_leaf() -> None:
    """A copy has two pages more: with numbers that count on they are missing, without they are plates."""
    numbered: list[str | None] = [str(number) for number in range(1, len(PAGES) + 1)]
    lacking, other = PAGES[:12] + PAGES[14:], numbered[:12] + numbered[14:]
    assert find_faults(scan(lacking, other), [scan(PAGES, numbered)])[0].confidence > 0.99
    plates = [*numbered[:12], None, None, *numbered[12:-2]]
    assert find_faults(scan(lacking, numbered[:-2]), [scan(PAGES, plates)]) == []


def test_what_lacks_at_an_end_is_missing_where_page_numbers_count_it() -> None:
    pages, numbered = PAGES[:24], [str(number) for number in range(1, 25)]
    copy = scan(pages, numbered)
    [first] = find_faults(scan(pages[2:], numbered[2:]), [copy])
    [last] = find_faults(scan(pages[:-2], numbered[:-2]), [copy])
    assert (first.between, first.copies[0].pages) == ((-1, 0), (0, 2))
    assert (last.between, last.labels) == ((21, 22), ["23", "24"])
    assert find_faults(scan(pages[:-2]), [scan(pages)]) == []


def test_a_scan_is_in_order_where_one_copy_is_not_and_another_is() -> None:
    assert faults(PAGES, [*PAGES[:4], *PAGES[6:20], *PAGES[4:6], *PAGES[20:]], PAGES) == []


NUMBERED = [f"{number} THE CASTLE\n{page}" for number, page in enumerate(PAGES, start=1)]


def swapped(pages: list[str]) -> list[str]:
    """The pages with the halves of each spread swapped."""
    return [page for start in range(0, len(pages), 2) for page in pages[start : start + 2][::-1]]


@pytest.mark.parametrize(
    ("turned", "told"),
    [
        (NUMBERED[::-1], "from the back: its page numbers"),
        (swapped(NUMBERED), "halves of its spreads swapped: its page numbers"),
        ([*PAGES[::-1]], "from the back: the order of copies"),
        (swapped(PAGES), "halves of its spreads swapped: the order of copies"),
    ],
)
def test_a_scan_in_another_order_is_told_as_a_whole_and_puts_no_other_out_of_place(
    turned: list[str], told: str
) -> None:
    good = NUMBERED if "numbers" in told else PAGES
    [fault] = faults(turned, good, good)
    assert (fault.kind, fault.pages, fault.between) == ("misplaced", (0, len(turned)), None)
    assert told in fault.because
    assert faults(good, turned, good) == []
    assert [each.kind for each in faults(good[:12] + good[14:], turned)] == ["missing"]


def test_faults_of_a_scan_from_the_back_are_told_by_its_own_pages() -> None:
    lacking = (NUMBERED[:12] + NUMBERED[14:])[::-1]
    missing, whole = sorted(
        faults(lacking, NUMBERED[::-1], NUMBERED), key=lambda fault: fault.kind != "missing"
    )
    assert (whole.kind, whole.pages) == ("misplaced", (0, len(lacking)))
    assert (missing.kind, missing.between) == ("missing", (len(lacking) - 13, len(lacking) - 12))
    first = len(PAGES) - 14
    assert {each.pages for each in missing.copies} == {(12, 14), (first, first + 2)}


def test_one_of_two_scans_is_in_another_order_and_nothing_says_which() -> None:
    assert faults(PAGES, PAGES[::-1]) == []


@pytest.mark.parametrize("order", [1, -1])
def test_page_numbers_decide_which_of_two_scans_is_out_of_order(order: int) -> None:
    """One has the second half of its pages first, the other not."""
    halves = [*NUMBERED[20:], *NUMBERED[:20]]
    scans = [halves, NUMBERED][::order]
    assert [fault.kind for fault in faults(*scans)] == (["misplaced"] if order > 0 else [])
