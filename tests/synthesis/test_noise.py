import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from app.synthesis.noise import (
    corrupt,
    corrupt_pages,
    edit_sentences,
    sentences,
)

TEXT = "The burning of the mill was told in every inn. Nobody had seen it, and all knew more! Why? " * 60


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.05, 0.15])
def test_error_rate_is_edit_distance_over_length(rate: float) -> None:
    rng = np.random.default_rng(3)
    texts = [TEXT[start : start + 900] for start in range(0, 3600, 450)]
    distance = sum(Levenshtein.distance(text, corrupt(text, rate, rng)) for text in texts)
    assert distance / sum(map(len, texts)) == pytest.approx(rate, rel=0.25)


@pytest.mark.parametrize(
    "text", ["", "x", "漢字かな" * 200, "на белом свете " * 100, "في البدء كان " * 100, "𝒳𝒴" * 99]
)
def test_text_of_any_script_and_length_can_be_read_badly(text: str) -> None:
    noisy = corrupt(text, 0.2, np.random.default_rng(5))
    assert abs(len(noisy) - len(text)) <= 0.2 * len(text) + 1
    assert len(text) < 100 or noisy != text


@pytest.mark.parametrize(
    "text", ["", "no stop", "One. Two! “Three?” Four", "一。二。三", "x" * 1000, "...", "\n\n"]
)
def test_sentences_join_to_the_text(text: str) -> None:
    assert "".join(sentences(text)) == text


def test_edited_share_of_sentences_is_lost_or_follows_a_foreign_one() -> None:
    own = "".join(f"This is sentence {number:04}. " for number in range(1000))
    donor = "".join(f"From elsewhere {number:04}. " for number in range(1000))
    edited = edit_sentences(own, 0.2, donor, np.random.default_rng(2))
    lost, added = 1000 - edited.count("This is"), edited.count("From elsewhere")
    assert lost + added == 200
    assert min(lost, added) > 70
    assert len(edited) == pytest.approx(len(own), rel=0.03)


def test_pages_are_read_as_their_join_is() -> None:
    pages = [TEXT[:700], "", TEXT[700:709], TEXT[709:1500]]
    noisy = corrupt_pages(pages, 0.05, np.random.default_rng(2))
    assert "".join(noisy) == corrupt(TEXT[:1500], 0.05, np.random.default_rng(2))
    for page, read in zip(pages, noisy, strict=True):
        assert Levenshtein.distance(page, read) <= 0.1 * len(page)


def test_errors_of_a_seed_never_change() -> None:
    noisy = corrupt("the merry inn by the mill in a warm corner", 0.5, np.random.default_rng(4))
    assert noisy == "tlie merry imn n bg tnie mill 1n a w arm c0rneer"
