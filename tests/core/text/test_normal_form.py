"""The normal form of a book, and the character table behind it."""

import unicodedata

import pytest
from hypothesis import given, strategies as st

from bookprint_core.errors import EmptyText, InvalidText
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import normalise
from bookprint_core.text.unicode_table import UNICODE_VERSION, unicode_table
from tests.core import reference
from tests.core.tricky_texts import folded_texts, tricky_texts
from tests.vectors import unicode_table as builder

same_unicode = pytest.mark.skipif(
    unicodedata.unidata_version != UNICODE_VERSION, reason=f"needs a Python with Unicode {UNICODE_VERSION}"
)


def normal(text: str) -> str:
    return str(normalise(content_from_text(text)))


@pytest.mark.slow
@same_unicode
def test_frozen_character_table_is_what_the_builder_makes() -> None:
    table = unicode_table()
    entries, traits, expansions = builder.build()
    assert (table.entries == entries).all()
    assert (table.traits == traits).all()
    assert (table.expansions == expansions).all()


@same_unicode
@given(text=st.one_of(tricky_texts(), folded_texts()))
def test_normal_form_is_that_of_the_rules(text: str) -> None:
    content = content_from_text(text)
    normal = normalise(content)
    form, starts, folded = reference.form_of(content.text)
    assert (str(normal), normal.folded) == (form, folded)
    assert normal.page_starts.tolist() == (starts if content.page_count else [])


@pytest.mark.slow
@same_unicode
def test_every_single_character_has_the_normal_form_of_the_rules() -> None:
    chars = [
        chr(code) for code in range(1, 0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")
    ]
    for start in range(0, len(chars), 5000):
        text = "".join(f"a{char}b\n" for char in chars[start : start + 5000])
        assert normal(text) == reference.form_of(unicodedata.normalize("NFC", text))[0]


@given(text=tricky_texts())
def test_normal_form_of_a_normal_form_is_itself(text: str) -> None:
    once = normal(text)
    # a new NFKC may compose what dropped characters kept apart
    if unicodedata.is_normalized("NFKC", once):
        assert normal(once) == once


def test_expanding_characters_find_room() -> None:
    assert normal("\ufdfa" * 1000).startswith("صلى الله عليه وسلمصلى")


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=20))
def test_accepted_text_has_a_normal_form_that_is_not_empty(text: str) -> None:
    try:
        content = content_from_text(text)
    except (EmptyText, InvalidText):
        assert (
            not reference.form_of(text)[0] or "\0" in text or unicodedata.unidata_version != UNICODE_VERSION
        )
        return
    assert normalise(content).size > 0
