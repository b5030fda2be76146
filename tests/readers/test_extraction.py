"""What a reader found, as it can be kept: text without what is none, and what the file says of the book."""

import pytest

from app.core.errors import BrokenFile
from app.readers.extraction import Extraction, description, to_content, with_characters_only


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
