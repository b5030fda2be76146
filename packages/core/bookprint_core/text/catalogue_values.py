"""ISBNs, ISSNs and years as people, spreadsheets and catalogues write them.

A number is read whole or not at all: what is left over when labels, qualifiers and separators are gone never
makes a shorter number. Check digits are those of ISO 2108 (ISBN), ISO 3297 (ISSN) and the GS1 General
Specifications.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from types import MappingProxyType

_TENS = frozenset("ХхΧχ×")
"""Characters that are written for the check character X: letters of Cyrillic and Greek, and the sign."""

_DASHES = frozenset("\u00b7\u02d7\u2022\u2043\u2212\u30fb\u30fc")
"""Characters that are written for hyphens and are none to Unicode."""

_INVISIBLE = "\u00ad"  # stands for all characters without a width

_LABEL = re.compile(
    r"(?:URN:)?(?<![A-Z])(?:(?:[EPL]|EP)-?)?(?:ISBN|ISSN)S?(?:[ _-]?\(?1[03]\)?(?![0-9]))?", re.IGNORECASE
)
_NO_PART = re.compile(rf"{_LABEL.pattern}|(?<=[0-9]{{7}})\.0+(?=\s*$)")
_NUMBER = (
    r"(?<![0-9A-Z])(?<![0-9A-Z]-)(?<!(?<![0-9])97[89][^0-9A-Z])"
    r"([0-9](?:{gap}[0-9])*+(?:{gap}X)?+)([-\xad]*[0-9A-Z]|-\S)?"
)
"""A possible number; a second group holds what shows that it is none."""

_SPACED = re.compile(_NUMBER.format(gap=r"[ .\xad-]{0,3}"))
_CLOSED = re.compile(_NUMBER.format(gap=r"[.\xad-]{0,2}"))
_EXPONENT = re.compile(r"[^0-9]*([0-9])[.,]([0-9]+)E\+?([0-9]{1,3})[^0-9]*")
_QUALIFIER = re.compile(r"[(\[][^][()]*[^\W\d_][^][()]*[)\]]?")
_NOT_DIGITS = re.compile("[^0-9X]")
_LETTER = re.compile(r"(?!X)[^\W0-9_]")
LONGEST_STATEMENT = 1_000
"""Code points of the longest text that is searched for numbers and years. A text may be megabytes long."""

WRONG_DIGIT = "the check digit or the form is wrong"
"""The fault of a number that may yet be that of a book, as it is printed."""

_CUT = "0000000"  # ends a number of which a spreadsheet has kept six digits
_LEAST_DIGITS = 6  # digits of a number that is kept though it has not the length of its scheme

_YEAR = re.compile(r"(?<![0-9])(1[0-9]{3}|20[0-9]{2})(?![0-9])")
_LENGTHS: Mapping[str, Sequence[int]] = MappingProxyType({"isbn": (10, 13), "issn": (8,)})
"""Characters of the numbers of a scheme."""


def ean_digit(digits: str) -> str:
    """The check digit behind 12 digits: weights 1 and 3 in turn, modulo 10."""
    return str(-sum(int(digit) * weight for digit, weight in zip(digits, cycle((1, 3)), strict=False)) % 10)


def modulo_11_digit(digits: str) -> str:
    """The check character behind the digits of an ISSN or an ISBN of ten: weights down to 2, modulo 11."""
    remainder = -sum(int(digit) * weight for weight, digit in enumerate(reversed(digits), 2)) % 11
    return "X" if remainder == 10 else str(remainder)


def folded(text: str) -> str:
    """Return the text in upper case, with ASCII digits, hyphens, blanks and X for those of all scripts.

    A text longer than `LONGEST_STATEMENT` becomes empty.
    """
    return "" if len(text) > LONGEST_STATEMENT else _aligned(text).replace(_INVISIBLE, "")


def numbers_in(scheme: str, text: str) -> tuple[str, ...]:
    """The ISBNs or ISSNs in a text, each once: valid ones in their one form, others as they stand there.

    >>> numbers_in("isbn", "ISBN-13: 978–0–14–143960–0 (pbk.)"), numbers_in("isbn", "5-17-080079-Х")
    (('9780141439600',), ('5-17-080079-Х',))
    """
    return tuple(dict.fromkeys(valid or written for valid, written in _read(scheme, text)))


def isbn(text: str) -> str | None:
    """The ISBN in a text, of 13 digits; None where it is not valid, or not the only number."""
    is_plain = len(text) == 13 and text.isdecimal() and text.isascii()
    return _valid_isbn(text) if is_plain else _only("isbn", text)


def issn(text: str) -> str | None:
    """The ISSN in a text; None as for `isbn`."""
    return _only("issn", text)


def is_bare(text: str) -> bool:
    """Whether a text has digits as a number of a book has, and says nothing but them.

    >>> is_bare("ISBN 978-0-14-143960-0 (ebook)"), is_bare("Report 0141439602")
    (True, False)
    """
    left = _LABEL.sub("", _QUALIFIER.sub("", folded(text)))
    is_short = len(_NOT_DIGITS.sub("", left)) < 9  # "1914-1918" is a title
    return _EXPONENT.fullmatch(left) is not None or not (is_short or _LETTER.search(left))


def isbns_alone(text: str) -> tuple[str, ...]:
    """The valid ISBNs of a text that says nothing else; one of nine digits must be announced."""
    if not is_bare(text) or len(_NOT_DIGITS.sub("", folded(text))) < 10:
        return ()
    return tuple(dict.fromkeys(valid for valid, _ in _read("isbn", text) if valid))


def as_written(scheme: str, text: str) -> str | None:
    """The number in a text, valid or not, as it stands there; all of it where there are none or several.

    None where it has too few digits for a number, or more than `LONGEST_STATEMENT` code points.

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
    """Why a text is no valid number of its scheme, as the end of a sentence that begins with the number."""
    name, ready = scheme.upper(), folded(text)
    if _EXPONENT.fullmatch(ready) or (ready.endswith(_CUT) and ready.strip(" 0")):
        return "a spreadsheet has cut its digits"
    if scheme == "isbn" and issn(text):
        return "it is an ISSN and no ISBN"
    if scheme == "issn" and isbn(text):
        return "it is an ISBN and no ISSN"
    if scheme in _LENGTHS and not numbers_in(scheme, text):
        return f"it is no {name}"
    return WRONG_DIGIT


def year_in(text: str, coded: int | None = None) -> int | None:
    """The year of publication in a text, from 1000 to 2099: the first, but for those of other calendars.

    The year that the record gives as a code decides between several.

    >>> year_in("1423 [2002]"), year_in("c1998, 2002", 2002), year_in("1381", 2002), year_in("[1813?]", 1815)
    (2002, 2002, 2002, 1813)
    """
    years = [int(match[1]) for match in _YEAR.finditer(folded(text))]
    if not years or coded in years:
        return coded if years else None
    first = years[0]  # where another is the same by the Persian or the Islamic calendar, that
    common = [*years, *([] if coded is None else [coded])]
    islamic = first * 0.970224 + 621.57
    return next((year for year in common if year - first in (621, 622) or abs(islamic - year) < 1.5), first)


def _only(scheme: str, text: str) -> str | None:
    found = {valid or written: valid for valid, written in _read(scheme, text)}
    return next(iter(found.values())) if len(found) == 1 else None


def _read(scheme: str, text: str) -> list[tuple[str | None, str]]:
    """Each number of a text: its one form, None where it is not valid, and as it stands there."""
    if len(text) > LONGEST_STATEMENT:
        return []
    valid = _valid_isbn if scheme == "isbn" else _valid_issn
    return [
        (valid(digits), text[start:end].strip())
        for number, start, end in _found(scheme, _ready(text))
        if len(set(digits := _NOT_DIGITS.sub("", number))) > 1  # 0000000000 stands for an unknown one
    ]


def _valid_isbn(number: str) -> str | None:
    if len(number) == 13:
        is_one = number.startswith(("978", "979")) and not number.endswith(_CUT)
        return number if is_one and ean_digit(number[:-1]) == number[-1] else None
    number = number.zfill(10)  # an SBN, as printed before 1970, or a zero that a spreadsheet has lost
    stem = f"978{number[:-1]}"
    return stem + ean_digit(stem) if modulo_11_digit(number[:-1]) == number[-1] else None


def _valid_issn(number: str) -> str | None:
    number = number.zfill(8)
    return f"{number[:4]}-{number[4:]}" if modulo_11_digit(number[:-1]) == number[-1] else None


def _found(scheme: str, ready: str) -> Iterator[tuple[str, int, int]]:
    """Each number of the right length, and where it begins and ends."""
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
    # One short: a spreadsheet has lost the zero, or it is an SBN, whose first group has several digits.
    is_short = len(digits) + 1 == _LENGTHS[scheme][0]
    return is_short and (number[1].isdigit() if scheme == "isbn" else number.isalnum())


def _ready(text: str) -> str:
    """The text with blanks for labels and for the decimals of a whole number, as long as before."""
    return _NO_PART.sub(lambda match: " " * len(match[0]), _aligned(text))


def _aligned(text: str) -> str:
    """The text as `folded`, but as long as before."""
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
