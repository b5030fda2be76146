"""Which books are kept: of copies, and of parts and wholes."""

import numpy as np
import pytest

from bookprint_corpus.dedupe.sections import longest_copies, oldest_together, with_parts


def places(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, dtype=np.int64)


def test_the_longest_copy_is_kept_and_the_oldest_of_equal_ones() -> None:
    founders, words = places(0, 1, 0, 1, 0, 5), places(5, 7, 9, 7, 9, 1)
    assert longest_copies(founders, words).tolist() == [2, 1, 2, 1, 2, 5]


def test_a_part_goes_with_the_longest_book_that_has_it() -> None:
    # 0 is part of 1 and of 2; 3 stands apart.
    kept = with_parts(places(0, 1, 2, 3), places(10, 20, 30, 40), places(0, 0), places(1, 2))
    assert kept.tolist() == [2, 1, 2, 3]


def test_parts_of_parts_go_with_the_whole() -> None:
    kept = with_parts(places(0, 1, 2), places(30, 20, 10), places(2, 1), places(1, 0))
    assert kept.tolist() == [0, 0, 0]
    assert oldest_together(kept).tolist() == [0, 0, 0]


def test_a_relation_stands_for_all_copies_of_both_books() -> None:
    # 0 and 1 are copies, 2 and 3 are copies; the copy that is left out, 0, is part of the one left out, 3.
    kept = with_parts(places(1, 1, 2, 2), places(10, 11, 40, 39), places(0), places(3))
    assert kept.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(("words", "expected"), [((10, 10), [0, 0]), ((10, 11), [1, 1])])
def test_of_books_that_contain_each_other_one_stays(words: tuple[int, int], expected: list[int]) -> None:
    kept = with_parts(places(0, 1), places(*words), places(0, 1), places(1, 0))
    assert kept.tolist() == expected


def test_without_relations_every_book_is_kept() -> None:
    nothing = places()
    assert with_parts(places(0, 1), places(3, 4), nothing, nothing).tolist() == [0, 1]
    assert longest_copies(nothing, nothing).tolist() == []
