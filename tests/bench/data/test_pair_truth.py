from itertools import pairwise

import numpy as np
import pytest

from bench.data.pair_truth import Direction, Kind, Leaf, Piece, Truth, truth

PAGE = 100
LETTERS = dict.fromkeys(range(4), np.ones(200 * PAGE, dtype=np.bool_))
BLANK = Leaf()
SAME: Kind = "SAME_PAGINATION"
DIFFERENT: Kind = "DIFFERENT_PAGINATION"
SUBSET: Kind = "CONTIGUOUS_SUBSET"
OVERLAPPING: Kind = "OVERLAPPING_TEXT"


def pages(first: int, end: int, source: int = 0, size: int = PAGE) -> list[Leaf]:
    """Pages of `size` letters, from page `first` of the source to before page `end`."""
    starts = range(first * PAGE, end * PAGE, size)
    return [Leaf((Piece(source, start, min(start + size, end * PAGE)),)) for start in starts]


def truth_of(left: list[Leaf], right: list[Leaf]) -> Truth:
    return truth(left, right, LETTERS)


@pytest.mark.parametrize(("extra", "kind"), [(19, DIFFERENT), (21, OVERLAPPING)])
def test_reflowed_text_may_have_a_fifth_of_other_matter(extra: int, kind: Kind) -> None:
    body = pages(0, 100 - extra, size=70)
    assert truth_of(pages(0, 100 - extra), body + pages(0, extra, source=1)).kind == kind


@pytest.mark.parametrize(("reset", "kind"), [(19, SAME), (21, DIFFERENT)])
def test_a_fifth_of_the_pages_may_be_set_anew(reset: int, kind: Kind) -> None:
    cuts = [0, *range(PAGE // 2, reset * PAGE, PAGE), reset * PAGE]
    anew = [Leaf((Piece(0, start, end),)) for start, end in pairwise(cuts)]
    assert truth_of(pages(0, 100), anew + pages(reset, 100)).kind == kind


@pytest.mark.parametrize(
    ("part", "own", "kind"),
    [(79, 0, SUBSET), (80, 0, SAME), (70, 7, SUBSET), (70, 8, OVERLAPPING), (5, 0, SUBSET)],
)
def test_a_part_is_a_subset_below_four_fifths_with_at_most_a_tenth_of_its_own(
    part: int, own: int, kind: Kind
) -> None:
    volume = pages(0, own, source=1) + pages(10, 10 + part)
    assert truth_of(pages(0, 100), volume).kind == kind


@pytest.mark.parametrize("direction", ["contains", "contained_in"])
def test_direction_is_that_of_the_left_book(direction: Direction) -> None:
    books = (pages(0, 100), pages(20, 60))
    fact = truth_of(*(books if direction == "contains" else books[::-1]))
    assert (fact.kind, fact.direction) == (SUBSET, direction)
    assert sorted(fact.longest_run) == [0.4, 1.0]


def test_pages_half_of_whose_text_was_revised_do_not_match() -> None:
    issue = pages(0, 100)
    for page in range(0, 100, 3):
        start = page * PAGE
        issue[page] = Leaf((Piece(0, start, start + PAGE // 2), Piece(1, start, start + PAGE // 2)))
    fact = truth_of(pages(0, 100), issue)
    assert fact.kind == OVERLAPPING
    assert fact.pages_matched == (0.66, 0.66)
    assert fact.text_shared == (0.83, 0.83)


def test_blank_pages_and_pages_scanned_twice_count_for_nothing() -> None:
    again = [leaf._replace(rescan=True) for leaf in pages(0, 50)]
    right = [BLANK] * 40 + pages(0, 50) + again + pages(50, 100)
    fact = truth_of(pages(0, 100), right)
    assert fact.kind == SAME
    assert fact.pages_matched == (1, 1)
    assert fact.page_map[:2] == ((0, 40), (1, 41))
    assert fact.page_map[-1] == (99, 189)


def test_books_with_one_page_in_common_are_unrelated() -> None:
    advertisement = pages(0, 1, source=2)
    fact = truth_of(pages(0, 99) + advertisement, pages(0, 99, source=1) + advertisement)
    assert (fact.kind, fact.direction, fact.text_shared) == ("UNRELATED", None, (0.01, 0.01))
