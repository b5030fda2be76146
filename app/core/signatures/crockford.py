"""Crockford's base32, in which identifiers are written: digits and small letters without i, l, o and u.

Upper and lower case are the same, hyphens are ignored, I and L read as 1 and O as 0.
"""

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
"""The letter of each value from 0 to 31."""

_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_READ = str.maketrans(LETTERS + "ilo", _DIGITS + "110", "-")


def to_letters(number: int, count: int) -> str:
    """The lowest 5·count bits of a number, the highest first.

    >>> to_letters(33, 3)
    '011'
    """
    return "".join([LETTERS[number >> 5 * place & 31] for place in reversed(range(count))])


def to_number(letters: str, count: int) -> int | None:
    """The number in so many letters, 5·count bits; None if they are not.

    >>> to_number("O1-L", 3), to_number("u00", 3)
    (33, None)
    """
    digits = letters.lower().translate(_READ)
    # A U would be read as a digit of base 32, which it is not here.
    if len(digits) != count or "u" in letters.lower() or not set(digits) <= set(_DIGITS):
        return None
    return int(digits, 32)
