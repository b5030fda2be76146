"""Vectors of books: fixed values that the recipe's name stands for, and what they must not depend on."""

from hashlib import sha256

import numpy as np
import pytest

from app.services.signing import read_vector_weights
from bookprint_core.errors import InvalidInput
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import normalise
from bookprint_core.vectors import (
    BYTES,
    LEAST_WORDS,
    RAREST,
    Vector,
    VectorWeights,
    book_vector,
    cosine,
    cosines,
    pack_weights,
    unpack_weights,
    word_counts,
    word_weights,
)

ENGLISH = (
    "The ferry left the island at dawn. Nobody in Marlow had seen Captain Quillfeather since the "
    "flood, and the harbour was as still as a church on Monday. Ann counted the lanterns along the "
    "quay; there were eleven, and one of them was burning. Quillfeather had promised to leave one "
    "burning. She took the boat without asking, and rowed towards the light, because a promise of "
    "Quillfeather's was worth more in Marlow than the word of any magistrate. "
)
JAPANESE = (
    "渡し船は夜明けに島を離れた。洪水の後、船長の姿を見た者は町に一人もいなかった。港は月曜日の"
    "教会のように静かだった。アンは岸壁の灯籠を数えた。十一あり、その一つに火がともっていた。"
)

GOLDEN = {
    ENGLISH: (
        "b1734c263650695d678defb447b561b53bd1ec7bfe652633caa3cbadf47c2077"
        "ace51b57cfe16b0d37f240fcf936fc64a3ee23b8cabe1efcf23ad2132b0eb8ee"
        "ba163a8d56dfd77a0182b23467524ceb5cad5e02ad2d2c3b11d0ff4bea7713ce"
        "7fc3ddf52a78e998e7db9951563765f21c42122933f454fb519c6f712b4a461a"
    ),
    JAPANESE: (
        "3dc93eb02155f1836780671c0d91058424ade9cf8318bdba347d0ba412233cbd"
        "c5ef941b748f7153b98de6bb70e9653694933e47932222928aea4b65708cbcd1"
        "ec5564a0ffe674ae56b9308725b0affe0b42e2ca2c58646e6b85171a664ba673"
        "57fde811180ba813150761c3f22c3ffb639ec523d886ee80bcfe075060744258"
    ),
}
"""Vectors of `tfidf-simhash1024-v1`. They never change: other weights are another recipe."""

LEARNT = "d121e3348230a6b8f5bef9fee335c32b92ffff9f239ab17a347f2fdcd93ec4d8"
"""SHA-256 of the known words and their rarity."""


def vector(text: str) -> Vector | None:
    return book_vector(normalise(content_from_text(text)), read_vector_weights())


@pytest.mark.parametrize("text", GOLDEN, ids=["English", "Japanese"])
def test_vector_is_the_one_that_the_name_stands_for(text: str) -> None:
    found = vector(text)
    assert found is not None
    assert found.tobytes().hex() == GOLDEN[text]


def test_weights_are_those_of_the_name() -> None:
    weights = read_vector_weights()
    data = weights.hashes.astype("<u4").tobytes() + weights.rarity.tobytes()
    assert sha256(data).hexdigest() == LEARNT
    assert np.all(np.diff(weights.hashes.astype(np.int64)) > 0)


def test_short_text_has_no_vector() -> None:
    words = [f"word{number}" for number in range(LEAST_WORDS)]
    assert vector(" ".join(words[:-1]) + " word1") is None  # no word bursts
    assert vector("quillfeather " * (LEAST_WORDS - 1)) is None


def test_words_are_counted_by_script() -> None:
    assert word_counts(normalise(content_from_text("one two one"))).words == 3
    assert word_counts(normalise(content_from_text("漢字文。漢字"))).words == 4  # 漢字 字文 文漢 漢字
    counted = word_counts(normalise(content_from_text("one 漢字 two 字")))
    assert counted.words == 3
    assert counted.counts.tolist() == [1, 1, 1]


def test_counting_makes_room_for_many_words() -> None:
    text = " ".join(f"w{number} w{number}" for number in range(40_000))
    counted = word_counts(normalise(content_from_text(text)))
    assert counted.words == 80_000
    assert abs(counted.counts.size - 40_000) < 3  # two words may have one hash
    assert np.all(np.diff(counted.hashes.astype(np.int64)) > 0)


def test_unknown_word_weighs_only_where_it_bursts() -> None:
    filler = [f"f{number}" for number in range(20_000)]
    bunched, spread = list(filler), list(filler)
    bunched[5_000:5_010] = ["quillfeather"] * 10
    for place in range(0, 20_000, 2_000):
        spread[place] = "quillfeather"
    nothing = VectorWeights(np.zeros(1, np.uint32), np.zeros(1, np.uint8))
    for words, expected in ((bunched, int(10**0.5 * 64) * RAREST), (spread, 0)):
        counted = word_counts(normalise(content_from_text(" ".join(words))))
        assert word_weights(counted, nothing)[counted.counts == 10].tolist() == [expected]


def test_known_word_weighs_the_root_of_its_count_times_its_rarity() -> None:
    counted = word_counts(normalise(content_from_text("sea " * 9)))
    weights = VectorWeights(counted.hashes, np.array([100], np.uint8))
    assert word_weights(counted, weights).tolist() == [3 * 64 * 100]


def test_cosine_is_that_of_the_share_of_equal_signs() -> None:
    zeros = np.zeros(BYTES, np.uint8)
    others = np.zeros((3, BYTES), np.uint8)
    others[1, : BYTES // 2] = 255
    others[2] = 255
    assert cosines(zeros, others) == pytest.approx([1, 0, -1], abs=1e-6)
    assert cosine(zeros, others[1]) == pytest.approx(0, abs=1e-6)
    assert cosines(zeros, others[:0]).shape == (0,)


def test_weights_come_back_from_their_bytes() -> None:
    weights = read_vector_weights()
    data = pack_weights(weights)
    again = unpack_weights(data)
    assert np.array_equal(again.rarity, weights.rarity)
    assert np.array_equal(again.hashes, weights.hashes)
    for broken in (b"", data[:-1], b"XXXX" + data[4:]):
        with pytest.raises(InvalidInput):
            unpack_weights(broken)
