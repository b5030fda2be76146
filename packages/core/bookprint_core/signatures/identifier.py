"""The identifiers of a book: its main signatures in one short string with a check.

Vladimir et al. (2015) propose an identifier that preserves similarity; their outlook asks for the length and
for a composite with the ISBN. Two libraries compare identifiers offline, and similar books have a small
`distance`. Identifiers are written in Crockford's base32: digits and small letters without i, l, o and u.
Upper and lower case are equal, hyphens are ignored, I and L are read as 1, and O as 0.

`bp1:` and 32 characters are 160 bits: recipe code (8), fingerprint (128), length code (8), and the
CRC-16/XMODEM of these 18 bytes (16). The length code is 10·log2 of the word count, rounded. The check finds
every single wrong character and every swap of two neighbours.

`bp2:` and 60 characters are 300 bits: recipe code (8), fingerprint (128), lowest bit of each of the 128
MinHash values (128), length code (8), shingle code (12), check (16). The shingle code is 100·log2 of the
count of distinct shingles, rounded. The check is the CRC-16/XMODEM of the first 284 bits with four zero bits
before them. The MinHash bits distinguish parts and noisy copies from strangers if the fingerprint cannot.

A composite identifier is a short or long one, a full stop and the 13 printed digits of the ISBN, whose last
digit is a check (ISO 2108). The ISBN names the edition, and the content corrects wrong or missing ISBNs.
"""

import re
from binascii import crc_hqx
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import NamedTuple

import numpy as np

from bookprint_core.errors import InvalidIdentifier
from bookprint_core.model import (
    Book,
    Entry,
    Fingerprint,
    Identified,
    Metadata,
    MinHashBits,
    Sketch,
    Submission,
    require_same_recipe,
)
from bookprint_core.recipe import DEFAULT_MINHASH, FINGERPRINT_RECIPES, fingerprint_recipe
from bookprint_core.signatures.minhash import lowest_bits
from bookprint_core.signatures.simhash import hamming
from bookprint_core.text.catalogue_values import ean_digit

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Letters of the values from 0 to 31, in Crockford's base32."""

LENGTH_STEPS = 10
"""Steps of the length code per doubling of the word count."""

SHINGLE_STEPS = 100
"""Steps of the shingle code per doubling of the count."""

_SHORT, _LONG = "bp1:", "bp2:"
_SHORT_LETTERS, _LONG_LETTERS = 32, 60
_LONG_HEAD = 36  # bytes before the check

_PAIRS = tuple(first + second for first in LETTERS for second in LETTERS)
_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_READ = str.maketrans(LETTERS + "ilo", _DIGITS + "110", "-")
_LETTER_CODES = np.frombuffer(LETTERS.encode(), dtype=np.uint8)
_BYTES = tuple(bytes([value]) for value in range(256))
_PLACES = np.array([16, 8, 4, 2, 1], dtype=np.uint8)
_ISBN = re.compile(r"97[89][0-9]{10}")


@dataclass(frozen=True, slots=True)
class Identifier:
    """The contents of an identifier."""

    fingerprint: Fingerprint
    word_count: int  # within 4 %
    minhash: MinHashBits | None = None  # None: a `bp1:` identifier
    isbn: str | None = None  # 13 digits; None: not a composite identifier


class WrittenIdentifiers(NamedTuple):
    """The identifiers of a book's present content; None if a signature for it is missing."""

    short: str | None
    long: str | None
    composite: str | None  # the longer of the two and an ISBN


def is_identifier(text: str) -> bool:
    """Return whether a text begins as an identifier of a book, damaged or not."""
    return text[:4].lower() in (_SHORT, _LONG)


def encode(fingerprint: Fingerprint, word_count: int) -> str:
    """Encode the identifier of a book; raise InvalidInput if the recipe has no identifiers.

    >>> encode(Fingerprint("gap-simhash128-v1", bytes(range(16))), 95_012)
    'bp1:040020g30g2gc1r81450p30d1r7tarna'
    """
    body = _short_body(_recipe_code(fingerprint.recipe), fingerprint.bits, word_count)
    return _SHORT + to_letters(int.from_bytes(body), _SHORT_LETTERS)


def encode_each(books: Sequence[tuple[Fingerprint, int]]) -> list[str]:
    """Encode the identifiers of books from fingerprints and word counts; raise the errors of `encode`."""
    # Most lookups find no book; even then the steps below would take as long as for a few books.
    if not books:
        return []
    codes = {recipe: _recipe_code(recipe) for recipe in {fingerprint.recipe for fingerprint, _ in books}}
    data = b"".join([_short_body(codes[signed.recipe], signed.bits, words) for signed, words in books])
    fives = np.unpackbits(np.frombuffer(data, dtype=np.uint8)).reshape(-1, 5) @ _PLACES
    letters = _LETTER_CODES[fives].tobytes().decode()
    return [_SHORT + letters[at : at + _SHORT_LETTERS] for at in range(0, len(letters), _SHORT_LETTERS)]


def encode_long(fingerprint: Fingerprint, minhash: MinHashBits, word_count: int) -> str:
    """Encode the long identifier of a book; raise InvalidInput if the recipe has no identifiers.

    >>> bits = MinHashBits("word5-minhash128-v1", bytes(range(16, 32)), 94_012)
    >>> encode_long(Fingerprint("gap-simhash128-v1", bytes(range(16))), bits, 95_012)
    'bp2:040020g30g2gc1r81450p30d1r7h048j2ca1a5gq30chm6rw3mf1z9b79xeb'
    """
    head = int.from_bytes(_recipe_code(fingerprint.recipe) + fingerprint.bits + minhash.bits) << 20
    head |= length_code(word_count) << 12
    head |= min(0xFFF, round(SHINGLE_STEPS * log2(max(1, minhash.shingle_count))))
    return _LONG + to_letters(head << 16 | _long_check(head), _LONG_LETTERS)


def composite(identifier: str, isbn: str) -> str:
    """Join a `bp1:` or `bp2:` identifier and an ISBN of 13 digits to a composite identifier.

    >>> composite("bp1:040020g30g2gc1r81450p30d1r7tarna", "9780141439600")
    'bp1:040020g30g2gc1r81450p30d1r7tarna.9780141439600'
    """
    return f"{identifier}.{isbn}"


def of_book(book: Book, isbn: str | None) -> WrittenIdentifiers:
    """Encode the identifiers of a book with this ISBN."""
    if book.fingerprint is None:
        return WrittenIdentifiers(None, None, None)
    short = encode(book.fingerprint, book.word_count)
    long = None
    if book.minhash is not None:
        long = encode_long(book.fingerprint, book.minhash, book.word_count)
    return WrittenIdentifiers(short, long, composite(long or short, isbn) if isbn else None)


def decode(text: str) -> Identifier:
    """Read a `bp1:`, `bp2:` or composite identifier.

    Raises InvalidIdentifier for any other or damaged text. Hyphens in the ISBN are ignored.

    >>> decode("bp1:040020g30g2gc1r81450p30d1r7tarna").fingerprint.hex
    '000102030405060708090a0b0c0d0e0f'
    """
    content, stop, isbn = text.partition(".")
    if not is_identifier(content):
        raise InvalidIdentifier(f"A book identifier starts with {_SHORT!r} or {_LONG!r}.", field="identifier")
    decoded = _decode_long(content) if content[:4].lower() == _LONG else _decode_short(content)
    if not stop:
        return decoded
    digits = isbn.replace("-", "")
    if not _ISBN.fullmatch(digits) or ean_digit(digits[:-1]) != digits[-1]:
        raise InvalidIdentifier(
            "After the full stop an ISBN of 13 digits is expected; here a digit is wrong or missing.",
            field="identifier",
        )
    return replace(decoded, isbn=digits)


def of_signatures(signatures: Sketch | Entry, word_count: int, isbn: str | None = None) -> Identifier | None:
    """Return the contents of the longest identifier of a book; None without a fingerprint."""
    if signatures.fingerprint is None:
        return None
    words = decoded_length(length_code(word_count))
    return Identifier(signatures.fingerprint, words, minhash_bits(signatures), isbn)


def minhash_bits(signatures: Sketch | Entry) -> MinHashBits | None:
    """Return one bit of each MinHash value of a book; of some books only these bits are known."""
    if signatures.identified is not None:
        return signatures.identified.minhash
    return None if signatures.minhash is None else lowest_bits(signatures.minhash)


def identified(text: str) -> Identified:
    """Read the data of an identifier beside its fingerprint; raise InvalidIdentifier."""
    identifier = decode(text)
    return Identified(identifier.word_count, identifier.minhash)


def known_by(identifier: Identifier, metadata: Metadata) -> Submission:
    """Make a book that is known only by its identifier; its ISBN is added to the metadata."""
    words = identifier.word_count
    sketch = Sketch(
        fingerprint=identifier.fingerprint,
        minhash=None,
        pages=None,
        word_count=words,
        character_count=words,
        page_count=None,
        identified=Identified(words, identifier.minhash),
    )
    if identifier.isbn is not None:
        identifiers = dict.fromkeys((*metadata.identifiers, f"isbn:{identifier.isbn}"))
        metadata = replace(metadata, identifiers=tuple(identifiers))
    return Submission(metadata, sketch=sketch)


def written(identifier: Identifier) -> str:
    """Write the identifier as one string, without its ISBN; this reverses `decode`."""
    if identifier.minhash is None:
        return encode(identifier.fingerprint, identifier.word_count)
    return encode_long(identifier.fingerprint, identifier.minhash, identifier.word_count)


def distance(a: str, b: str) -> int:
    """Compute the Hamming distance, 0 to 128, of two books from their identifiers.

    Raises InvalidIdentifier, or RecipeMismatch if their recipes differ.
    """
    left, right = decode(a).fingerprint, decode(b).fingerprint
    require_same_recipe(left.recipe, right.recipe)
    return hamming(left.bits, right.bits)


def length_code(word_count: int) -> int:
    """Return the code of a word count, 0 to 255."""
    return min(255, round(LENGTH_STEPS * log2(max(1, word_count))))


def decoded_length(code: int) -> int:
    """Return the word count that a code represents."""
    return round(2 ** (code / LENGTH_STEPS))


def to_letters(number: int, count: int) -> str:
    """Write the lowest 5·count bits of a number in Crockford's base32, the highest bits first.

    >>> to_letters(33, 3)
    '011'
    """
    first = LETTERS[number >> 5 * (count - 1) & 31] if count % 2 else ""
    return first + "".join(
        [_PAIRS[number >> 5 * place & 1023] for place in range(count - count % 2 - 2, -1, -2)]
    )


def to_number(letters: str, count: int) -> int | None:
    """Read a number from `count` letters of 5 bits each; None for other letters or another count.

    >>> to_number("O1-L", 3), to_number("u00", 3)
    (33, None)
    """
    digits = letters.lower().translate(_READ)
    # int() accepts U as a digit of base 32, but Crockford's base32 has no U.
    if len(digits) != count or "u" in letters.lower() or not set(digits) <= set(_DIGITS):
        return None
    return int(digits, 32)


def _decode_short(identifier: str) -> Identifier:
    data = _number(identifier, _SHORT_LETTERS).to_bytes(20)
    _require_check(crc_hqx(data[:18], 0) == int.from_bytes(data[18:]))
    return Identifier(Fingerprint(_recipe_of(data[0]), data[1:17]), decoded_length(data[17]))


def _decode_long(identifier: str) -> Identifier:
    number = _number(identifier, _LONG_LETTERS)
    head = number >> 16
    _require_check(_long_check(head) == number & 0xFFFF)
    data = (head >> 20).to_bytes(33)
    # A future recipe code may name another MinHash recipe.
    bits = MinHashBits(DEFAULT_MINHASH, data[17:], round(2 ** ((head & 0xFFF) / SHINGLE_STEPS)))
    return Identifier(Fingerprint(_recipe_of(data[0]), data[1:17]), decoded_length(head >> 12 & 0xFF), bits)


def _number(identifier: str, count: int) -> int:
    number = to_number(identifier[4:], count)
    if number is None:
        raise InvalidIdentifier(
            f"After {identifier[:4].lower()!r} {count} characters of Crockford's base32 are expected.",
            field="identifier",
        )
    return number


def _require_check(holds: bool) -> None:
    if not holds:
        raise InvalidIdentifier(
            "The identifier's check fails: it was damaged in copying.", field="identifier"
        )


def _recipe_code(recipe: str) -> bytes:
    """Return the byte for a fingerprint recipe; raise UnknownRecipe."""
    return _BYTES[fingerprint_recipe(recipe).identifier_code]


def _recipe_of(code: int) -> str:
    """Return the fingerprint recipe of a byte; raise InvalidIdentifier if it is not known."""
    for recipe in FINGERPRINT_RECIPES.values():
        if recipe.identifier_code == code:
            return recipe.name
    raise InvalidIdentifier(
        f"The identifier is of recipe {code}, which this version does not know.", field="identifier"
    )


def _short_body(code: bytes, bits: bytes, word_count: int) -> bytes:
    body = code + bits + _BYTES[length_code(word_count)]
    return body + crc_hqx(body, 0).to_bytes(2, "big")


def _long_check(head: int) -> int:
    return crc_hqx(head.to_bytes(_LONG_HEAD), 0)
