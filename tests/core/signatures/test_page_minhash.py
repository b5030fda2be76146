"""Page signatures: small, the same at any place of the page, and a measure of the text two pages share."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from bookprint_core.recipe import DEFAULT_PAGES, page_recipe
from bookprint_core.relations import kernels
from bookprint_core.signatures.page_minhash import from_records, to_records
from tests.core.printed_pages import BLANK, PLATE, book, read, signed

RECIPE = page_recipe(DEFAULT_PAGES)
WHOLE = book(40, 41)


def alike(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.float64]:
    shares = np.zeros((len(left), len(right)), dtype=np.uint8)
    kernels.page_similarities(left, right, 24, shares)
    similarities: NDArray[np.float64] = shares / 255
    return similarities


@given(st.lists(st.sampled_from([BLANK, PLATE, WHOLE[0], WHOLE[1], "漢字かな", "x"]), min_size=1, max_size=6))
def test_records_are_read_as_they_were_written(leaves: list[str]) -> None:
    pages = signed([*leaves, WHOLE[2]])
    again = from_records(RECIPE, pages.unit, to_records(pages))
    assert (again.values == pages.values).all()
    assert (again.lengths == pages.lengths).all()
    assert (again.recipe, again.unit) == (pages.recipe, pages.unit)


@pytest.mark.parametrize(("rate", "least"), [(0.01, 0.7), (0.05, 0.3), (0.10, 0.12)])
def test_equal_pages_stand_out_from_unrelated_ones_under_noise(rate: float, least: float) -> None:
    similarities = alike(signed(read(WHOLE, rate, 1)).values, signed(read(WHOLE, rate, 2)).values)
    assert np.median(np.diag(similarities)) > least
    others = similarities[~np.eye(40, dtype=np.bool_)]
    assert (np.diag(similarities) > np.quantile(others, 0.999)).mean() > 0.95


def test_half_a_page_is_found_too() -> None:
    text = " ".join(WHOLE)
    step = len(text) // 40
    first = signed([text[place : place + step] for place in range(0, len(text) - step, step)])
    second = signed([text[place : place + step] for place in range(step // 2, len(text) - step, step)])
    assert np.median(np.diag(alike(first.values, second.values))) == pytest.approx(1 / 3, abs=0.08)
