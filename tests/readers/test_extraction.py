"""What a reader found, as it can be kept: text without what is none, and what the file says of the book."""

import pytest

from bookprint_core.errors import BrokenFile
from bookprint_readers.extraction import (
    Extraction,
    description,
    to_content,
    with_characters_only,
    with_doubts,
)


def test_controls_are_left_out_and_counted() -> None:
    found = with_characters_only(Extraction("html", ["a\0b\x1f", "c\td\ne\x7f"], paginated=True))
    assert list(found.pages) == ["ab", "c\td\ne"]
    assert list(found.warnings) == ["3 control characters were left out."]


def test_halves_of_surrogate_pairs_are_replaced() -> None:
    found = with_characters_only(Extraction("pdf", ["a\ud800b \ud835\udcb3", "c"], paginated=True))
    assert list(found.pages) == ["a\ufffdb 𝒳", "c"]
    assert list(found.warnings) == ["U+FFFD stands for half surrogate pairs; pages with them: 1."]


def test_a_clean_book_is_left_as_it_is() -> None:
    book = Extraction("txt", ["a\tb\r\nc\fd é 字"], paginated=False)
    assert with_characters_only(book) is book


def test_a_pile_of_combining_marks_is_damage() -> None:
    with pytest.raises(BrokenFile, match="combining marks"):
        to_content(Extraction("txt", ["a" + "\u0301" * 1_000], paginated=False))


@pytest.mark.parametrize(
    ("said", "language"),
    [
        ("en", "en"),
        ("pt-PT", "pt-PT"),
        ("French", "fr"),
        ("English, German", "en"),
        ("as on the title page", None),
        ("", None),
        (None, None),
    ],
)
def test_a_language_is_a_tag(said: str | None, language: str | None) -> None:
    assert description(language=said).language == language


ENGLISH = "The ferryman untied his boat, and slowly the mist above the river grew bright. "
SHIFTED = "".join(
    chr(max(ord(letter) - 29, 32)) for letter in ENGLISH + "All children ran down to the mill. "
)
"""As a font gives it whose first letter has the number 3, and that names none."""


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        (ENGLISH * 5 + "\ufffd" * 10, "10 of 405 characters are U+FFFD"),
        (ENGLISH * 5 + "\ue5dc\uf1ac" * 5, "10 of 405 characters are U+FFFD or of one font alone"),
        ("Der Fährmann über dem Fluß. ".encode().decode("cp1252") * 9, "look like UTF-8"),
        ("Паромщик отвязал лодку. ".encode().decode("latin-1") * 3, "look like UTF-8"),
        (SHIFTED * 40, "no vowel"),
    ],
)
def test_a_text_that_was_badly_read_has_a_warning(text: str, doubt: str) -> None:
    [warning] = with_doubts(Extraction("pdf", [text], paginated=True)).warnings
    assert doubt in warning
    assert "may not be found" in warning
