"""The kernels that compare pages: compiled and numpy ones agree, and compute what they should."""

import numpy as np
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from app.core.recipe import page_recipe
from app.core.relations.alignment import align
from app.core.relations.kernels import BOTH, LEFT, RIGHT, STOP, USED
from app.core.signatures.page_minhash import from_records, to_records
from tests.core.kernel_sets import COMPILED, KERNELS, using
from tests.core.printed_pages import book, matches, read, set_anew, signed

BINS = 128


@st.composite
def leaves(draw: st.DrawFn, most: int = 8) -> NDArray[np.uint8]:
    """Pages of which some bins are empty and some equal."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    pages = rng.integers(1, draw(st.sampled_from([2, 4, 255])) + 1, (draw(st.integers(0, most)), BINS))
    return np.where(rng.random(pages.shape) < draw(st.sampled_from([0, 0.3, 0.9, 1])), 0, pages).astype(
        np.uint8
    )


@given(leaves(), leaves(), st.integers(1, 40))
def test_similarity_is_the_share_of_equal_bins(
    left: NDArray[np.uint8], right: NDArray[np.uint8], least: int
) -> None:
    expected = np.zeros((len(left), len(right)), dtype=np.uint8)
    for i, first in enumerate(left):
        for j, second in enumerate(right):
            common = int(((first != 0) & (second != 0)).sum())
            equal = int(((first != 0) & (first == second)).sum())
            expected[i, j] = equal * 255 // common if common >= least else 0
    for each in KERNELS.values():
        actual = np.full_like(expected, 7)
        each.page_similarities(left, right, least, actual)
        assert (actual == expected).all()


@given(leaves(), st.integers(1, 4))
def test_neighbours_are_compared_with_the_pages_before_them(pages: NDArray[np.uint8], farthest: int) -> None:
    for each in KERNELS.values():
        equal = np.zeros((farthest, len(pages)), dtype=np.uint8)
        common = np.zeros_like(equal)
        each.compare_neighbours(pages, equal, common)
        for back in range(1, farthest + 1):
            for page in range(len(pages)):
                after, before = (
                    pages[page],
                    pages[page - back] if page >= back else np.zeros_like(pages[page]),
                )
                filled = (after != 0) & (before != 0)
                assert common[back - 1, page] == filled.sum()
                assert equal[back - 1, page] == (filled & (after == before)).sum()


def _chains(each: object, similarities: NDArray[np.uint8], room: int = 100) -> tuple[object, ...]:
    weights = np.clip((np.arange(256) - 40) / 160, -0.5, 1).astype(np.float32)
    limits = np.array([0.15, 3, 0.5], dtype=np.float32)
    steps = np.empty_like(similarities)
    best, places = np.zeros(room, dtype=np.float32), np.zeros((room, 2), dtype=np.int64)
    count = each.smith_waterman(similarities, weights, limits, steps, best, places)  # type: ignore[attr-defined]
    if count < 0:
        return (count,)
    traced, path = [], np.zeros((sum(similarities.shape), 2), dtype=np.int64)
    for row, column in places[:count].tolist():
        size = each.trace_path(steps, row, column, path)  # type: ignore[attr-defined]
        traced.append(path[:size].tolist())
    return count, best[:count].tolist(), places[:count].tolist(), traced, steps.tolist()


@given(st.integers(0, 1 << 30), st.integers(1, 25), st.integers(1, 25))
def test_compiled_chains_are_those_of_plain_python(seed: int, rows: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    similarities = rng.integers(0, 60, (rows, columns)).astype(np.uint8)
    for place in range(min(rows, columns)):
        if rng.random() < 0.7:
            similarities[place, (place + 3) % columns] = rng.integers(100, 255)
    first, second = (_chains(each, similarities) for each in KERNELS.values())
    assert first == second


def test_chain_goes_through_equal_pages_and_over_a_gap() -> None:
    similarities = np.zeros((6, 7), dtype=np.uint8)
    expected = [(0, 0), (1, 1), (2, 2), (4, 5), (5, 6)]
    for i, j in expected:
        similarities[i, j] = 200
    for each in KERNELS.values():
        count, _, places, (path, *_), steps = _chains(each, similarities)
        assert (count, places) == (1, [[5, 6]])
        assert [tuple(pair) for pair in path[::-1] if similarities[tuple(pair)]] == expected
        assert {step for row in steps for step in row} <= {STOP, BOTH, LEFT, RIGHT, USED}


def test_too_many_chains_for_the_room_are_refused() -> None:
    similarities = np.zeros((40, 40), dtype=np.uint8)
    similarities[::8, ::8] = 255
    for each in KERNELS.values():
        assert _chains(each, similarities, room=5) == (-1,)
        assert _chains(each, similarities, room=25)[0] == 25


def test_books_align_alike_on_both_sets_of_kernels() -> None:
    whole = book(40, 3)
    left = signed(read(whole, 0.03, 1))
    for other in (whole[10:], set_anew(whole, 120), whole[30:] + whole[:20], book(30, 8)):
        right = signed(read(other, 0.03, 2))
        alignments = []
        for name in KERNELS:
            with using(name):
                alignment = align(left, right)
            alignments.append(
                (matches(alignment), alignment.left_coverage.tolist(), alignment.typical_coverage)
            )
        assert alignments[0] == alignments[1]


def test_stored_pages_align_without_compiling_anything_once_kernels_are_warm() -> None:
    before = _compiled()
    pages = signed(book(12, 4))
    stored = from_records(page_recipe(pages.recipe), pages.unit, to_records(pages))
    assert matches(align(pages, stored)) == [(page, page) for page in range(12)]
    assert _compiled() == before


def _compiled() -> dict[str, int]:
    """For how many types of arguments each kernel has been compiled."""
    return {
        name: len(getattr(module, name).signatures) for module, names in COMPILED.items() for name in names
    }
