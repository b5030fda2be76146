"""With which candidates a book is compared, where there are very many."""

from uuid import UUID

from bookprint_core.matching.candidates import CandidateBook, SelectionLimits, select_candidates

LIMITS = SelectionLimits(nearest=2, representatives=2)
ENTRY = 100


def book(entry_id: int, cluster: int | None = None, **flags: bool) -> CandidateBook:
    given = {"related": False, "waiting": False, "decided": False} | flags
    return CandidateBook(
        UUID(int=entry_id), entry_id, None if cluster is None else UUID(int=cluster), **given
    )


def compared(*candidates: CandidateBook) -> tuple[list[int], int]:
    choice = select_candidates(candidates, ENTRY, LIMITS)
    return [chosen.entry_id for chosen in choice.compared], choice.passed_over


def test_the_nearest_and_one_of_each_further_cluster_are_compared() -> None:
    in_one, in_two = [book(n, cluster=1) for n in (3, 4)], [book(n, cluster=2) for n in (5, 6)]
    assert compared(book(1), book(2), *in_one, *in_two) == ([1, 2, 3, 5], 2)


def test_a_cluster_that_one_of_the_nearest_is_in_needs_no_other_representative() -> None:
    assert compared(book(1, cluster=1), book(2), book(3, cluster=1), book(4)) == ([1, 2, 4], 1)


def test_representatives_are_bounded_too() -> None:
    assert compared(*(book(n) for n in range(1, 8))) == ([1, 2, 3, 4], 3)


def test_what_people_decided_on_always_counts() -> None:
    decided = [book(n, decided=True) for n in (7, 8, 9)]
    assert compared(book(1), book(2), *decided) == ([7, 8, 9, 1, 2], 0)


def test_what_is_related_already_takes_a_place_but_no_time() -> None:
    assert compared(book(1, related=True), book(2), book(3, cluster=1, related=True)) == ([2], 0)


def test_a_later_book_beyond_the_nearest_is_left_to_its_own_job_until_that_has_begun() -> None:
    earlier, later = book(ENTRY - 1, waiting=True), book(ENTRY + 1, waiting=True)
    assert compared(book(1), book(2), later, earlier) == ([1, 2, ENTRY - 1], 0)
    assert compared(book(1), book(2), book(ENTRY + 1), book(3)) == ([1, 2, ENTRY + 1, 3], 0)
