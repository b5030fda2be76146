"""Compiled and numpy kernels give the same bits, and neither depends on how the text came."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from app.core import recipe
from app.core.jit import BLOCK
from app.core.model import Content
from app.core.recipe import FINGERPRINT_RECIPES
from app.core.signatures import json_codec as signatures
from app.core.signatures.shingles import count_distinct, shingles
from app.core.signatures.simhash import simhash
from app.core.signatures.sketch import fingerprint, sketch
from app.core.text.content import content_from_text
from app.core.text.normal_form import NormalText, normalise
from tests.core.kernel_sets import KERNELS, repeated_texts, tricky_texts, using
from tests.vectors import texts

WORD5 = recipe.minhash_recipe(recipe.DEFAULT_MINHASH)
CHAR6 = recipe.page_recipe(recipe.DEFAULT_PAGES)


def _everything(content: Content, name: str) -> tuple[object, ...]:
    with using(name):
        normal = normalise(content)
        return (
            str(normal),
            normal.page_starts.tolist(),
            normal.page_ends.tolist(),
            signatures.encode(sketch(content)),
            fingerprint(content, "tf-simhash96-v1"),
        )


@settings(max_examples=200)
@given(st.one_of(tricky_texts(), repeated_texts()))
def test_numpy_kernels_give_the_bits_of_the_compiled_ones(text: str) -> None:
    content = content_from_text(text)
    assert _everything(content, "compiled") == _everything(content, "numpy")


@pytest.mark.parametrize("script", texts.SYLLABLES)
@pytest.mark.parametrize("recipe_name", FINGERPRINT_RECIPES)
def test_numpy_fingerprint_is_the_compiled_one(script: str, recipe_name: str) -> None:
    content = content_from_text(texts.text(script, 3000, 7))
    fingerprints = []
    for name in KERNELS:
        with using(name):
            fingerprints.append(simhash(normalise(content), FINGERPRINT_RECIPES[recipe_name]))
    assert fingerprints[0] is not None
    assert fingerprints[0] == fingerprints[1]


@pytest.mark.parametrize(
    "size", [BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + 3, 2 * BLOCK, (1 << 15) - 1, 1 << 15, (1 << 15) + 1]
)
def test_block_edges_lose_nothing(size: int) -> None:
    content = content_from_text(texts.text("latin", 8000, 3)[: size + 40].replace("-", " ").strip()[:size])
    assert _everything(content, "compiled") == _everything(content, "numpy")


def test_long_words_hash_like_short_ones() -> None:
    content = content_from_text(
        " ".join("ab" * length for length in (1, 100, 300, 5000, 40_000, 2, 7, 20_000))
    )
    assert _everything(content, "compiled") == _everything(content, "numpy")


def test_text_of_alphabets_is_signed_alike_on_the_path_for_mixed_scripts() -> None:
    plain = normalise(content_from_text(texts.text("russian", 3000, 5)))
    mixed = NormalText(
        plain.codes, plain.size, np.zeros(plain.size, dtype=np.uint8), plain.page_starts, plain.page_ends
    )
    gap = FINGERPRINT_RECIPES[recipe.DEFAULT_FINGERPRINT]
    assert simhash(plain, gap) == simhash(mixed, gap)
    first, second = shingles(plain, WORD5, CHAR6), shingles(mixed, WORD5, CHAR6)
    assert (first.hashes == second.hashes).all()
    assert first.window_starts.tolist() == second.window_starts.tolist()


@pytest.mark.parametrize("text", ["ab", "漢", "한", "ก", "ab 漢 "])
def test_counts_end_at_their_limit(text: str) -> None:
    """Repeating passes 2^20 n-grams, where the compiled kernel has to make room in its cells."""
    normal = normalise(content_from_text(text * ((1 << 21) // len(text)) + texts.text("latin", 500, 1)))
    for name in ("gap-simhash128-v1", "tf-simhash128-v1"):
        counts = []
        for each in KERNELS:
            with using(each):
                counts.append(simhash(normal, FINGERPRINT_RECIPES[name]))
        assert counts[0] == counts[1]


def test_distance_between_occurrences_wraps_around_alike() -> None:
    rare = " ".join(f"zq{letter}x" for letter in "abcdefghijklmnopqrstuvwxyz" * 3)
    normal = normalise(content_from_text(f"{rare} {'ab ' * ((1 << 24) // 3)} {rare} {rare}"))
    counts = []
    for each in KERNELS:
        with using(each):
            counts.append(simhash(normal, FINGERPRINT_RECIPES["gap-simhash128-v1"]))
    assert counts[0] == counts[1]


@given(
    st.lists(st.integers(0, (1 << 64) - 1), max_size=60),
    st.integers(1, 50),
    st.randoms(use_true_random=False),
)
def test_distinct_values_are_counted_exactly(values: list[int], times: int, random: object) -> None:
    hashes = np.array(values * times, dtype=np.uint64)
    random.shuffle(hashes)  # type: ignore[attr-defined]
    assert count_distinct(hashes) == len(set(values))


@pytest.mark.parametrize(("count", "limit"), [(300_000, 1 << 63), (300_000, 200_000), (100_000, 1)])
def test_many_distinct_values_are_counted_exactly(count: int, limit: int) -> None:
    values = np.random.default_rng(count).integers(0, limit, count).astype(np.uint64)
    for hashes in (values, values * np.uint64(0x9E3779B97F4A7C15)):
        assert count_distinct(hashes) == np.unique(hashes).size
