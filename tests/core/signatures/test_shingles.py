"""Which stretches of a text are its shingles."""

import pytest

from app.core import recipe
from app.core.signatures.shingles import Shingles, shingles
from app.core.text.content import content_from_text
from app.core.text.normal_form import normalise
from tests.core import reference

WORD5 = recipe.minhash_recipe(recipe.DEFAULT_MINHASH)
CHAR6 = recipe.page_recipe(recipe.DEFAULT_PAGES)


def found(text: str) -> Shingles:
    return shingles(normalise(content_from_text(text)), WORD5, CHAR6)


def stretches(text: str, *expected: str) -> bool:
    return found(text).hashes.tolist() == [reference.shingle_hash(stretch) for stretch in expected]


def test_shingle_is_five_words() -> None:
    assert stretches("One two, three. FOUR five six", "one two three four five", "two three four five six")


def test_shingle_is_eight_characters_of_a_script_without_spaces() -> None:
    assert stretches("床前明月光，疑是地上", "床前明月光疑是地", "前明月光疑是地上")
    assert stretches("กขคงจฉชซฌ", "กขคงจฉชซ", "ขคงจฉชซฌ")


def test_words_of_korean_are_words() -> None:
    assert stretches("하나 둘 셋 넷 다섯", "하나 둘 셋 넷 다섯")


def test_mixture_weighs_eight_a_word_and_five_a_character() -> None:
    text = "one two 漢字漢字漢"  # 8 + 8 + 5 · 5 = 41
    assert stretches(text, text)
    assert found(text).token_count == 7


def test_digits_among_han_are_a_word() -> None:
    assert found("昭和64年").token_count == 4


def test_vowel_sign_belongs_to_its_word() -> None:
    assert found("हिन्दी में").token_count == 2


def test_shingles_cross_page_breaks_and_split_words() -> None:
    assert stretches("one two th-\free four five", "one two three four five")


@pytest.mark.parametrize(
    ("words", "windows"), [(1, 1), (300, 1), (301, 2), (600, 2), (900, 3), (70_000, 234)]
)
def test_window_starts_after_every_300_words(words: int, windows: int) -> None:
    text = " ".join(["word"] * words)
    starts = found(text).window_starts.tolist()
    assert starts == [300 * 5 * window for window in range(windows)]


def test_window_starts_after_every_480_characters_of_a_script_without_spaces() -> None:
    assert found("漢字" * 480).window_starts.tolist() == [0, 480]
