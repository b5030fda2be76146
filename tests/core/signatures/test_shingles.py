"""The spans of a text that are its shingles."""

import pytest

from bookprint_core import recipe
from bookprint_core.signatures.shingles import Shingles, shingles
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import normalise

WORD5 = recipe.minhash_recipe(recipe.DEFAULT_MINHASH)
CHAR6 = recipe.page_recipe(recipe.DEFAULT_PAGES)


def shingled(text: str) -> Shingles:
    return shingles(normalise(content_from_text(text)), WORD5, CHAR6)


def test_the_count_of_single_words_is_right_where_many_share_a_place() -> None:
    words = [f"word{number}" for number in range(200_000)]
    assert shingled(" ".join(words)).single_count == pytest.approx(200_000, rel=0.02)
    assert shingled(" ".join(words + words[50_000:])).single_count == pytest.approx(50_000, rel=0.05)
