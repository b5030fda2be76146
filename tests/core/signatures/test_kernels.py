"""The kernels sign every text as the plain implementation does, however long its words and runs are."""

import unicodedata
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from bookprint_core import recipe
from bookprint_core.jit import BLOCK
from bookprint_core.recipe import FINGERPRINT_RECIPES
from bookprint_core.signatures import json_codec as signatures, kernels
from bookprint_core.signatures.shingle_kernels import PART
from bookprint_core.signatures.shingles import count_distinct, shingles
from bookprint_core.signatures.simhash import simhash
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import NormalText, normalise
from bookprint_core.text.unicode_table import UNICODE_VERSION
from tests.core import reference
from tests.core.tricky_texts import repeated_texts, tricky_texts
from tests.vectors import texts

WORD5 = recipe.minhash_recipe(recipe.DEFAULT_MINHASH)
CHAR6 = recipe.page_recipe(recipe.DEFAULT_PAGES)
LENGTHS = (4, 2, 2, 4)
WINDOW = 1000


def is_signed_as_in_plain_python(text: str) -> bool:
    content = content_from_text(text)
    made = sketch(content)
    made = replace(made, sample=made.sample and replace(made.sample, places=None))
    return signatures.encode(made) == reference.signatures(content.text, content.page_count)


@pytest.mark.skipif(
    unicodedata.unidata_version != UNICODE_VERSION, reason=f"needs a Python with Unicode {UNICODE_VERSION}"
)
@given(st.one_of(tricky_texts(), repeated_texts()))
def test_any_text_is_signed_as_in_plain_python(text: str) -> None:
    assert is_signed_as_in_plain_python(text)


@pytest.mark.parametrize("size", [BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + 3, 2 * BLOCK])
def test_block_edges_lose_nothing(size: int) -> None:
    text = texts.text("latin", 400, 3)[: size + 40].replace("-", " ").strip()[:size]
    assert is_signed_as_in_plain_python(text)


def is_shingled_as_in_plain_python(text: str) -> bool:
    normal = normalise(content_from_text(text))
    made = shingles(normal, WORD5, CHAR6)
    return (made.hashes.tolist(), made.window_starts.tolist(), made.single_count) == (
        reference.shingles(str(normal)),
        reference.windows(str(normal)),
        reference.single_words(str(normal)),
    )


@pytest.mark.parametrize("size", [PART - 1, PART, PART + 1])
def test_edges_of_parts_lose_no_shingle(size: int) -> None:
    words = normalise(content_from_text(texts.text("latin", 8000, 3)))
    assert is_shingled_as_in_plain_python(str(words)[: size - 1] + "x")


def test_long_words_hash_like_short_ones() -> None:
    assert is_shingled_as_in_plain_python(
        " ".join("ab" * length for length in (1, 100, 300, PART // 2 + 600, 2, 7, 900))
    )


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


def tallies(codes: NDArray[np.uint32], size: int, kinds: NDArray[np.uint8]) -> dict[int, tuple[int, int]]:
    """How often the n-grams of each cell occur, and how often near their last occurrence."""
    cells = np.zeros(1 << kernels.CELL_BITS, dtype=np.uint64)
    kernels.count_ngrams(codes, size, kinds, LENGTHS, WINDOW, cells)
    return {
        int(cell): (
            int(min((value >> 20) & 0xFFFFF, kernels.MOST_COUNTED)),
            int(min(value & 0xFFFFF, kernels.MOST_COUNTED)),
        )
        for cell in np.flatnonzero(cells)
        for value in [int(cells[cell])]
    }


@pytest.mark.parametrize("text", ["ab", "漢", "한", "ก", "ab 漢 "])
def test_counts_end_at_their_limit(text: str) -> None:
    """The n-grams pass 2^20, where a tally without a limit would begin anew."""
    normal = normalise(content_from_text(text * (1_300_000 // len(text))))
    size, period = normal.size, len(text)
    expected: Counter[int] = Counter()
    for place, h in reference.ngrams(str(normal)[: period + 8], LENGTHS, 0, period + 8):
        if place < period:
            length = LENGTHS[reference.kinds(str(normal)[: period + 8])[place]]
            expected[h >> 14] += (size - length - place) // period + 1
    assert tallies(normal.codes, size, normal.kinds) == {
        cell: (min(count, kernels.MOST_COUNTED), min(count - 1, kernels.MOST_COUNTED))
        for cell, count in expected.items()
    }


@pytest.mark.parametrize(
    ("distance", "near"), [(1000, 1), (1001, 0), ((1 << 24) + 1000, 1), ((1 << 24) + 1001, 0)]
)
def test_distance_between_occurrences_is_taken_modulo_2_to_the_24(distance: int, near: int) -> None:
    rare = "zqvx"
    codes = np.full(distance + 20, ord("a"), dtype=np.uint32)
    for place in (0, distance):
        codes[place : place + 4] = [ord(char) for char in rare]
    codes[-8:] = 0
    [(_, h)] = reference.ngrams(rare, LENGTHS, 0, 4)
    for kinds in (np.zeros(0, dtype=np.uint8), np.zeros(codes.size - 8, dtype=np.uint8)):
        assert tallies(codes, codes.size - 8, kinds)[h >> 14] == (2, near)


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
