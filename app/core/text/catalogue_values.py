"""ISBNs, ISSNs and years as people, spreadsheets and catalogues write them.

A number is read whole or not at all: what is left over when labels, qualifiers and separators are gone never
makes a shorter number. Check digits are those of ISO 2108 (ISBN), ISO 3297 (ISSN) and the GS1 General
Specifications.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, cycle
from types import MappingProxyType

_TENS = frozenset("ХхΧχ")
"""Letters of Cyrillic and Greek that stand for the check character X."""

_LABEL = re.compile(
    r"(?:URN:)?(?<![A-Z])(?:(?:[EPL]|EP)-?)?(?:ISBN|ISSN)S?(?:[ _-]?\(?1[03]\)?(?![0-9]))?", re.IGNORECASE
)
_NUMBER = r"(?<![0-9A-Z])(?<![0-9]-)([0-9](?:{gap}[0-9])*+(?:{gap}X)?+)(-?[0-9A-Z])?"
_SPACED = re.compile(_NUMBER.format(gap="[ .-]{0,3}"))
_CLOSED = re.compile(r"(?<!97[89] )" + _NUMBER.format(gap="[.-]?"))
_EXPONENT = re.compile(r"[^0-9]*([0-9])[.,]([0-9]+)E\+?([0-9]{1,3})[^0-9]*")
_WHOLE_FLOAT = re.compile(r"(?<=[0-9])\.0+(?=\s*$)")
_QUALIFIER = re.compile(r"[(\[].*", re.DOTALL)
_NOT_DIGITS = re.compile("[^0-9X]")
_LEAST_DIGITS = 6
"""Digits of a number that is kept though it has not the length of its scheme."""

_YEAR = re.compile(r"(?<![0-9])(1[0-9]{3}|20[0-9]{2})(?![0-9])")
_LENGTHS: Mapping[str, Sequence[int]] = MappingProxyType({"isbn": (9, 10, 13), "issn": (7, 8)})
"""Characters of the numbers of a scheme, without those that have lost a zero in front the first time."""


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


def folded(text: str) -> str:
    """The text with ASCII digits, hyphens, blanks and X for those of all scripts, in upper case.

    >>> folded("٩٧٨–０\\u2011x")
    '978-0-X'
    """
    return text.upper() if text.isascii() else "".join(map(_plain, text))


def isbns_in(text: str) -> tuple[str, ...]:
    """The valid ISBNs in a text that holds nothing but them and what is said of them: 13 digits, each once.

    >>> isbns_in("ISBN-13: 978–0–14–143960–0 (pbk.)"), isbns_in("141439602"), isbns_in("5-17-080079-Х")
    (('9780141439600',), ('9780141439600',), ())
    """
    return tuple(dict.fromkeys(filter(None, map(_valid_isbn, numbers_in("isbn", text)))))


def isbn(text: str) -> str | None:
    """The one valid ISBN in a text, of 13 digits; None also where it has several."""
    found = isbns_in(text)
    return found[0] if len(found) == 1 else None


def issn(text: str) -> str | None:
    """The one valid ISSN in a text; one that has lost its first zero is completed.

    >>> issn("e-ISSN: 0378‐5955"), issn("3785955"), issn("0378-5956")
    ('0378-5955', '0378-5955', None)
    """
    numbers = {number.zfill(8) for number in numbers_in("issn", text)}
    found = [number for number in numbers if modulo_11_digit(number[:-1]) == number[-1]]
    return f"{found[0][:4]}-{found[0][4:]}" if len(found) == 1 else None


def bare_isbn(text: str) -> str | None:
    """The digits of the ISBN that a text is but for a label and a qualifier in brackets; None: it is none.

    Whether the check digit is right does not matter, as it does for `only_isbn`.

    >>> bare_isbn("ISBN 978-0-14-143960-0 (ebook)"), bare_isbn("Report 0141439602")
    ('9780141439600', None)
    """
    left = _LABEL.sub("", _QUALIFIER.sub("", folded(text))).strip(" :")
    numbers = numbers_in("isbn", left)
    is_whole = len(numbers) == 1 and len(numbers[0]) > 9 and not re.search(r"[^0-9X .-]", left)
    return numbers[0] if is_whole else None


def only_isbn(text: str) -> str | None:
    """The valid ISBN that a text is, of 13 digits; None where it says anything else."""
    return isbn(text) if bare_isbn(text) else None


def numbers_in(scheme: str, text: str) -> list[str]:
    """The digits of what has the length of an ISBN or ISSN, whether its check digit is right or not."""
    return [_NOT_DIGITS.sub("", number) for number, _, _ in _found(scheme, _ready(folded(text)))]


def as_written(scheme: str, text: str) -> str | None:
    """The first number in a text, valid or not, as it stands there; None where it holds none.

    >>> as_written("isbn", "5-17-080079-Х (в пер.)"), as_written("isbn", "(pbk.)")
    ('5-17-080079-Х', None)
    """
    pieces = [_plain(character) for character in text]
    ready = _ready("".join(pieces))
    found = list(_found(scheme, ready)) or [
        each for each in _runs(_CLOSED, ready) if len(_NOT_DIGITS.sub("", each[0])) >= _LEAST_DIGITS
    ]
    if not found:
        return None
    read = isbn if scheme == "isbn" else issn
    _, start, end = next((each for each in found if read(each[0])), found[0])
    ends = list(accumulate(map(len, pieces)))
    return "".join(character for character, at in zip(text, ends, strict=True) if start < at <= end).strip()


def fault_in(scheme: str, text: str) -> str:
    """Why a text is no valid number of its scheme, as the end of a sentence that begins with the number."""
    name, ready = scheme.upper(), folded(text)
    if _EXPONENT.fullmatch(ready):
        return "a spreadsheet has cut its digits"
    if scheme == "isbn" and issn(text):
        return "it is an ISSN and no ISBN"
    if scheme == "issn" and isbn(text):
        return "it is an ISBN and no ISSN"
    if scheme == "isbn" and len(isbns_in(text)) > 1:
        return "these are several ISBNs"
    if scheme in _LENGTHS and not numbers_in(scheme, text):
        return f"it is no {name}"
    return "the check digit or the form is wrong"


def year_in(text: str, coded: int | None = None) -> int | None:
    """The year of publication in a text, from 1000 to 2099: the first, but for those of other calendars.

    Of several years the one counts that the record gives as a code.

    >>> year_in("1423 [2002]"), year_in("c1998, 2002", 2002), year_in("1381", 2002), year_in("[1813?]", 1815)
    (2002, 2002, 2002, 1813)
    """
    years = [int(match[1]) for match in _YEAR.finditer(folded(text))]
    if not years or coded in years:
        return coded if years else None
    common = [*years, *([] if coded is None else [coded])]
    return next((year for year in common if _is_year_of(years[0], year)), years[0])


def _is_year_of(other: int, common: int) -> bool:
    """Whether a year of the Islamic lunar or the Persian calendar is this one of the common calendar."""
    return common - other in (621, 622) or abs(other * 0.970224 + 621.57 - common) < 1.5


def _valid_isbn(number: str) -> str | None:
    if len(number) == 13:
        return number if number.startswith(("978", "979")) and ean_digit(number[:-1]) == number[-1] else None
    number = number.zfill(10)  # an SBN, as printed before 1970, or a zero that a spreadsheet has lost
    stem = f"978{number[:-1]}"
    return stem + ean_digit(stem) if modulo_11_digit(number[:-1]) == number[-1] else None


def _found(scheme: str, ready: str) -> Iterator[tuple[str, int, int]]:
    """Each number of the right length, and where it begins and ends."""
    lengths = _LENGTHS[scheme]
    if match := _EXPONENT.fullmatch(ready):
        if len(match[2]) == int(match[3]) and len(match[2]) + 1 in lengths:
            yield match[1] + match[2], match.start(1), match.end(3)
        return
    spaced = [
        each
        for each in _runs(_SPACED, ready)
        if _fits(each[0], lengths) and (" " not in each[0] or len(each[0]) < 13 or each[0][:2] == "97")
    ]
    yield from spaced or (each for each in _runs(_CLOSED, ready) if _fits(each[0], lengths[1:]))


def _runs(pattern: re.Pattern[str], ready: str) -> Iterator[tuple[str, int, int]]:
    """What may be a number: no letter or digit follows it."""
    return ((match[1], *match.span(1)) for match in pattern.finditer(ready) if match[2] is None)


def _fits(number: str, lengths: Sequence[int]) -> bool:
    digits = _NOT_DIGITS.sub("", number)
    return len(digits) in lengths and (len(digits) < 13 or digits.isdigit())


def _ready(text: str) -> str:
    """The folded text with blanks for labels and for the decimals of a whole number, as long as before."""
    return _WHOLE_FLOAT.sub(_blanks, _LABEL.sub(_blanks, text))


def _blanks(match: re.Match[str]) -> str:
    return " " * len(match[0])


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
            return ""
    return "-" if character in "\u2212\u2043" else unicodedata.normalize("NFKC", character).upper()
