"""The content of a book."""

import unicodedata
from typing import Literal
from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st

from bookprint_core.errors import EmptyText, InvalidText
from bookprint_core.model import PAGE_BREAK, Content
from bookprint_core.text import content, kernels
from bookprint_core.text.content import content_from_pages, content_from_text, content_key, in_form
from bookprint_core.text.unicode_table import ALNUM, MAX_COMBINING, NUL, unicode_table


def test_ranges_that_inspection_skips_hold_nothing_to_find() -> None:
    traits = unicode_table().traits
    for first, last in ((1, 0x300), (0x388, 0x482), (0x2010, 0x2060)):
        assert set(traits[first:last].tolist()) <= {0, ALNUM}


def test_content_is_composed() -> None:
    assert content_from_text("cafe\u0301").text == "café"
    assert content_key(content_from_text("cafe\u0301")) == content_key(content_from_text("café"))


def test_page_break_separates_pages() -> None:
    assert content_from_text("one\ftwo\f").page_count == 3
    assert content_from_text("one two").page_count is None
    assert content_from_pages(["one two"]).page_count == 1


def test_page_break_inside_a_page_is_a_line_break() -> None:
    assert content_from_pages(["one\f", "two"]) == Content("one\n\ftwo", 2)


@pytest.mark.parametrize(
    ("text", "place"),
    [("abc\0def", "character 3"), ("ab\ud800c", "character 2"), ("é" * 300 + "\udfff", "character 300")],
)
def test_what_is_no_text_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(InvalidText, match=place) as refusal:
        content_from_text(text)
    assert refusal.value.field == "text"


def test_page_with_a_wrong_character_is_named() -> None:
    with pytest.raises(InvalidText, match=r"character 1 of pages\[2\]") as refusal:
        content_from_pages(["ab", "", "c\0d"])
    assert refusal.value.field == "pages"


@pytest.mark.parametrize("marks", ["\u0301\u0323", "\uff9e\u0301", "\u0f73\u0301"])
def test_pile_of_combining_marks_is_refused(marks: str) -> None:
    pile = marks * (MAX_COMBINING // 2)
    content_from_text(f"a{pile}b{pile}")
    with pytest.raises(InvalidText, match="character 66"):
        content_from_text(f"ab{pile}\u0301")


@pytest.mark.parametrize("text", ["", " \n\f", "...—!", "\u0301", "\u0340", "\u00ad\u200b", "\u3164", "😀"])
def test_text_without_letter_or_digit_is_refused(text: str) -> None:
    with pytest.raises(EmptyText):
        content_from_text(text)


def test_no_pages_are_refused() -> None:
    with pytest.raises(EmptyText):
        content_from_pages([])


def test_inspection_counts_page_breaks_in_every_width_of_string() -> None:
    for char in ("a", "é", "œ", "𝒳"):
        text = char + PAGE_BREAK * 3
        seen, breaks = kernels.inspect(kernels.codes_of(text), unicode_table().traits)
        assert breaks == 3
        assert seen & ALNUM
        assert not seen & NUL


@given(
    st.text(
        st.sampled_from(
            "aeg \n\u0301\u0316\u1100\u1161\u11a8\uac00\u0dd9\u0dcf\u0dca\uff76\uff9e\u0f73\ufdfa😀"
        ),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from(["NFC", "NFKC"]),
)
def test_a_long_text_is_put_into_its_form_part_by_part(text: str, form: Literal["NFC", "NFKC"]) -> None:
    with patch.object(content, "_PART", 3):
        assert in_form(form, text) == unicodedata.normalize(form, text)
