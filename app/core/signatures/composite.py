"""Content and ISBN in one string, `bp1:….ISBN` or `bp2:….ISBN`, and the reading of any identifier of a book.

Vladimir et al. (2015) name such a composite identifier in their outlook: catalogues know an edition by its
ISBN, and the content tells what the ISBN misses or confuses. After the full stop stand the 13 digits of the
ISBN as they are printed, whose last one is their check (ISO 2108).
"""

import re
from dataclasses import replace

from app.core.errors import InvalidIdentifier
from app.core.model import Entry, Sketch
from app.core.signatures import identifier as short_identifier, long_identifier
from app.core.signatures.identifier import Identifier, decoded_length, length_code
from app.core.signatures.minhash_bits import lowest_bits

_ISBN = re.compile(r"97[89][0-9]{10}")


def is_identifier(text: str) -> bool:
    """Whether a text is written as an identifier of a book, damaged or not."""
    return text[:4].lower() in (short_identifier.PREFIX, long_identifier.PREFIX)


def composite(identifier: str, isbn: str) -> str:
    """The composite identifier of a `bp1:` or `bp2:` identifier and an ISBN of 13 digits.

    >>> composite("bp1:040020g30g2gc1r81450p30d1r7tarna", "9780141439600")
    'bp1:040020g30g2gc1r81450p30d1r7tarna.9780141439600'
    """
    return f"{identifier}.{isbn}"


def decode(text: str) -> Identifier:
    """The contents of a `bp1:`, `bp2:` or composite identifier.

    Raises InvalidIdentifier if it is none of them or was damaged. Hyphens in the ISBN are ignored.
    """
    content, stop, isbn = text.partition(".")
    if not is_identifier(content):
        raise InvalidIdentifier("A book identifier starts with 'bp1:' or 'bp2:'.", field="identifier")
    is_long = content[:4].lower() == long_identifier.PREFIX
    decoded = long_identifier.decode(content) if is_long else short_identifier.decode(content)
    if not stop:
        return decoded
    digits = isbn.replace("-", "")
    if not _ISBN.fullmatch(digits) or _check_digit(digits) != digits[-1]:
        raise InvalidIdentifier(
            "After the full stop an ISBN of 13 digits is expected; here a digit is wrong or missing.",
            field="identifier",
        )
    return replace(decoded, isbn=digits)


def of_signatures(signatures: Sketch | Entry, word_count: int, isbn: str | None = None) -> Identifier | None:
    """What the longest identifier of a book with these signatures says; None without a fingerprint."""
    fingerprint, minhash = signatures.fingerprint, signatures.minhash
    if fingerprint is None:
        return None
    words = decoded_length(length_code(word_count))
    return Identifier(fingerprint, words, None if minhash is None else lowest_bits(minhash), isbn)


def _check_digit(digits: str) -> str:
    weighted = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits[:12]))
    return str(-weighted % 10)
