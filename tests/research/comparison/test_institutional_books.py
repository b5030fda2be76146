"""The rule of Institutional Books: its simhash, and the language and length that it asks for."""

import pytest

from research.comparison.institutional_books import Volume, groups, says_same, simhash

# Made with the package `simhash` 2.1.2 from the shingles of the pipeline's own function.
PUBLISHED = {
    "The quick brown fox jumps over the lazy dog.": "be8badd583342f3b",
    "It was the best of times, it was the worst of times; it was the age of wisdom.": "fb672492dcd97abe",
    "Мороз и солнце; день чудесный!": "b6a043f43a8880b8",
    "春はあけぼの。やうやう白くなりゆく山際": "82096538cb50900e",
    "a b c": "d6963f7d28e17f72",
    "ab" * 400: "201012808403006c",
}


@pytest.mark.parametrize("text", PUBLISHED)
def test_simhash_is_that_of_the_package(text: str) -> None:
    assert simhash(text).hex() == PUBLISHED[text]


def test_case_blanks_and_punctuation_do_not_count() -> None:
    assert simhash("Call me Ishmael. Some years ago") == simhash("CALL ME\nishmael -- some years, ago")


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Volume(b"12345678", "en", 1_000), True),
        (Volume(b"12345679", "en", 1_000), False),
        (Volume(b"12345678", "de", 1_000), False),
        # The median of 1,000 and 1,290 is 1,145, of which 1.15 parts are 995; of 1,310 they are 1,004.
        (Volume(b"12345678", "en", 1_290), True),
        (Volume(b"12345678", "en", 1_310), False),
        (Volume(b"12345678", "en", 770), True),
        (Volume(b"12345678", "en", 760), False),
    ],
)
def test_volumes_have_one_simhash_one_language_and_like_lengths(other: Volume, same: bool) -> None:
    assert says_same(Volume(b"12345678", "en", 1_000), other) is same


def test_groups_have_the_most_frequent_language_and_lengths_near_their_median() -> None:
    volumes = [
        Volume(b"12345678", "en", 1_000),
        Volume(b"87654321", "en", 1_000),
        Volume(b"12345678", "de", 1_000),
        Volume(b"12345678", "en", 1_100),
        Volume(b"12345678", "en", 2_000),
    ]
    # The median of the three English ones is 1,100, of which 1.15 parts are 1,265.
    assert groups(volumes) == [0, 1, 2, 0, 4]
