"""The best copy: complete before clean, and of equal ones the same one everywhere."""

from itertools import permutations
from uuid import UUID

import pytest

from bookprint_core.clusters.best_copy import MOST_COMPARED, Copy, best_copy, complete_copies

A, B, C, D = (UUID(int=number) for number in range(1, 5))


def best(lengths: dict[UUID, int], agreement: dict[UUID, float]) -> UUID:
    return best_copy(complete_copies([known(*each) for each in lengths.items()]), agreement).book_id


def known(
    book: UUID, length: int, external_id: str | None = None, words: int = 10_000, single: int | None = None
) -> Copy:
    return Copy(book, words, length, single, external_id, bytes(reversed(book.bytes)))


def test_a_lone_copy_is_the_best() -> None:
    best = best_copy(complete_copies([known(A, 10)]), {})
    assert (best.book_id, best.because) == (A, "It is the only copy of its text.")


def test_a_copy_with_pages_missing_is_not_kept_however_clean() -> None:
    assert best({A: 80_000, B: 100_000, C: 99_000}, {A: 0.99, B: 0.8, C: 0.9}) == C


def test_matter_that_one_copy_alone_has_does_not_make_it_fuller() -> None:
    assert best({A: 100_000, B: 99_000, C: 120_000}, {A: 0.9, B: 0.8, C: 0.99}) == A


def test_of_two_copies_that_differ_in_length_the_fuller_one_is_kept() -> None:
    best = best_copy(complete_copies([known(A, 85_000), known(B, 100_000)]), {A: 0.9, B: 0.9})
    assert best.book_id == B
    assert best.because == (
        "It is the only complete one of 2 copies. It has 100,000 characters, and the longest copy 100,000."
    )


def test_of_copies_that_nothing_tells_apart_the_choice_does_not_depend_on_their_order() -> None:
    by_name = [known(C, 98_000, "shelf-1"), known(A, 100_000, "shelf-2"), known(B, 99_000)]
    agreement = {A: 0.901, B: 0.899, C: 0.9}
    for copies in permutations(by_name):
        best = best_copy(complete_copies(copies), agreement)
        assert best.book_id == C
        assert best.because == (
            "The 3 best copies are complete and equally good. The first by external id was chosen. It has "
            "98,000 characters, and the longest copy 100,000."
        )
    for copies in permutations([known(A, 99_000), known(B, 98_000), known(C, 97_000)]):
        best = best_copy(complete_copies(copies), {A: 0.91, B: 0.95, C: 0.95})
        assert best.book_id == B
        assert "The first by content key was chosen." in best.because


def test_of_two_copies_the_one_with_fewer_single_words_is_the_cleaner() -> None:
    copies = [known(A, 100_000, "shelf-1", single=1_100), known(B, 99_000, "shelf-2", single=800)]
    for some in permutations(copies):
        best = best_copy(complete_copies(some), {A: 0.9, B: 0.9})
        assert best.book_id == B
        assert best.because == (
            "Fewest of its words occur only once, as misread words do: 8.0%; the next best copy has 11.0%. "
            "It has 99,000 characters, and the longest copy 100,000."
        )


def test_it_is_their_share_that_counts() -> None:
    copies = [known(A, 100_000, words=11_000, single=1_050), known(B, 99_000, words=9_000, single=1_000)]
    assert best_copy(complete_copies(copies), {}).book_id == A


def test_agreement_comes_before_single_words() -> None:
    copies = [known(A, 100, single=900), known(B, 100, single=500), known(C, 100, "shelf-1", single=900)]
    best = best_copy(complete_copies(copies), {A: 0.95, B: 0.9, C: 0.95})
    assert best.book_id == C
    assert best.because.startswith("The 2 best copies are complete and equally good. The first by external")
    copies[0] = known(A, 100, single=500)
    best = best_copy(complete_copies(copies), {A: 0.95, B: 0.9, C: 0.95})
    assert best.book_id == A
    assert best.because.startswith("Fewest of its words occur only once")


@pytest.mark.parametrize("single", [1_020, 980, None])
def test_a_difference_that_chance_explains_tells_nothing(single: int | None) -> None:
    copies = [known(A, 100, "shelf-1", single=1_000), known(B, 100, "shelf-2", single=single)]
    best = best_copy(complete_copies(copies), {})
    assert best.book_id == A
    assert best.because.startswith("The 2 best copies are complete and equally good. The first by external")


def test_words_that_were_split_make_no_copy_fuller() -> None:
    copies = [known(A, 100_000, words=17_000, single=1_000), known(B, 102_000, words=18_500, single=4_000)]
    assert best_copy(complete_copies(copies), {}).book_id == A


def test_which_copies_are_weighed_does_not_depend_on_their_order() -> None:
    copies = [known(UUID(int=number), 100, f"shelf-{number:03}") for number in range(MOST_COMPARED + 20)]
    expected = [copy.book_id for copy in copies[:MOST_COMPARED]]
    for some in (copies, copies[::-1]):
        assert [copy.book_id for copy in complete_copies(some).copies] == expected


def test_of_related_books_the_copies_of_the_fullest_compete() -> None:
    books = [known(A, 99_000), known(B, 100_000), known(C, 50_000), known(D, 100_000, "shelf-1")]
    texts = {A: A, B: B, C: B, D: A}
    for some in permutations(books):
        best = best_copy(complete_copies(some, texts), {A: 0.9, B: 0.99, D: 0.8})
        assert best.book_id == A
        assert best.because == (
            "Among 4 related books, the longest one has this text. It is the best of 2 complete copies: its "
            "pages agree best with the other copies (90%). It has 99,000 characters, and the longest copy "
            "100,000."
        )
