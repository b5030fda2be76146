"""The experiments on pages (Spasojević and Poncin 2011): by hand, and on invented books."""

import pytest

from bench.harness.corpus import CorpusBook
from bookprint_core.text.normal_form import NormalText
from research.pages import (
    page_signature_recall,
)
from research.pages.page_grams import (
    PAGE_VALUES,
    WORDS_5,
    Feature,
    normal_pages,
    occurrences,
)
from research.pages.page_recipes import (
    BOOKPRINT,
    SIMHASH,
    minhash_of,
    one_permutation_of,
    page_pairs,
)
from tests.core import printed_pages


def counts(text: NormalText, unit: str, size: int) -> list[int]:
    return [
        page.size for page in occurrences(text, Feature("words" if unit == "words" else "characters", size))
    ]


def test_features_stay_within_their_page() -> None:
    text = normal_pages(["One, two three. Four", "two three", "", "one two"])
    assert counts(text, "words", 2) == [3, 1, 0, 1]
    assert counts(text, "words", 3) == [2, 0, 0, 0]
    assert counts(text, "characters", 9) == [10, 1, 0, 0]
    first, second, _, last = occurrences(text, Feature("words", 2))
    assert second.tolist() == first[1:2].tolist()
    assert last.tolist() == first[:1].tolist()
    assert len(set(first.tolist())) == 3


@pytest.mark.parametrize(
    "recipe",
    [
        minhash_of(WORDS_5, PAGE_VALUES),
        minhash_of(Feature("characters", 6), 64, 1),
        one_permutation_of(Feature("characters", 6), 256),
        BOOKPRINT,
        SIMHASH,
    ],
    ids=lambda recipe: recipe.name,
)
def test_every_signature_knows_equal_pages_and_half_pages(
    recipe: page_signature_recall.SignatureRecipe,
) -> None:
    pages = printed_pages.book(9, 3)
    words = " ".join(pages).split()
    cut = [" ".join(words[start : start + 160]) for start in range(0, 1_280, 160)]
    shifted = [" ".join(words[start : start + 160]) for start in range(80, 1_360, 160)]
    found = page_pairs(recipe, *map(normal_pages, (cut, cut, shifted)))
    assert (found.equal.size, found.half.size, found.strangers.size) == (8, 8, 56)
    assert found.equal.min() == 1
    assert found.strangers.mean() < found.half.mean() < 1
    assert recipe.sign(normal_pages(cut)).nbytes <= 8 * recipe.page_bytes


def invented(work: str, seed: int, language: str = "en") -> CorpusBook:
    """A book of about 16,000 words."""
    pages = printed_pages.book(90, seed)
    return CorpusBook(f"id-{work}", work, work, "", None, language, "\n".join(pages), None)
