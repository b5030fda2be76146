"""The spans of a text that are its shingles."""

import pytest

from bookprint_core import recipe
from bookprint_core.signatures.shingles import Shingles, shingles
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import normalise
from tests.core import reference

WORD5 = recipe.minhash_recipe(recipe.DEFAULT_MINHASH)
CHAR6 = recipe.page_recipe(recipe.DEFAULT_PAGES)


def shingled(text: str) -> Shingles:
    return shingles(normalise(content_from_text(text)), WORD5, CHAR6)


def shingles_are(text: str, *expected: str) -> bool:
    return shingled(text).hashes.tolist() == [reference.shingle_hash(span) for span in expected]


def test_shingle_is_five_words() -> None:
    assert shingles_are("One two, three. FOUR five six", "one two three four five", "two three four five six")


def test_shingle_is_eight_characters_of_a_script_without_spaces() -> None:
    assert shingles_are("床前明月光，疑是地上", "床前明月光疑是地", "前明月光疑是地上")
    assert shingles_are("กขคงจฉชซฌ", "กขคงจฉชซ", "ขคงจฉชซฌ")


def test_mixture_weighs_eight_a_word_and_five_a_character() -> None:
    text = "one two 漢字漢字漢"  # 8 + 8 + 5 · 5 = 41
    assert shingles_are(text, text)
    assert shingled(text).token_count == 7


def test_words_that_occur_once_are_counted() -> None:
    assert shingled("the salt road and the salt sea").single_count == 3
    assert shingled("once " * 70_000).single_count == 0


def test_three_characters_of_a_script_without_spaces_are_a_word() -> None:
    assert shingled("床前明月光").single_count == 3
    assert shingled("明月光 明月光").single_count == 2  # 光明月 and 月光明


def test_the_count_of_single_words_is_right_where_many_share_a_place() -> None:
    words = [f"word{number}" for number in range(200_000)]
    assert shingled(" ".join(words)).single_count == pytest.approx(200_000, rel=0.02)
    assert shingled(" ".join(words + words[50_000:])).single_count == pytest.approx(50_000, rel=0.05)
