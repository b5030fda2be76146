"""The master copy: votes counted by hand, and copies of one text that give a better one together."""

import pytest
from rapidfuzz.distance import Levenshtein

from bookprint_core.clusters.master_copy import (
    MOST_CHARACTERS,
    MOST_MISREAD,
    FramedPage,
    MasterCopy,
    PageReading,
    master_copy,
    page_reading,
    vote,
)
from bookprint_core.model import Content
from bookprint_core.text.content import content_from_pages, content_from_text
from tests.core.printed_pages import BLANK, Pages, book, read, set_anew

ALL = range(1_000)
PAGES = 12


@pytest.fixture(scope="module")
def truth() -> Pages:
    """What is printed, in lines."""
    return [page.replace(" t", "\nt") for page in book(PAGES, seed=3)]


def scans(pages: Pages, count: int, rate: float = 0.03, first: int = 0) -> list[Content]:
    """Copies read with so many wrong characters."""
    return [content_from_pages(read(pages, rate, seed)) for seed in range(first, first + count)]


def errors(pages: Pages, truth: Pages) -> float:
    """Character error rate, blanks being equal."""
    spaced = [
        (" ".join(page.split()), " ".join(true.split())) for page, true in zip(pages, truth, strict=True)
    ]
    return sum(Levenshtein.distance(*pair) for pair in spaced) / sum(len(true) for _, true in spaced)


def texts(copy: MasterCopy) -> Pages:
    return [page.text for page in copy.pages]


def voted(best: str, *others: str) -> str:
    """A page by itself, put to the vote."""
    readings = [page_reading(FramedPage(best, "", ""), other) for other in others]
    outcome = vote(best, [reading for reading in readings if reading is not None])
    pairs = zip(outcome.insertions, [*outcome.characters, ""], strict=True)
    return "".join(insertion + character for insertion, character in pairs)


@pytest.mark.parametrize(
    ("best", "others", "outcome"),
    [
        ("the salt road", ["the salt road"], "the salt road"),
        ("thc salt road", ["the salt road"], "thc salt road"),  # one against one: the best copy's stays
        ("thc salt road", ["the salt road", "the salt roed"], "the salt road"),
        ("thc salt road", ["the salt road", "tho salt road"], "thc salt road"),  # three readings
        ("the salt road", ["thc salt road", "thc salt road", "the salt road"], "the salt road"),  # two each
        ("the sa lt road", ["the salt road", "the salt road"], "the salt road"),
        ("the saltroad", ["the salt road", "the salt road"], "the salt road"),
        ("the saltroad", ["the salt road", "the saltroad"], "the saltroad"),
        ("the road", ["the salt road", "the salt road"], "the salt road"),
        ("the road", ["the salt road", "the sa1t road"], "the sat road"),  # what both insert
        ("the salt road", ["the road", "the road"], "the road"),
        ("tlie salt road", ["the salt road", "the salt road"], "the salt road"),
    ],
)
def test_the_reading_that_most_copies_share_is_printed(best: str, others: list[str], outcome: str) -> None:
    assert voted(best, *others) == outcome


def test_the_agreement_is_the_mean_share_of_copies_that_have_what_is_printed() -> None:
    readings = [
        page_reading(FramedPage("abcd efghi", "", ""), other) for other in ("abcd efghx", "abcd efghi")
    ]
    assert vote("abcd efghi", [each for each in readings if each]).agreement == pytest.approx(
        (9 + 2 / 3) / 10
    )


def test_a_copy_has_no_reading_of_another_text() -> None:
    assert page_reading(FramedPage("abcdefghij", "", ""), "klmnopqrst") is None


def test_what_a_copy_lacks_or_adds_at_length_is_no_reading(truth: Pages) -> None:
    page = " ".join(truth[0].split())
    middle, more = len(page) // 2, " ".join(truth[1].split())[: MOST_MISREAD + 1]
    half = page_reading(FramedPage(page, "", ""), page[:middle])
    longer = page_reading(FramedPage(page, "", ""), page[:middle] + more + page[middle:])
    assert isinstance(half, PageReading)
    assert isinstance(longer, PageReading)
    assert vote(page, [half, half]).characters == list(page)
    assert not longer.insertions


def test_three_scans_give_a_text_nearer_to_what_is_printed_than_each(truth: Pages) -> None:
    best, *others = copies = scans(truth, 3)
    copy = master_copy(best, others, ALL)
    of_each = [errors(content.text.split("\f"), truth) for content in copies]
    assert errors(texts(copy), truth) < min(of_each) / 4
    assert copy.matched == [PAGES, PAGES]
    assert {page.copies for page in copy.pages} == {3}
    assert all(0.95 < page.agreement < 1 for page in copy.pages if page.agreement)
    assert all(0.05 < page.changed < 0.3 for page in copy.pages)


def test_two_scans_leave_the_best_copy_as_it_is(truth: Pages) -> None:
    best, other = scans(truth, 2)
    copy = master_copy(best, [other], ALL)
    assert texts(copy) == best.text.split("\f")
    assert {(page.copies, page.changed) for page in copy.pages} == {(2, 0.0)}


def test_of_two_copies_of_a_page_the_reading_of_the_cleaner_one_counts(truth: Pages) -> None:
    best = content_from_pages(read(truth, 0.05, 0))
    cleaner = content_from_pages(read(truth[:8], 0.005, 1))
    copy = master_copy(best, [cleaner], ALL, cleaner=[0])
    assert texts(copy)[8:] == best.text.split("\f")[8:]
    assert errors(texts(copy)[:8], truth[:8]) <= errors(cleaner.text.split("\f"), truth[:8]) * 1.1
    third = content_from_pages(read(truth, 0.05, 2))
    assert (
        texts(master_copy(best, [cleaner, third], ALL, cleaner=[0]))[:8]
        == (texts(master_copy(best, [cleaner, third], ALL))[:8])
    )


def test_the_lines_of_the_best_copy_are_kept(truth: Pages) -> None:
    best = content_from_pages([f"\n {page}\n\n" for page in truth])
    others = [content_from_pages([" ".join(page.split()) for page in truth])] * 2
    assert texts(master_copy(best, others, ALL)) == best.text.split("\f")


def test_copies_of_another_pagination_vote_without_their_running_heads(truth: Pages) -> None:
    reset = [f"{page} THE HISTORY OF PAPER\n{text}" for page, text in enumerate(set_anew(truth, 130))]
    [best] = scans(truth, 1)
    copy = master_copy(best, scans(reset, 2, first=1), ALL)
    assert errors(texts(copy), truth) < errors(best.text.split("\f"), truth) / 3
    assert not any("HISTORY" in page.text for page in copy.pages)


def test_copies_without_pages_vote(truth: Pages) -> None:
    [best] = scans(truth, 1)
    others = [content_from_text(" ".join(read(truth, 0.03, seed))) for seed in (1, 2)]
    copy = master_copy(best, others, ALL)
    assert errors(texts(copy), truth) < errors(best.text.split("\f"), truth) / 4


def test_a_best_copy_without_pages_is_answered_in_windows(truth: Pages) -> None:
    best = content_from_text("\n".join(read(truth, 0.03, 0)))
    copy = master_copy(best, scans(truth, 2, first=1), ALL)
    assert (copy.unit, copy.page_count) == ("window", len(copy.pages))
    whole = ["\n".join(truth)]
    assert errors(["".join(texts(copy))], whole) < errors([best.text], whole) / 4


def test_a_part_votes_on_its_pages_alone(truth: Pages) -> None:
    [best] = scans(truth, 1)
    copy = master_copy(best, scans(truth[4:8], 2, first=1), ALL)
    assert [page.copies for page in copy.pages] == [1] * 4 + [3] * 4 + [1] * 4
    assert texts(copy)[:4] == best.text.split("\f")[:4]
    assert [page.agreement is None for page in copy.pages] == [True] * 4 + [False] * 4 + [True] * 4


def test_another_text_has_no_vote(truth: Pages) -> None:
    [best] = scans(truth, 1)
    copy = master_copy(best, [content_from_pages(book(PAGES, seed=9))] * 3, ALL)
    assert texts(copy) == best.text.split("\f")
    assert copy.matched == [0, 0, 0]


def test_blank_and_overlong_pages_are_printed_as_they_are(truth: Pages) -> None:
    pages = [*truth[:3], BLANK, *truth[3:5], " ".join([*truth] * 20)[: MOST_CHARACTERS + 500]]
    best, *others = scans(pages, 3)
    copy = master_copy(best, others, ALL)
    assert [page.copies for page in copy.pages] == [3, 3, 3, 1, 3, 1, 1]  # nor is the page before it read
    assert [texts(copy)[page] for page in (3, 6)] == [best.text.split("\f")[page] for page in (3, 6)]


def test_the_pages_asked_for_are_answered(truth: Pages) -> None:
    best, *others = scans(truth, 3)
    some = master_copy(best, others, range(5, 8))
    assert [page.index for page in some.pages] == [5, 6, 7]
    assert some.pages == master_copy(best, others, ALL).pages[5:8]
    assert master_copy(best, others, range(10, 30)).page_count == PAGES
    assert [page.index for page in master_copy(best, others, range(10, 30)).pages] == [10, 11]
    assert not master_copy(best, others, range(50, 60)).pages
