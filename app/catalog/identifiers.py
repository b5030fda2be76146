"""Identifiers of catalogues: checked, and brought into one form, so that either form of an ISBN finds a book.

An identifier is written scheme:value. One whose value breaks the rules of its scheme is kept as it was given,
because catalogues have many such; `is_valid` tells them apart. Other schemes than those here have no rules.
Check digits are those of ISO 2108 (ISBN), ISO 3297 (ISSN), ISO 10957 (ISMN) and the GS1 General
Specifications.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import cycle
from types import MappingProxyType

from app.catalog import iscc
from app.core.book_rules import LONGEST_IDENTIFIER
from app.core.model import Metadata


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


_SEPARATORS = re.compile(r"[\s\u00ad\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d-]")
_EAN = re.compile(r"97[89][0-9]{10}")
_ISBN_10 = re.compile(r"[0-9]{9}[0-9X]")
_SBN = re.compile(r"[0-9]{8}[0-9X]")
_ISSN = re.compile(r"[0-9]{7}[0-9X]")
_OCLC = re.compile(r"(?:\(ocolc\))?\s*(?:ocm|ocn|on)?\s*0*([1-9]\d{0,13})", re.IGNORECASE)
_LCCN = re.compile(r"[a-z]{0,3}\d{8,10}")
_HTID = re.compile(r"[a-z0-9]{2,8}\.\S+", re.IGNORECASE)
_ARK = re.compile(r"(?:https?://[^/]+/)?(?:ark:)?/?(\d{5,9}|[b-df-hj-np-tv-z0-9]{5,9})/(\S+)", re.IGNORECASE)
_GUTENBERG = re.compile(r"(?:https?://\S*/(?:ebooks|etext|files)/|#|pg)?0*([1-9]\d{0,6})\b\S*", re.IGNORECASE)
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)?(10\.\d{4,9}(?:\.\d+)*/\S+)", re.IGNORECASE)


def normalised(identifier: str) -> str:
    """The identifier in the one form of its scheme; as it was given if its value is not valid.

    ISBNs have 13 digits, LCCNs the form of the Library of Congress (lccn-permalink), OCLC numbers no prefix.

    >>> normalised("ISBN:0-14-143960-X"), normalised("isbn:0141439602"), normalised("lccn:85-2")
    ('isbn:0-14-143960-X', 'isbn:9780141439600', 'lccn:85000002')
    """
    scheme, value = _parts(identifier)
    return f"{scheme}:{value if (found := _normal_form(scheme, value)) is None else found}"


def is_valid(identifier: str) -> bool:
    """Whether the value keeps the rules of its scheme, check digit included; true of unknown schemes.

    >>> is_valid("isbn:9780141439600"), is_valid("isbn:9780141439601")
    (True, False)
    """
    return _normal_form(*_parts(identifier)) is not None


def with_normal_identifiers(metadata: Metadata) -> Metadata:
    """The metadata with its identifiers in the form of `normalised`."""
    return replace(metadata, identifiers=all_normalised(metadata.identifiers))


def all_normalised(identifiers: Iterable[str]) -> tuple[str, ...]:
    """The identifiers in the form of `normalised`, each once, in their order."""
    return tuple(dict.fromkeys(map(normalised, identifiers)))


def isbns(identifiers: Iterable[str]) -> tuple[str, ...]:
    """The valid ISBNs among the identifiers: 13 digits each, in their order."""
    return tuple(
        identifier.removeprefix("isbn:")
        for identifier in all_normalised(identifiers)
        if identifier.startswith("isbn:") and is_valid(identifier)
    )


def nearest_isbns(identifier: str) -> list[str]:
    """The valid ISBNs, in normal form, that differ from a wrong one in a digit or in the order of two.

    >>> "isbn:9780141439600" in nearest_isbns("isbn:0141439603"), nearest_isbns("oclc:1234")
    (True, [])
    """
    scheme, value = _parts(identifier)
    number = _without_separators(value)
    if scheme != "isbn" or not re.fullmatch(r"[0-9]{9}[0-9X]|[0-9]{13}", number):
        return []
    near = [number[:at] + digit + number[at + 1 :] for at in range(len(number)) for digit in "0123456789X"]
    near += [number[:at] + number[at + 1] + number[at] + number[at + 2 :] for at in range(len(number) - 1)]
    return list(dict.fromkeys(f"isbn:{found}" for each in near if (found := _isbn(each)) is not None))


def _parts(identifier: str) -> tuple[str, str]:
    """Scheme in lower case (RFC 3986, 3.1) and value."""
    scheme, _, value = identifier.partition(":")
    return scheme.lower(), value


def _normal_form(scheme: str, value: str) -> str | None:
    """The value in the one form of its scheme; None if it is not valid."""
    normal_form = _SCHEMES.get(scheme)
    if normal_form is None:
        return value
    return normal_form(value) if len(value) <= LONGEST_IDENTIFIER else None


def _isbn(value: str) -> str | None:
    number = _without_separators(value)
    if _SBN.fullmatch(number):
        number = f"0{number}"  # as printed before 1970
    if _ISBN_10.fullmatch(number):
        stem = f"978{number[:-1]}"
        return stem + ean_digit(stem) if modulo_11_digit(number[:-1]) == number[-1] else None
    return _ean(number)


def _issn(value: str) -> str | None:
    number = _without_separators(value)
    if not _ISSN.fullmatch(number) or modulo_11_digit(number[:-1]) != number[-1]:
        return None
    return f"{number[:4]}-{number[4:]}"


def _ismn(value: str) -> str | None:
    number = _without_separators(value).replace(".", "")
    if len(number) == 10 and number.startswith("M"):
        number = f"9790{number[1:]}"
    return _ean(number) if number.startswith("9790") else None


def _ean(number: str) -> str | None:
    return number if _EAN.fullmatch(number) and ean_digit(number[:-1]) == number[-1] else None


def _without_separators(value: str) -> str:
    return _SEPARATORS.sub("", value).upper()


def _lccn(value: str) -> str | None:
    """As "normalization of LCCN" of the Library of Congress says: no blanks, no suffix, six-digit serials."""
    text = re.sub(r"\s|^https?://lccn\.loc\.gov/", "", value.lower()).partition("/")[0]
    front, hyphen, serial = text.partition("-")
    if hyphen:
        if not re.fullmatch(r"\d{1,6}", serial):
            return None
        text = front + serial.zfill(6)
    return text if _LCCN.fullmatch(text) else None


def _matched(pattern: re.Pattern[str], form: Callable[[re.Match[str]], str]) -> Callable[[str], str | None]:
    def normal_form(value: str) -> str | None:
        match = pattern.fullmatch(value.strip())
        return None if match is None else form(match)

    return normal_form


_SCHEMES: Mapping[str, Callable[[str], str | None]] = MappingProxyType(
    {
        "isbn": _isbn,
        "iscc": iscc.normal_code,
        "issn": _issn,
        "ismn": _ismn,
        "lccn": _lccn,
        "oclc": _matched(_OCLC, lambda match: match[1]),
        "htid": _matched(_HTID, lambda match: match[0]),
        "ark": _matched(_ARK, lambda match: f"{match[1].lower()}/{match[2]}"),
        "gutenberg": _matched(_GUTENBERG, lambda match: match[1]),
        "doi": _matched(_DOI, lambda match: match[1].lower()),
    }
)
