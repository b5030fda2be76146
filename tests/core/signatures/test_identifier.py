"""The identifiers `bp1:` and `bp2:`, and the composite one with an ISBN."""

from binascii import crc_hqx

import pytest
from hypothesis import given, strategies as st

from bookprint_core.errors import InvalidIdentifier, RecipeMismatch
from bookprint_core.model import Fingerprint, MinHashBits
from bookprint_core.recipe import DEFAULT_MINHASH
from bookprint_core.signatures.identifier import (
    composite,
    decode,
    distance,
    encode,
    encode_each,
    encode_long,
    to_letters,
)
from bookprint_core.signatures.simhash import hamming
from tests.vectors.test_vectors import LONG_IDENTIFIERS

BITS = st.binary(min_size=16, max_size=16)
LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
GAP = "gap-simhash128-v1"


def _crockford(body: bytes) -> str:
    number = int.from_bytes(body + crc_hqx(body, 0).to_bytes(2, "big"), "big")
    return "bp1:" + "".join(LETTERS[number >> 5 * place & 31] for place in reversed(range(32)))


@given(BITS, st.sampled_from([GAP, "tf-simhash128-v1"]), st.integers(1, 40_000_000))
def test_identifier_says_recipe_bits_and_length(bits: bytes, recipe: str, words: int) -> None:
    decoded = decode(encode(Fingerprint(recipe, bits), words))
    assert decoded.fingerprint == Fingerprint(recipe, bits)
    assert abs(decoded.word_count - words) <= 0.04 * words + 1


@given(st.lists(st.tuples(BITS, st.sampled_from([GAP, "tf-simhash128-v1"]), st.integers(1, 40_000_000))))
def test_identifiers_of_many_are_those_of_each(books: list[tuple[bytes, str, int]]) -> None:
    signed = [(Fingerprint(recipe, bits), words) for bits, recipe, words in books]
    assert encode_each(signed) == [encode(*pair) for pair in signed]


@given(BITS, BITS, st.integers(1, 10**6))
def test_distance_of_two_identifiers_is_that_of_their_fingerprints(
    first: bytes, second: bytes, words: int
) -> None:
    identifiers = encode(Fingerprint(GAP, first), words), encode(Fingerprint(GAP, second), 7)
    assert distance(*identifiers) == hamming(first, second)


@given(BITS, st.integers(0, 31), st.sampled_from(LETTERS))
def test_every_single_wrong_character_is_noticed(bits: bytes, place: int, letter: str) -> None:
    right = encode(Fingerprint(GAP, bits), 50_000)
    wrong = right[: 4 + place] + letter + right[5 + place :]
    if wrong != right:
        with pytest.raises(InvalidIdentifier):
            decode(wrong)


@pytest.mark.parametrize(
    "text", ["", "bp1:", "bp1", "isbn:9780141439600", "bp1:" + "0" * 31, "bp1:" + "é" * 32, "x" * 10**6]
)
def test_other_strings_are_refused(text: str) -> None:
    with pytest.raises(InvalidIdentifier) as refusal:
        decode(text)
    assert refusal.value.field == "identifier"


def test_unknown_recipe_code_is_refused_by_name() -> None:
    with pytest.raises(InvalidIdentifier, match="of recipe 9, which this version does not know"):
        decode(_crockford(bytes([9]) + bytes(17)))


def test_identifiers_of_two_recipes_are_not_compared() -> None:
    first, second = (encode(Fingerprint(recipe, bytes(16)), 9) for recipe in (GAP, "tf-simhash128-v1"))
    with pytest.raises(RecipeMismatch):
        distance(first, second)


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
    assert (decoded.minhash.recipe, decoded.minhash.bits) == (DEFAULT_MINHASH, bits)
    assert abs(decoded.minhash.shingle_count - shingles) <= 0.004 * shingles + 1


def test_golden_vectors_are_made_of_the_bits_that_the_documentation_names() -> None:
    for vector in LONG_IDENTIFIERS["valid"]:
        head = bytes([vector["recipe_code"]]) + bytes.fromhex(vector["hex"] + vector["minhash_bits"])
        tail = vector["length_code"] << 12 | vector["shingle_code"]
        letters = to_letters((int.from_bytes(head) << 20 | tail) << 16 | vector["check"], 60)
        assert f"bp2:{letters}" == vector["identifier"]


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
