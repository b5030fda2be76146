"""Tests of the form into which what a file says about its book is brought."""

import pytest

from app.readers.description import description


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
