"""The best copy: complete before clean, clean before old."""

from uuid import UUID

from app.core.clusters.best_copy import Copy, best_copy, complete_copies

A, B, C, D = (UUID(int=number) for number in range(1, 5))


def best(lengths: dict[UUID, int], agreement: dict[UUID, float]) -> UUID:
    return best_copy(complete_copies([Copy(*each) for each in lengths.items()]), agreement).book_id


def test_a_lone_copy_is_the_best() -> None:
    best = best_copy(complete_copies([Copy(A, 10)]), {})
    assert (best.book_id, best.because) == (A, "It is the only copy of its text.")


def test_a_copy_with_pages_missing_is_not_kept_however_clean() -> None:
    assert best({A: 80_000, B: 100_000, C: 99_000}, {A: 0.99, B: 0.8, C: 0.9}) == C


def test_matter_that_one_copy_alone_has_does_not_make_it_fuller() -> None:
    assert best({A: 100_000, B: 99_000, C: 120_000}, {A: 0.9, B: 0.8, C: 0.99}) == A


def test_of_two_copies_that_differ_in_length_the_fuller_one_is_kept() -> None:
    best = best_copy(complete_copies([Copy(A, 85_000), Copy(B, 100_000)]), {A: 0.9, B: 0.9})
    assert best.book_id == B
    assert best.because == "It alone is complete: 100,000 words, where the fullest of 2 copies has 100,000."


def test_of_equally_good_copies_the_oldest_is_kept() -> None:
    assert best({C: 100_000, B: 99_000, A: 98_000}, {A: 0.901, B: 0.899, C: 0.9}) == A
    assert best({B: 100_000, A: 100_000}, {}) == A
