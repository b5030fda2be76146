"""The book identifier `bp1:…`: recipe, 128 fingerprint bits and length in one short string with a check.

The idea of an identifier that preserves similarity is that of Vladimir et al. (2015), whose outlook also asks
for the length: two libraries compare identifiers offline, and similar books have a small `distance`.

After `bp1:` stand 32 characters of Crockford's base32, 160 bits: recipe code (8), fingerprint (128), length
code (8), CRC-16/XMODEM of those 18 bytes (16). The length code is 10·log2 of the word count, rounded. The
check finds every single wrong character and every swap of two neighbours.
"""

from binascii import crc_hqx
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

from app.core.errors import InvalidIdentifier, InvalidInput
from app.core.model import Fingerprint, MinHashBits, require_same_recipe
from app.core.recipe import FINGERPRINT_RECIPES, fingerprint_recipe
from app.core.signatures import crockford
from app.core.signatures.simhash import hamming

PREFIX = "bp1:"
LENGTH_STEPS = 10
"""Steps of the length code for each doubling of the word count."""

_LETTERS = np.frombuffer(crockford.LETTERS.encode(), dtype=np.uint8)
_BYTES = tuple(bytes([value]) for value in range(256))
_PLACES = np.array([16, 8, 4, 2, 1], dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Identifier:
    """The contents of an identifier."""

    fingerprint: Fingerprint
    word_count: int  # within 4 %
    minhash: MinHashBits | None = None  # None: a `bp1:` identifier
    isbn: str | None = None  # 13 digits; None: it is not a composite one


def encode(fingerprint: Fingerprint, word_count: int) -> str:
    """The identifier of a book; raises InvalidInput if the recipe has no identifiers.

    >>> encode(Fingerprint("gap-simhash128-v1", bytes(range(16))), 95_012)
    'bp1:040020g30g2gc1r81450p30d1r7tarna'
    """
    [identifier] = encode_each([(fingerprint, word_count)])
    return identifier


def encode_each(books: Sequence[tuple[Fingerprint, int]]) -> list[str]:
    """The identifiers of books from their fingerprints and word counts; raises as `encode` does."""
    # Most lookups find none, and encoding nothing takes as long as encoding a few.
    if not books:
        return []
    codes = {recipe: recipe_code(recipe) for recipe in {fingerprint.recipe for fingerprint, _ in books}}
    data = b"".join([_body(codes[signed.recipe], signed.bits, words) for signed, words in books])
    fives = np.unpackbits(np.frombuffer(data, dtype=np.uint8)).reshape(-1, 5) @ _PLACES
    letters = _LETTERS[fives].tobytes().decode()
    return [PREFIX + letters[at : at + 32] for at in range(0, len(letters), 32)]


def recipe_code(recipe: str) -> bytes:
    """The byte that stands for a fingerprint recipe; raises InvalidInput if the recipe has no identifiers."""
    code = fingerprint_recipe(recipe).identifier_code
    if code is None:
        raise InvalidInput(f"Fingerprints of {recipe} have no identifier.", field="recipe")
    return bytes([code])


def recipe_of(code: int) -> str:
    """The fingerprint recipe that a byte stands for; raises InvalidIdentifier if it is not known."""
    for recipe in FINGERPRINT_RECIPES.values():
        if recipe.identifier_code == code:
            return recipe.name
    raise InvalidIdentifier(
        f"The identifier is of recipe {code}, which this version does not know.", field="identifier"
    )


def length_code(word_count: int) -> int:
    """The code of a word count, 0 to 255."""
    return min(255, round(LENGTH_STEPS * log2(max(1, word_count))))


def decoded_length(code: int) -> int:
    """The word count that a code stands for."""
    return round(2 ** (code / LENGTH_STEPS))


def _body(code: bytes, bits: bytes, word_count: int) -> bytes:
    body = code + bits + _BYTES[length_code(word_count)]
    return body + crc_hqx(body, 0).to_bytes(2, "big")


def decode(identifier: str) -> Identifier:
    """The contents of an identifier; raises InvalidIdentifier if it is none or was damaged.

    >>> decode("bp1:040020g30g2gc1r81450p30d1r7tarna").fingerprint.hex
    '000102030405060708090a0b0c0d0e0f'
    """
    if identifier[: len(PREFIX)].lower() != PREFIX:
        raise InvalidIdentifier(f"A book identifier starts with {PREFIX!r}.", field="identifier")
    number = crockford.to_number(identifier[len(PREFIX) :], 32)
    if number is None:
        raise InvalidIdentifier(
            f"After {PREFIX!r} 32 characters of Crockford's base32 are expected.", field="identifier"
        )
    data = number.to_bytes(20)
    if crc_hqx(data[:18], 0) != int.from_bytes(data[18:]):
        raise InvalidIdentifier(
            "The identifier's check fails: it was damaged in copying.", field="identifier"
        )
    return Identifier(Fingerprint(recipe_of(data[0]), data[1:17]), decoded_length(data[17]))


def distance(a: str, b: str) -> int:
    """The Hamming distance, 0 to 128, of two books from their identifiers alone.

    Raises InvalidIdentifier, or RecipeMismatch if their recipes differ.
    """
    left, right = decode(a).fingerprint, decode(b).fingerprint
    require_same_recipe(left.recipe, right.recipe)
    return hamming(left.bits, right.bits)
