"""Digests: hashes with which other systems find equal texts, computed in the same way.

`md5-text` is the MD5 of a text. `textprofile-md5-v1` is the `TextProfileSignature` of Apache Nutch (2026):
the MD5 of frequent words with rounded counts, which does not change with a few words. Digests have no
distance; only their equality means anything.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import md5
from types import MappingProxyType
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from bookprint_core.errors import InvalidInput, UnknownRecipe
from bookprint_core.model import Digest
from bookprint_core.recipe import MD5_TEXT, TEXTPROFILE_MD5
from bookprint_core.text.unicode_table import ALNUM, unicode_table

_UNITS = 1 << 16
_SPACE = 0x20

# Letters that the frozen table does not mark, because their normal forms contain no letter or are dropped.
_OTHER_LETTERS = (0x37A, 0x115F, 0x1160, 0x3164, 0xFF9E, 0xFF9F, 0xFFA0)
_ARABIC_MARKS_ALONE = (*range(0xFC5E, 0xFC64), *range(0xFE70, 0xFE80, 2))


def md5_text(text: str) -> bytes:
    """Compute the MD5 of a text in UTF-8; 16 bytes.

    Nutch's `TextMD5Signature` is equal if every character is in the Basic Multilingual Plane. Nutch encodes
    other characters as two surrogates of three bytes each.
    """
    return md5(text.encode(), usedforsecurity=False).digest()


def textprofile_md5(text: str) -> bytes | None:
    """Compute the MD5 of a text's profile; 16 bytes, None if the profile is empty.

    Nutch gives every text without tokens the MD5 of nothing. These texts are not copies of each other, so
    here they have no digest.
    """
    profile = text_profile(text)
    return md5(profile.encode(), usedforsecurity=False).digest() if profile else None


def text_profile(text: str) -> str:
    """Compute the profile of a text, a token and its rounded count per line, by the rules of Nutch from 1.16:

    1. A token is a run of UTF-16 units that Java's `Character.isLetterOrDigit` accepts, each in lower case by
       itself. Marks and characters beyond U+FFFF separate tokens.
    2. Tokens of one or two units are dropped.
    3. The step is 1 % of the highest count as a 32-bit float, halves rounded up, and at least 2; it is 1 if
       every count is 1.
    4. Counts are rounded down to multiples of the step, and tokens below it are dropped.
    5. The highest counts are first; tokens with equal counts are in the order of their UTF-16 units.

    >>> text_profile("The cat and the dog. The end, the END!")
    'the 4\\nend 2'
    """
    units = np.frombuffer(text.encode("utf-16-le"), dtype="<u2")
    tokens = _lower_units()[units].tobytes().decode("utf-16-le").split()
    counts = Counter(token for token in tokens if len(token) > 2)
    step = _step(max(counts.values(), default=0))
    rounded = [(token, count // step * step) for token, count in counts.items() if count >= step]
    # No token contains a character beyond U+FFFF, so code points have the order of UTF-16 units.
    rounded.sort(key=lambda each: (-each[1], each[0]))
    return "\n".join(f"{token} {count}" for token, count in rounded)


def _step(highest: int) -> int:
    share = np.float32(highest) * np.float32(0.01)
    return max(math.floor(float(share) + 0.5), 2 if highest > 1 else 1)


@cache
def _lower_units() -> NDArray[np.uint16]:
    """Make the table of UTF-16 units: the lower case of a letter or digit of Unicode 14, else a space."""
    frozen = unicode_table().traits[:_UNITS] & ALNUM != 0
    frozen[[*_OTHER_LETTERS, *_ARABIC_MARKS_ALONE]] = True
    lower = np.full(_UNITS, _SPACE, dtype="<u2")
    for unit in np.flatnonzero(frozen).tolist():
        character = chr(unit)
        kind = category(character)
        if kind[0] == "L" or kind == "Nd":
            lower[unit] = ord(character.lower()[0])  # İ alone becomes two characters
    return lower


_FUNCTIONS: Mapping[str, Callable[[str], bytes | None]] = MappingProxyType(
    {MD5_TEXT: md5_text, TEXTPROFILE_MD5: textprofile_md5}
)


def digests(text: str) -> tuple[Digest, ...]:
    """Compute all digests that a text has.

    A text of 600 KB takes about 23 ms, most of it for the profile.
    """
    values = ((name, function(text)) for name, function in _FUNCTIONS.items())
    return tuple(Digest(name, value) for name, value in values if value is not None)


def decode_digest(recipe: str, digits: str, field: str) -> Digest:
    """Read a digest in hexadecimal digits; raise UnknownRecipe or InvalidInput with this `field`."""
    if recipe not in _FUNCTIONS:
        known = ", ".join(_FUNCTIONS)
        raise UnknownRecipe(f"No digest is called {recipe[:80]!r}. Known: {known}.", field=field)
    if len(digits) != 32 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        raise InvalidInput("32 hexadecimal digits were expected here.", field=field)
    return Digest(recipe, bytes.fromhex(digits))


def parse_digest(written: str, field: str) -> Digest:
    """Read a digest written as NAME:HEX; raise the errors of `decode_digest`."""
    recipe, _, digits = written.partition(":")
    return decode_digest(recipe, digits, field)
