"""The long identifier `bp2:…`: what `bp1:` says, one bit of each MinHash value and the shingle count.

With the MinHash bits, parts and noisy copies are told from strangers that the fingerprint alone leaves in
doubt. After `bp2:` stand 60 characters of Crockford's base32, 300 bits: recipe code (8), fingerprint (128),
lowest bit of each of the 128 MinHash values (128), length code (8), shingle code (12), check (16). Recipe and
length codes are those of `bp1:`. The shingle code is 100·log2 of the count of distinct shingles, rounded. The
check is the CRC-16/XMODEM of the first 284 bits with four zero bits before them.
"""

from binascii import crc_hqx
from math import log2

from app.core.errors import InvalidIdentifier
from app.core.model import Fingerprint, MinHashBits
from app.core.recipe import DEFAULT_MINHASH
from app.core.signatures.crockford import to_letters, to_number
from app.core.signatures.identifier import Identifier, decoded_length, length_code, recipe_code, recipe_of

PREFIX = "bp2:"
LETTERS = 60
SHINGLE_STEPS = 100
"""Steps of the shingle code for each doubling of the count."""

MINHASH_RECIPE = DEFAULT_MINHASH
"""Of all identifiers until a recipe code says otherwise."""

_HEAD = 36  # bytes before the check


def encode(fingerprint: Fingerprint, minhash: MinHashBits, word_count: int) -> str:
    """The long identifier of a book; raises InvalidInput if the recipe has no identifiers.

    >>> bits = MinHashBits("word5-minhash128-v1", bytes(range(16, 32)), 94_012)
    >>> encode(Fingerprint("gap-simhash128-v1", bytes(range(16))), bits, 95_012)
    'bp2:040020g30g2gc1r81450p30d1r7h048j2ca1a5gq30chm6rw3mf1z9b79xeb'
    """
    head = int.from_bytes(recipe_code(fingerprint.recipe) + fingerprint.bits + minhash.bits) << 20
    head |= length_code(word_count) << 12 | _shingle_code(minhash.shingle_count)
    return PREFIX + to_letters(head << 16 | _check(head), LETTERS)


def decode(identifier: str) -> Identifier:
    """The contents of a long identifier; raises InvalidIdentifier if it is none or was damaged."""
    number = to_number(identifier[len(PREFIX) :], LETTERS)
    if identifier[: len(PREFIX)].lower() != PREFIX or number is None:
        raise InvalidIdentifier(
            f"After {PREFIX!r} {LETTERS} characters of Crockford's base32 are expected.", field="identifier"
        )
    head = number >> 16
    if _check(head) != number & 0xFFFF:
        raise InvalidIdentifier(
            "The identifier's check fails: it was damaged in copying.", field="identifier"
        )
    data = (head >> 20).to_bytes(33)
    bits = MinHashBits(MINHASH_RECIPE, data[17:], round(2 ** ((head & 0xFFF) / SHINGLE_STEPS)))
    return Identifier(Fingerprint(recipe_of(data[0]), data[1:17]), decoded_length(head >> 12 & 0xFF), bits)


def _shingle_code(count: int) -> int:
    return min(0xFFF, round(SHINGLE_STEPS * log2(max(1, count))))


def _check(head: int) -> int:
    return crc_hqx(head.to_bytes(_HEAD), 0)
