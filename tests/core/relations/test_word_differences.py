"""Word differences: each in the class that a person would give it, and every word in one passage."""

import pytest
from hypothesis import given, strategies as st

from bookprint_core.relations.word_differences import common_words, place_of, word_differences


def differences(this: str, other: str, *known: str) -> list[tuple[str | None, str, str]]:
    return [
        (each.kind, each.this.strip(), each.other.strip())
        for each in word_differences(this, other, known)
        if each.kind is not None
    ]


@pytest.mark.parametrize(
    ("this", "other", "kind"),
    [
        ("ſuch", "such", "spelling"),
        ("fuch", "such", "spelling"),
        ("publick", "public", "spelling"),
        ("cafe", "café", "spelling"),
        ("exam- ple", "example", "hyphen"),
        ("to-day", "today", "hyphen"),
        ("house;", "house,", "punctuation"),
        ("—", "*", "punctuation"),
        ("tlie", "the", "ocr"),
        ("Bennet", "Benuet", "ocr"),
        ("1836", "1837", "other"),
        ("dn", "du", "ocr"),
        ("I", "a", "other"),
    ],
)
def test_a_difference_has_the_most_harmless_class_that_explains_it(this: str, other: str, kind: str) -> None:
    pages = f"He saw {this} there", f"He saw {other} there"
    assert differences(*pages) == [(kind, this, other)]
    assert differences(*reversed(pages)) == [(kind, other, this)]


def test_words_that_both_books_know_are_not_taken_for_a_misread_one() -> None:
    assert differences("they walked home", "they talked home") == [("ocr", "walked", "talked")]
    assert differences("they walked home", "they talked home", "walked", "talked") == [
        ("other", "walked", "talked")
    ]
    books = ["we walked and talked", "he walked and talked"], ["and walked", "walked and went"]
    assert common_words(*books) == {"walked", "and"}


def test_a_page_is_found_in_a_longer_text() -> None:
    text = "the end of a page before; here begins what it has and here it ends, and the next one the"
    page = "here began what it has and here it ends,"
    start, end = place_of(page, text)
    assert text[start:end].strip() == "here begins what it has and here it ends,"
    assert place_of("nothing of it is here", text) == (0, len(text))
    assert place_of("", "") == (0, 0)


def test_characters_are_words_where_a_script_has_no_blanks() -> None:
    assert differences("學而時習之，不亦說乎", "學而時習之，不亦悅乎") == [("other", "說", "悅")]


def test_neighbouring_differences_are_told_apart() -> None:
    this = "It was fuch a publick honour, exam- ple of the olcl house; three men. 1836"
    other = "It was such a public honor example of the old house, thirty women went. 1837"
    assert differences(this, other) == [
        ("spelling", "fuch", "such"),
        ("spelling", "publick", "public"),
        ("spelling", "honour,", "honor"),
        ("hyphen", "exam- ple", "example"),
        ("ocr", "olcl", "old"),
        ("punctuation", "house;", "house,"),
        ("other", "three men. 1836", "thirty women went. 1837"),
    ]


def test_words_of_one_page_alone_are_other_words() -> None:
    assert differences("one two three", "one three") == [("other", "two", "")]
    assert differences("", "a page") == [("other", "", "a page")]
    assert word_differences("", " ") == []


@given(st.text(max_size=40), st.text(max_size=40))
def test_every_word_is_in_one_passage(this: str, other: str) -> None:
    passages = word_differences(this, other)
    assert "".join(each.this for each in passages).split() == this.split()
    assert "".join(each.other for each in passages).split() == other.split()
    assert all(each.this.split() == each.other.split() for each in passages if each.kind is None)
