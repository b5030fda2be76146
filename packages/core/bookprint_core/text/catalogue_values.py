"""ISBNs, ISSNs and years as people, spreadsheets and catalogues write them.

A number is read whole or not at all: no part of a longer number counts as a shorter one. Check digits follow
ISO 2108 (ISBN), ISO 3297 (ISSN) and the GS1 General Specifications.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from types import MappingProxyType

_TENS = frozenset("ХхΧχ×")
"""Characters written instead of the check character X: Cyrillic or Greek letters, the multiplication sign."""

_DASHES = frozenset("\u00b7\u02d7\u2022\u2043\u2212\u30fb\u30fc")
"""Characters written instead of hyphens that Unicode does not class as dashes."""

_INVISIBLE = "\u00ad"  # stands for all characters without a width

_LABEL = re.compile(
    r"(?:URN:)?(?<![A-Z])(?:(?:[EPL]|EP)-?)?(?:ISBN|ISSN)S?(?:[ _-]?\(?1[03]\)?(?![0-9]))?", re.IGNORECASE
)
_NO_PART = re.compile(rf"{_LABEL.pattern}|(?<=[0-9]{{7}})\.0+(?=\s*$)")
_NUMBER = (
    r"(?<![0-9A-Z])(?<![0-9A-Z]-)(?<!(?<![0-9])97[89][^0-9A-Z])"
    r"([0-9](?:{gap}[0-9])*+(?:{gap}X)?+)([-\xad]*[0-9A-Z]|-\S)?"
)
"""Pattern of a possible number; if the second group matches, it is not a number."""

_SPACED = re.compile(_NUMBER.format(gap=r"[ .\xad-]{0,3}"))
_CLOSED = re.compile(_NUMBER.format(gap=r"[.\xad-]{0,2}"))
_EXPONENT = re.compile(r"[^0-9]*([0-9])[.,]([0-9]+)E\+?([0-9]{1,3})[^0-9]*")
_QUALIFIER = re.compile(r"[(\[][^][()]*[^\W\d_][^][()]*[)\]]?")
_NOT_DIGITS = re.compile("[^0-9X]")
_LETTER = re.compile(r"(?!X)[^\W0-9_]")
LONGEST_STATEMENT = 1_000
"""Code points of the longest text that is searched for numbers and years. A text may be megabytes long."""

WRONG_DIGIT = "the check digit or the form is wrong"
"""Fault of a number that may still be printed in a book."""

_CUT = "0000000"  # end of a number that a spreadsheet has rounded to six digits
_LEAST_DIGITS = 6  # digits of a number that is stored although its length is wrong for its scheme

_YEAR = re.compile(r"(?<![0-9])(1[0-9]{3}|20[0-9]{2})(?![0-9])")
_LENGTHS: Mapping[str, Sequence[int]] = MappingProxyType({"isbn": (10, 13), "issn": (8,)})
"""Allowed lengths of the numbers of a scheme, in characters."""


def ean_digit(digits: str) -> str:
    """Compute the check digit after 12 digits: weights 1 and 3 in turn, modulo 10."""
    return str(-sum(int(digit) * weight for digit, weight in zip(digits, cycle((1, 3)), strict=False)) % 10)


def modulo_11_digit(digits: str) -> str:
    """Compute the check character of an ISSN or a ten-digit ISBN: weights down to 2, modulo 11."""
    remainder = -sum(int(digit) * weight for weight, digit in enumerate(reversed(digits), 2)) % 11
    return "X" if remainder == 10 else str(remainder)


def folded(text: str) -> str:
    """Return the text in upper case, with digits, hyphens, blanks and X of all scripts in ASCII.

    A text longer than `LONGEST_STATEMENT` becomes empty.
    """
    return "" if len(text) > LONGEST_STATEMENT else _aligned(text).replace(_INVISIBLE, "")


def numbers_in(scheme: str, text: str) -> tuple[str, ...]:
    """Return the distinct ISBNs or ISSNs in a text: valid numbers in standard form, others as written.

    >>> numbers_in("isbn", "ISBN-13: 978–0–14–143960–0 (pbk.)"), numbers_in("isbn", "5-17-080079-Х")
    (('9780141439600',), ('5-17-080079-Х',))
    """
    return tuple(dict.fromkeys(valid or written for valid, written in _read(scheme, text)))


def isbn(text: str) -> str | None:
    """Return the ISBN in a text, as 13 digits; None if it is not valid or not the only number."""
    is_plain = len(text) == 13 and text.isdecimal() and text.isascii()
    return _valid_isbn(text) if is_plain else _only("isbn", text)


def issn(text: str) -> str | None:
    """Return the ISSN in a text; None as for `isbn`."""
    return _only("issn", text)


def is_bare(text: str) -> bool:
    """Return whether a text contains a possible number of a book and nothing else.

    >>> is_bare("ISBN 978-0-14-143960-0 (ebook)"), is_bare("Report 0141439602")
    (True, False)
    """
    left = _LABEL.sub("", _QUALIFIER.sub("", folded(text)))
    is_short = len(_NOT_DIGITS.sub("", left)) < 9  # "1914-1918" is a title
    return _EXPONENT.fullmatch(left) is not None or not (is_short or _LETTER.search(left))


def isbns_alone(text: str) -> tuple[str, ...]:
    """Return the valid ISBNs of a text that contains nothing else and at least ten digits."""
    if not is_bare(text) or len(_NOT_DIGITS.sub("", folded(text))) < 10:
        return ()
    return tuple(dict.fromkeys(valid for valid, _ in _read("isbn", text) if valid))


def as_written(scheme: str, text: str) -> str | None:
    """Return the number in a text as written, valid or not; the whole text if it has none or several.

    Returns None if there are too few digits for a number, or more than `LONGEST_STATEMENT` code points.

    >>> as_written("isbn", "5-17-080079-Х (в пер.)"), as_written("isbn", "(pbk.)")
    ('5-17-080079-Х', None)
    """
    if len(text) > LONGEST_STATEMENT:
        return None
    found = _read(scheme, text)
    if len(found) == 1:
        return found[0][1]
    left = text if found else _LABEL.sub("", _QUALIFIER.sub("", text)).strip(" :;,-")
    return left if is_bare(left) or len(re.findall(r"\d", left)) >= _LEAST_DIGITS else None


def fault_in(scheme: str, text: str) -> str:
    """Return the reason why a text is not a valid number, to end a sentence that begins with the number."""
    name, ready = scheme.upper(), folded(text)
    if _EXPONENT.fullmatch(ready) or (ready.endswith(_CUT) and ready.strip(" 0")):
        return "a spreadsheet has cut its digits"
    if scheme == "isbn" and issn(text):
        return "it is an ISSN, not an ISBN"
    if scheme == "issn" and isbn(text):
        return "it is an ISBN, not an ISSN"
    if scheme in _LENGTHS and not numbers_in(scheme, text):
        return f"it is not an {name}"
    return WRONG_DIGIT


def year_in(text: str, coded: int | None = None) -> int | None:
    """Return the year of publication in a text, 1000 to 2099: the first, unless it is of another calendar.

    Between several years, the coded year of the record decides.

    >>> year_in("1423 [2002]"), year_in("c1998, 2002", 2002), year_in("1381", 2002), year_in("[1813?]", 1815)
    (2002, 2002, 2002, 1813)
    """
    years = [int(match[1]) for match in _YEAR.finditer(folded(text))]
    if not years or coded in years:
        return coded if years else None
    first = years[0]  # a later year replaces it if both are equal by the Persian or the Islamic calendar
    common = [*years, *([] if coded is None else [coded])]
    islamic = first * 0.970224 + 621.57
    return next((year for year in common if year - first in (621, 622) or abs(islamic - year) < 1.5), first)


def _only(scheme: str, text: str) -> str | None:
    found = {valid or written: valid for valid, written in _read(scheme, text)}
    return next(iter(found.values())) if len(found) == 1 else None


def _read(scheme: str, text: str) -> list[tuple[str | None, str]]:
    """Return each number of a text in standard form (None: not valid) and as written."""
    if len(text) > LONGEST_STATEMENT:
        return []
    valid = _valid_isbn if scheme == "isbn" else _valid_issn
    return [
        (valid(digits), text[start:end].strip())
        for number, start, end in _found(scheme, _ready(text))
        if len(set(digits := _NOT_DIGITS.sub("", number))) > 1  # 0000000000 means an unknown number
    ]


def _valid_isbn(number: str) -> str | None:
    if len(number) == 13:
        is_one = number.startswith(("978", "979")) and not number.endswith(_CUT)
        return number if is_one and ean_digit(number[:-1]) == number[-1] else None
    number = number.zfill(10)  # an SBN (before 1970) has no first zero, and spreadsheets drop zeros
    stem = f"978{number[:-1]}"
    return stem + ean_digit(stem) if modulo_11_digit(number[:-1]) == number[-1] else None


def _valid_issn(number: str) -> str | None:
    number = number.zfill(8)
    return f"{number[:4]}-{number[4:]}" if modulo_11_digit(number[:-1]) == number[-1] else None


def _found(scheme: str, ready: str) -> Iterator[tuple[str, int, int]]:
    """Yield each number of the right length, its start and its end."""
    if match := _EXPONENT.fullmatch(ready):
        if len(match[2]) == int(match[3]) and _fits(scheme, match[1] + match[2]):
            yield match[1] + match[2], match.start(1), match.end(3)
        return
    for run in _SPACED.finditer(ready):
        if run[2] is None and _fits(scheme, run[1]):
            yield run[1], *run.span(1)
            continue
        for part in _CLOSED.finditer(ready, run.start(), run.end()):
            if part[2] is None and len(_NOT_DIGITS.sub("", part[1])) in _LENGTHS[scheme]:
                yield part[1], *part.span(1)


def _fits(scheme: str, number: str) -> bool:
    digits = _NOT_DIGITS.sub("", number)
    if len(digits) == 13:
        return scheme == "isbn" and digits.isdigit() and (" " not in number or digits.startswith("97"))
    if len(digits) in _LENGTHS[scheme]:
        return True
    # One digit is missing: a spreadsheet has dropped the zero, or it is an SBN, with a longer first group.
    is_short = len(digits) + 1 == _LENGTHS[scheme][0]
    return is_short and (number[1].isdigit() if scheme == "isbn" else number.isalnum())


def _ready(text: str) -> str:
    """Return the text with blanks for labels and for the decimals of whole numbers, in the same length."""
    return _NO_PART.sub(lambda match: " " * len(match[0]), _aligned(text))


def _aligned(text: str) -> str:
    """Fold the text as `folded` does, but keep its length."""
    return text.upper() if text.isascii() else "".join(map(_plain, text))


def _plain(character: str) -> str:
    if character.isspace():
        return " "
    if character in _TENS:
        return "X"
    match unicodedata.category(character):
        case "Nd":
            return str(unicodedata.decimal(character))
        case "Pd":
            return "-"
        case "Cf":
            return _INVISIBLE
    plain = "-" if character in _DASHES else unicodedata.normalize("NFKC", character).upper()
    return plain if len(plain) == 1 else character
