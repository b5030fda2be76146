"""The `bp2:` identifier, and the composite one with an ISBN."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from app.core.errors import InvalidIdentifier, InvalidInput
from app.core.model import Fingerprint, MinHashBits
from app.core.recipe import DEFAULT_MINHASH
from app.core.signatures.identifier import LETTERS, composite, decode, encode, encode_long, to_letters

BITS = st.binary(min_size=16, max_size=16)
GAP = "gap-simhash128-v1"
ISBN = "9780141439600"
SHORT = encode(Fingerprint(GAP, bytes(range(16))), 50_000)


def long(fingerprint: bytes, bits: bytes = bytes(16), words: int = 50_000, shingles: int = 49_000) -> str:
    return encode_long(Fingerprint(GAP, fingerprint), MinHashBits(DEFAULT_MINHASH, bits, shingles), words)


@given(BITS, BITS, st.sampled_from([GAP, "tf-simhash128-v1"]), st.integers(1, 40_000_000), st.data())
def test_long_identifier_says_what_the_short_one_says_and_the_minhash_bits(
    fingerprint: bytes, bits: bytes, recipe: str, words: int, data: st.DataObject
) -> None:
    shingles = data.draw(st.integers(1, words))
    signed = Fingerprint(recipe, fingerprint)
    decoded = decode(encode_long(signed, MinHashBits(DEFAULT_MINHASH, bits, shingles), words))
    short = decode(encode(signed, words))
    assert (decoded.fingerprint, decoded.word_count) == (short.fingerprint, short.word_count)
    assert decoded.minhash is not None
    assert (decoded.minhash.recipe, decoded.minhash.bits) == (DEFAULT_MINHASH, bits)
    assert abs(decoded.minhash.shingle_count - shingles) <= 0.004 * shingles + 1


@given(BITS, BITS, st.integers(0, 59), st.sampled_from(LETTERS))
def test_every_single_wrong_character_is_noticed(
    fingerprint: bytes, bits: bytes, place: int, letter: str
) -> None:
    right = long(fingerprint, bits)
    wrong = right[: 4 + place] + letter + right[5 + place :]
    if wrong != right:
        with pytest.raises(InvalidIdentifier):
            decode(wrong)


@given(BITS, BITS, st.integers(0, 58))
def test_every_swap_of_neighbours_is_noticed(fingerprint: bytes, bits: bytes, place: int) -> None:
    right = long(fingerprint, bits)
    at = 4 + place
    wrong = right[:at] + right[at + 1] + right[at] + right[at + 2 :]
    if wrong != right:
        with pytest.raises(InvalidIdentifier):
            decode(wrong)


@pytest.mark.parametrize(
    "text", ["", "bp2:", "bp2:" + "0" * 59, "bp2:" + "0" * 61, "bp2:" + "é" * 60, "bp2:" + "u" * 60]
)
def test_other_strings_are_no_long_identifiers(text: str) -> None:
    with pytest.raises(InvalidIdentifier) as refusal:
        decode(text)
    assert refusal.value.field == "identifier"


def test_recipes_without_a_code_have_no_long_identifier() -> None:
    with pytest.raises(InvalidInput):
        encode_long(Fingerprint("tf-simhash64-v1", bytes(8)), MinHashBits(DEFAULT_MINHASH, bytes(16), 9), 9)


def test_golden_vectors_are_made_of_the_bits_that_the_documentation_names(vectors: Any) -> None:
    for vector in vectors:
        head = bytes([vector["recipe_code"]]) + bytes.fromhex(vector["hex"] + vector["minhash_bits"])
        tail = vector["length_code"] << 12 | vector["shingle_code"]
        letters = to_letters((int.from_bytes(head) << 20 | tail) << 16 | vector["check"], 60)
        assert f"bp2:{letters}" == vector["identifier"]


@pytest.fixture
def vectors() -> Any:
    from tests.vectors.test_vectors import LONG_IDENTIFIERS

    return LONG_IDENTIFIERS["valid"]


@pytest.mark.parametrize("content", [SHORT, long(bytes(range(16)))])
def test_composite_identifier_is_the_content_and_the_isbn(content: str) -> None:
    both = composite(content, ISBN)
    assert both == f"{content}.{ISBN}"
    decoded, alone = decode(both.upper()), decode(content)
    assert (decoded.fingerprint, decoded.minhash, decoded.word_count) == (
        alone.fingerprint,
        alone.minhash,
        alone.word_count,
    )
    assert (decoded.isbn, alone.isbn) == (ISBN, None)
    assert decode(f"{content}.978-0-14-143960-0").isbn == ISBN


@pytest.mark.parametrize(
    "isbn", ["", "9780141439601", "9780141439606", "0141439602", "978014143960", ISBN + ".", "٩" * 13]
)
def test_composite_identifier_with_a_wrong_isbn_is_refused(isbn: str) -> None:
    with pytest.raises(InvalidIdentifier, match="ISBN of 13 digits"):
        decode(f"{SHORT}.{isbn}")


@pytest.mark.parametrize("text", [ISBN, f".{ISBN}", f"bp3:{'0' * 32}", f"{SHORT[:-1]}.{ISBN}", ""])
def test_composite_identifier_with_a_wrong_content_is_refused(text: str) -> None:
    with pytest.raises(InvalidIdentifier):
        decode(text)


def test_bits_are_the_lowest_of_the_values_in_their_order() -> None:
    from app.core.model import MinHashSignature
    from app.core.signatures.minhash import lowest_bits

    values = np.zeros(128, dtype=np.uint32)
    values[[0, 9, 127]] = (1, 0xFFFF_FFFF, 3)
    values[1] = 0xFFFF_FFFE
    assert lowest_bits(MinHashSignature(DEFAULT_MINHASH, values, 5)) == MinHashBits(
        DEFAULT_MINHASH, b"\x80\x40" + bytes(13) + b"\x01", 5
    )
