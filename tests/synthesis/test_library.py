from itertools import islice

from app.synthesis.library import SyntheticBook, paginate, synthetic_library
from app.synthesis.shelf import readable, shelf

SMALL = (6_000, 9_000)


def library(seed: int, works: int, sharing: float = 0.1) -> list[SyntheticBook]:
    return list(synthetic_library(seed, works, copies=(1, 3), characters=SMALL, sharing=sharing))


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


def test_pages_hold_the_whole_text_and_break_between_words() -> None:
    text = " ".join(f"word{number}" for number in range(3000))
    pages = paginate(text, 500)
    assert " ".join(pages) == text
    assert max(map(len, pages)) <= 500


def test_titles_of_the_demo_are_unique_and_shared_by_copies() -> None:
    books = [readable(book) for book in synthetic_library(1, 30, (1, 1), (2_000, 2_000))]
    titles = {book.work: book.title for book in books}
    assert {(book.work, book.title) for book in books} == set(titles.items())
    assert len(set(titles.values())) == len(titles)


def test_the_shelf_has_a_wrong_text_under_the_record_of_another_book() -> None:
    books = {book.id: book for book in shelf(1)}
    wrong, right = books["winter-wrong"], books["winter"]
    assert (wrong.title, wrong.isbns, len(wrong.pages)) == (
        right.title,
        right.isbns,
        len(books["ferry"].pages),
    )
    assert len(books["road-lacking"].pages) == len(books["road"].pages) - 2
