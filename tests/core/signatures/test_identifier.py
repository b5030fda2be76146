"""The `bp1:` identifier."""

from binascii import crc_hqx

import pytest
from hypothesis import given, strategies as st

from app.core.errors import InvalidIdentifier, InvalidInput, RecipeMismatch
from app.core.model import Fingerprint
from app.core.recipe import FINGERPRINT_RECIPES
from app.core.signatures.identifier import decode, distance, encode, encode_each
from app.core.signatures.simhash import hamming

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


@given(BITS, st.integers(0, 30))
def test_every_swap_of_neighbours_is_noticed(bits: bytes, place: int) -> None:
    right = encode(Fingerprint(GAP, bits), 50_000)
    at = 4 + place
    wrong = right[:at] + right[at + 1] + right[at] + right[at + 2 :]
    if wrong != right:
        with pytest.raises(InvalidIdentifier):
            decode(wrong)


@given(BITS)
def test_identifier_needs_no_escaping_and_may_be_written_in_capitals_with_hyphens(bits: bytes) -> None:
    right = encode(Fingerprint(GAP, bits), 50_000)
    assert set(right[4:]) <= set(LETTERS)
    assert decode("-".join([right[:12].upper(), right[12:20], right[20:]])) == decode(right)


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


def test_recipes_that_cannot_be_indexed_have_no_identifier() -> None:
    with pytest.raises(InvalidInput, match="have no identifier"):
        encode(Fingerprint("tf-simhash64-v1", bytes(8)), 9)


def test_recipe_codes_are_not_shared() -> None:
    codes = [
        each.identifier_code for each in FINGERPRINT_RECIPES.values() if each.identifier_code is not None
    ]
    assert len(codes) == len(set(codes)) == 2
