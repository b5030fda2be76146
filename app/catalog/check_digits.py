"""Check digits of ISBN, ISSN and ISMN: their last character, computed from those before it.

Sources: ISO 2108 (ISBN), ISO 3297 (ISSN), ISO 10957 (ISMN) and the GS1 General Specifications (EAN-13).
"""

from itertools import cycle


def ean_digit(digits: str) -> str:
    """The check digit behind 12 digits: weights 1 and 3 in turn, modulo 10.

    >>> ean_digit("978014143960")
    '0'
    """
    return str(-sum(int(digit) * weight for digit, weight in zip(digits, cycle((1, 3)), strict=False)) % 10)


def modulo_11_digit(digits: str) -> str:
    """The check character behind the digits of an ISSN or an ISBN of ten: weights down to 2, modulo 11.

    >>> modulo_11_digit("0317847"), modulo_11_digit("080442957")
    ('1', 'X')
    """
    remainder = -sum(int(digit) * weight for weight, digit in enumerate(reversed(digits), 2)) % 11
    return "X" if remainder == 10 else str(remainder)
