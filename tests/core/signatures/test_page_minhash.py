"""Page signatures: small, the same at any place of the page, and a measure of the text two pages share."""

from hypothesis import given, strategies as st

from bookprint_core.recipe import DEFAULT_PAGES, page_recipe
from bookprint_core.signatures.page_minhash import from_records, to_records
from tests.core.printed_pages import BLANK, PLATE, book, signed

RECIPE = page_recipe(DEFAULT_PAGES)
WHOLE = book(40, 41)


@given(st.lists(st.sampled_from([BLANK, PLATE, WHOLE[0], WHOLE[1], "漢字かな", "x"]), min_size=1, max_size=6))
def test_records_are_read_as_they_were_written(leaves: list[str]) -> None:
    pages = signed([*leaves, WHOLE[2]])
    again = from_records(RECIPE, pages.unit, to_records(pages))
    assert (again.values == pages.values).all()
    assert (again.lengths == pages.lengths).all()
    assert (again.recipe, again.unit) == (pages.recipe, pages.unit)
