"""Matching pages: found beside insertions, losses, doubles, moves and resetting, and alike both ways."""

import tracemalloc

import numpy as np
import pytest

from bookprint_core.errors import RecipeMismatch
from bookprint_core.model import PageSignatures
from bookprint_core.recipe import DEFAULT_PAGES
from bookprint_core.relations import alignment as alignment_module
from bookprint_core.relations.alignment import MOST_CELLS, Alignment, align
from tests.core.printed_pages import BLANK, PLATE, Pages, book, matches, read, set_anew, signed

WHOLE = book(60, 1)
OTHER = book(60, 2)
RATES = (0.0, 0.02, 0.10)


def aligned(left: Pages, right: Pages, rate: float = 0.02) -> Alignment:
    return align(signed(read(left, rate, 3)), signed(read(right, rate, 4)))


def as_lists(alignment: Alignment) -> tuple[object, ...]:
    return (
        [
            (run.left, run.right, run.pairs.tolist(), run.similarities.tolist(), run.same_page.tolist())
            for run in alignment.runs
        ],
        *(pages.tolist() for pages in (*alignment.coverage, *alignment.lengths)),
        alignment.typical_coverage,
    )


def mirrored(alignment: Alignment) -> tuple[object, ...]:
    runs, left, right, left_lengths, right_lengths, typical = as_lists(alignment)
    turned = sorted((b, a, [[j, i] for i, j in pairs], s, g) for a, b, pairs, s, g in runs)
    return turned, right, left, right_lengths, left_lengths, typical


@pytest.mark.parametrize("rate", RATES)
def test_pages_of_two_readings_match_one_to_one(rate: float) -> None:
    alignment = aligned(WHOLE, WHOLE, rate)
    assert matches(alignment) == [(page, page) for page in range(60)]
    assert [(run.left, run.right) for run in alignment.runs] == [((0, 60), (0, 60))]
    assert alignment.coverage[0].mean() > 0.98
    assert (alignment.runs[0].same_page >= 0.75).all()


@pytest.mark.parametrize("rate", RATES)
def test_books_of_other_text_have_no_match(rate: float) -> None:
    alignment = aligned(WHOLE, OTHER, rate)
    assert alignment.runs == ()
    assert alignment.coverage[0].max() == 0


def test_inserted_plates_and_blank_leaves_match_nothing() -> None:
    plated = list(WHOLE)
    for place in (50, 30, 10):
        plated[place:place] = [PLATE, BLANK]
    alignment = aligned(WHOLE, plated)
    assert matches(alignment) == [
        (page, page + 2 * sum(page >= at for at in (10, 30, 50))) for page in range(60)
    ]
    assert [page for page in range(66) if alignment.lengths[1][page] == 0] == [10, 11, 32, 33, 54, 55]


@pytest.mark.parametrize("lost", [(0, 2), (28, 32), (20, 21), (58, 60), (2, 4), (56, 59)])
def test_missing_leaves_leave_the_others_matched(lost: tuple[int, int]) -> None:
    first, end = lost
    copy = WHOLE[:first] + WHOLE[end:]
    kept = [page for page in range(60) if not first <= page < end]
    assert matches(aligned(WHOLE, copy)) == list(zip(kept, range(len(copy)), strict=True))


def test_page_scanned_twice_counts_once() -> None:
    again = read(WHOLE[20:22], 0.02, 9)
    alignment = aligned(WHOLE, WHOLE[:22] + again + WHOLE[22:])
    assert matches(alignment) == [(page, page + 2 * (page >= 22)) for page in range(60)]
    assert alignment.lengths[1][22:24].tolist() == [0, 0]
    assert np.count_nonzero(alignment.lengths[1]) == 60


def test_sections_bound_in_another_order_make_runs_of_their_own() -> None:
    alignment = aligned(WHOLE, WHOLE[40:] + WHOLE[20:40] + WHOLE[:20])
    spans = [(run.left, run.right) for run in alignment.runs]
    assert spans == [((0, 20), (40, 60)), ((20, 40), (20, 40)), ((40, 60), (0, 20))]


def test_part_is_found_where_it_stands() -> None:
    (run,) = aligned(WHOLE, OTHER[:5] + WHOLE[30:45] + OTHER[5:9]).runs
    assert (run.left, run.right) == ((30, 45), (5, 20))


@pytest.mark.parametrize("words", [100, 140, 260, 500])
@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_text_set_anew_is_found_whole_across_other_breaks(words: int, rate: float) -> None:
    alignment = aligned(WHOLE, set_anew(WHOLE, words), rate)
    assert min(share.mean() for share in alignment.coverage) > 0.95
    agreement = np.concatenate([run.same_page for run in alignment.runs])
    assert np.mean(agreement >= 0.75) < 0.4


@pytest.mark.parametrize(
    "right", [WHOLE, OTHER, WHOLE[20:50], set_anew(WHOLE, 140), WHOLE[40:] + WHOLE[:30], [PLATE, BLANK]]
)
def test_books_in_the_other_order_align_alike(right: Pages) -> None:
    first, second = signed(read(WHOLE, 0.03, 3)), signed(read(right, 0.03, 4))
    assert as_lists(align(second, first)) == mirrored(align(first, second))


@pytest.mark.parametrize("pages", [[PLATE], [PLATE, *[BLANK] * 20], WHOLE[:1], [PLATE, *WHOLE[1:3]]])
def test_books_of_few_or_blank_pages_align(pages: Pages) -> None:
    alignment = align(signed(pages), signed(WHOLE))
    filled = [page for page in range(len(pages)) if len(pages[page]) > 100]
    assert matches(alignment) == [(page, page) for page in filled]


def test_pages_of_another_recipe_are_refused() -> None:
    pages = signed(WHOLE[:2])
    with pytest.raises(RecipeMismatch):
        align(pages, PageSignatures("another", "page", pages.values, pages.lengths))


@pytest.mark.parametrize(
    ("size", "cells", "most_bytes"),
    [(1_200, 250_000, 1_500_000), pytest.param(12_000, MOST_CELLS, 90_000_000, marks=pytest.mark.slow)],
)
def test_very_long_books_align_in_bounded_memory_and_to_the_page(
    size: int, cells: int, most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alignment_module, "MOST_CELLS", cells)
    rng = np.random.default_rng(1)
    start = size * 7 // 12
    values = rng.integers(1, 256, (size, 128)).astype(np.uint8)
    again = np.where(rng.random(values.shape) < 0.6, values, rng.integers(1, 256, values.shape)).astype(
        np.uint8
    )
    lengths = np.full(size, 1_800, dtype=np.uint16)
    left = PageSignatures(DEFAULT_PAGES, "page", values, lengths)
    right = PageSignatures(DEFAULT_PAGES, "page", np.concatenate([again[start:], again[:start]]), lengths)
    tracemalloc.start()
    alignment = align(left, right)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < most_bytes
    assert [(run.left, run.right) for run in alignment.runs] == [
        ((0, start), (size - start, size)),
        ((start, size), (0, size - start)),
    ]
    assert sorted(matches(alignment)) == [(page, (page - start) % size) for page in range(size)]
