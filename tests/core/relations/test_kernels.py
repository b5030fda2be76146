"""The kernels that compare pages compute what plain loops do."""

from typing import Any

import numpy as np
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from bookprint_core.index import kernels as index_kernels
from bookprint_core.recipe import page_recipe
from bookprint_core.relations import kernels as page_kernels
from bookprint_core.relations.alignment import align
from bookprint_core.relations.kernels import (
    BOTH,
    LEFT,
    RIGHT,
    STOP,
    USED,
    compare_neighbours,
    page_similarities,
    smith_waterman,
    trace_path,
)
from bookprint_core.signatures import kernels as signature_kernels, shingle_kernels
from bookprint_core.signatures.page_minhash import from_records, to_records
from bookprint_core.text import kernels as text_kernels
from tests.core.printed_pages import book, matches, signed

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
    actual = np.full_like(expected, 7)
    page_similarities(left, right, least, actual)
    assert (actual == expected).all()


@given(leaves(), st.integers(1, 4))
def test_neighbours_are_compared_with_the_pages_before_them(pages: NDArray[np.uint8], farthest: int) -> None:
    equal = np.zeros((farthest, len(pages)), dtype=np.uint8)
    common = np.zeros_like(equal)
    compare_neighbours(pages, equal, common)
    for back in range(1, farthest + 1):
        for page in range(len(pages)):
            after, before = (pages[page], pages[page - back] if page >= back else np.zeros_like(pages[page]))
            filled = (after != 0) & (before != 0)
            assert common[back - 1, page] == filled.sum()
            assert equal[back - 1, page] == (filled & (after == before)).sum()


def _chains(
    similarities: NDArray[np.uint8], room: int = 100, find: Any = smith_waterman, trace: Any = trace_path
) -> tuple[Any, ...]:
    weights = np.clip((np.arange(256) - 40) / 160, -0.5, 1).astype(np.float32)
    limits = np.array([0.15, 3, 0.5], dtype=np.float32)
    steps = np.empty_like(similarities)
    best, places = np.zeros(room, dtype=np.float32), np.zeros((room, 2), dtype=np.int64)
    count = find(similarities, weights, limits, steps, best, places)
    if count < 0:
        return (count,)
    traced, path = [], np.zeros((sum(similarities.shape), 2), dtype=np.int64)
    for row, column in places[:count].tolist():
        size = trace(steps, row, column, path)
        traced.append(path[:size].tolist())
    return count, best[:count].tolist(), places[:count].tolist(), traced, steps.tolist()


@given(st.integers(0, 1 << 30), st.integers(1, 25), st.integers(1, 25))
def test_compiled_chains_are_those_that_the_interpreter_finds(seed: int, rows: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    similarities = rng.integers(0, 60, (rows, columns)).astype(np.uint8)
    for place in range(min(rows, columns)):
        if rng.random() < 0.7:
            similarities[place, (place + 3) % columns] = rng.integers(100, 255)
    interpreted = _chains(similarities, find=smith_waterman.py_func, trace=trace_path.py_func)
    assert _chains(similarities) == interpreted


def test_chain_goes_through_equal_pages_and_over_a_gap() -> None:
    similarities = np.zeros((6, 7), dtype=np.uint8)
    expected = [(0, 0), (1, 1), (2, 2), (4, 5), (5, 6)]
    for i, j in expected:
        similarities[i, j] = 200
    count, _, places, (path, *_), steps = _chains(similarities)
    assert (count, places) == (1, [[5, 6]])
    assert [tuple(pair) for pair in path[::-1] if similarities[tuple(pair)]] == expected
    assert {step for row in steps for step in row} <= {STOP, BOTH, LEFT, RIGHT, USED}


def test_too_many_chains_for_the_room_are_refused() -> None:
    similarities = np.zeros((40, 40), dtype=np.uint8)
    similarities[::8, ::8] = 255
    for find in (smith_waterman, smith_waterman.py_func):
        assert _chains(similarities, room=5, find=find) == (-1,)
        assert _chains(similarities, room=25, find=find)[0] == 25


def test_stored_pages_align_without_compiling_anything_once_kernels_are_warm() -> None:
    before = _compiled()
    assert any(before.values())
    pages = signed(book(12, 4))
    stored = from_records(page_recipe(pages.recipe), pages.unit, to_records(pages))
    assert matches(align(pages, stored)) == [(page, page) for page in range(12)]
    assert _compiled() == before


def _compiled() -> dict[str, int]:
    """For how many types of arguments each kernel has been compiled."""
    return {
        f"{module.__name__}.{name}": len(kernel.signatures)
        for module in (text_kernels, signature_kernels, shingle_kernels, index_kernels, page_kernels)
        for name, kernel in vars(module).items()
        if hasattr(kernel, "signatures")
    }
