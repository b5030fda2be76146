from itertools import islice

import numpy as np

from app.synthesis.library import VOLUMES, SyntheticBook, paginate, synthetic_library
from bookprint_core.model import PAGE_BREAK

SMALL = (6_000, 9_000)


def library(seed: int, works: int, sharing: float = 0.1) -> list[SyntheticBook]:
    return list(synthetic_library(seed, works, copies=(1, 3), characters=SMALL, sharing=sharing))


def phrases(book: SyntheticBook) -> set[tuple[str, ...]]:
    words = book.text.split()
    return set(zip(*(words[start:] for start in range(5)), strict=False))


def test_one_seed_gives_one_library() -> None:
    assert library(5, 3) == library(5, 3)
    assert library(5, 3) != library(6, 3)


def test_a_work_is_the_same_in_a_larger_library() -> None:
    small = library(5, 2)
    assert list(islice(synthetic_library(5, 9, copies=(1, 3), characters=SMALL), len(small))) == small


def test_ids_are_unique_and_canonical_books_are_clean() -> None:
    books = library(1, 6)
    assert len({book.id for book in books}) == len(books)
    canonical = [book for book in books if book.id.endswith("c00")]
    assert [book.work for book in canonical] == list(range(6))
    assert all(book.error_rate == 0 and book.edited == 0 for book in canonical)
    assert all(SMALL[0] * 0.98 <= len(book.text) <= SMALL[1] for book in canonical)


def test_volumes_of_one_author_share_the_author_but_hardly_any_phrase() -> None:
    books = [book for book in library(2, VOLUMES, sharing=0) if book.error_rate == 0]
    assert len({book.author for book in books}) == 1
    first, second, *_ = map(phrases, books)
    assert len(first & second) < 0.01 * len(first)


def test_some_works_repeat_a_chapter_of_an_earlier_one() -> None:
    books = [book for book in library(3, 8, sharing=1.0) if book.error_rate == 0]
    repeating = books[5]
    assert repeating.shares_chapter_with is not None
    source = books[repeating.shares_chapter_with]
    assert len(phrases(repeating) & phrases(source)) > 0.05 * len(phrases(repeating))


def test_pages_hold_the_whole_text_and_break_between_words() -> None:
    text = " ".join(f"word{number}" for number in range(3000))
    pages = paginate(text, 500)
    assert " ".join(pages) == text
    assert max(map(len, pages)) <= 500


def test_a_text_without_blanks_is_cut_into_pages_all_the_same() -> None:
    assert paginate("x" * 1001, 500) == ("x" * 500, "x" * 500, "x")


def test_copies_have_page_breaks_of_their_own() -> None:
    canonical, copy, *_ = library(4, 1)
    assert np.median([len(page) for page in canonical.pages]) != np.median([len(page) for page in copy.pages])
    assert copy.text.count(PAGE_BREAK) == len(copy.pages) - 1
