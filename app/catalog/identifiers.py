"""Catalogue identifiers: checked and normalised, so that both forms of an ISBN find a book.

An identifier is written scheme:value. An invalid value is stored unchanged, because catalogues contain many;
`is_valid` finds them. Schemes that this module does not contain have no rules. `core.text.catalogue_values`
reads numbers in any spelling. Check digits of ISMNs follow ISO 10957.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from app.catalog import iscc
from bookprint_core.metadata import LONGEST_IDENTIFIER
from bookprint_core.model import Metadata
from bookprint_core.text.catalogue_values import (
    WRONG_DIGIT,
    ean_digit,
    fault_in,
    folded,
    isbn,
    issn,
    numbers_in,
)

_OF_ISBNS = re.compile("[ep]?-?isbn-?(?:1[03])?", re.IGNORECASE)
_OCLC = re.compile(r"(?:\(OCOLC\)|OCLC\b)?[\s:#]*(?:OCM|OCN|ON)?\s*0*([1-9][0-9]{0,13})(?:\.0+)?")
_LCCN = re.compile(r"[a-z]{0,3}[0-9]{8,10}")
_HTID = re.compile(r"[a-z0-9]{2,8}\.\S+", re.IGNORECASE)
_ARK = re.compile(r"(?:https?://[^/]+/)?(?:ark:)?/?(\d{5,9}|[b-df-hj-np-tv-z0-9]{5,9})/(\S+)", re.IGNORECASE)
_GUTENBERG = re.compile(r"(?:https?://\S*/(?:ebooks|etext|files)/|#|pg)?0*([1-9]\d{0,6})\b\S*", re.IGNORECASE)
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)?(10\.\d{4,9}(?:\.\d+)*/\S+)", re.IGNORECASE)


def normalised(identifier: str) -> str:
    """Return the identifier in the normal form of its scheme; identifiers with invalid values are unchanged.

    ISBNs have 13 digits, LCCNs the form of the Library of Congress (lccn-permalink), OCLC numbers no prefix.

    >>> normalised("ISBN:0-14-143960-X"), normalised("isbn:0141439602"), normalised("lccn:85-2")
    ('isbn:0-14-143960-X', 'isbn:9780141439600', 'lccn:85000002')
    """
    scheme, value = _parts(identifier)
    return f"{scheme}:{value if (found := _normal_form(scheme, value)) is None else found}"


def is_valid(identifier: str) -> bool:
    """Return whether the value follows the rules of its scheme, including the check digit, or has no rules.

    >>> is_valid("isbn:9780141439600"), is_valid("isbn:9780141439601")
    (True, False)
    """
    return _normal_form(*_parts(identifier)) is not None


def fault_of(identifier: str) -> str:
    """Return an invalid identifier with its fault.

    >>> fault_of("isbn:0378-5955"), fault_of("isbn:9.78014E+12")
    ('isbn:0378-5955: it is an ISSN, not an ISBN.', 'isbn:9.78014E+12: a spreadsheet has cut its digits.')
    """
    return f"{identifier}: {fault_in(*_parts(identifier))}."


def can_name_a_book(identifier: str) -> bool:
    """Return whether the identifier may name one book; a misprinted number may, a truncated one may not.

    >>> can_name_a_book("isbn:0-14-143960-X"), can_name_a_book("isbn:9.78014E+12")
    (True, False)
    """
    return is_valid(identifier) or fault_in(*_parts(identifier)) == WRONG_DIGIT


def with_normal_identifiers(metadata: Metadata) -> Metadata:
    """Return the metadata with normalised identifiers."""
    return replace(metadata, identifiers=all_normalised(metadata.identifiers))


def all_normalised(identifiers: Iterable[str]) -> tuple[str, ...]:
    """Return the normalised identifiers in order, without duplicates; ISBNs joined in a value are separated.

    >>> all_normalised(["isbn:0141439602, 0-8044-2957-5"])
    ('isbn:9780141439600', 'isbn:0-8044-2957-5')
    """
    return tuple(dict.fromkeys(each for given in identifiers for each in _each(given)))


def isbns(identifiers: Iterable[str]) -> tuple[str, ...]:
    """Return the valid ISBNs among the identifiers, in order, with 13 digits each."""
    return tuple(
        identifier.removeprefix("isbn:")
        for identifier in all_normalised(identifiers)
        if identifier.startswith("isbn:") and is_valid(identifier)
    )


def nearest_isbns(identifier: str) -> list[str]:
    """Return the valid ISBNs that differ from a wrong one in one digit or by two swapped neighbouring digits.

    >>> "isbn:9780141439600" in nearest_isbns("isbn:0141439603"), nearest_isbns("oclc:1234")
    (True, [])
    """
    scheme, value = _parts(identifier)
    number = re.sub("[^0-9X]", "", folded(value))
    if scheme != "isbn" or len(number) not in (10, 13):
        return []
    near = [number[:at] + digit + number[at + 1 :] for at in range(len(number)) for digit in "0123456789X"]
    near += [number[:at] + number[at + 1] + number[at] + number[at + 2 :] for at in range(len(number) - 1)]
    return list(dict.fromkeys(f"isbn:{found}" for each in near if (found := isbn(each)) is not None))


def _each(identifier: str) -> list[str]:
    scheme, value = _parts(identifier)
    numbers = numbers_in(scheme, value) if scheme in ("isbn", "issn") and not value.isalnum() else ()
    return [f"{scheme}:{number}" for number in numbers] if len(numbers) > 1 else [normalised(identifier)]


def _parts(identifier: str) -> tuple[str, str]:
    """Return the scheme and the value. The scheme is in lower case (RFC 3986, 3.1); ISBNs have one scheme."""
    scheme, _, value = identifier.partition(":")
    return ("isbn" if _OF_ISBNS.fullmatch(scheme) else scheme.lower()), value


def _normal_form(scheme: str, value: str) -> str | None:
    """Return the value in the normal form of its scheme; None if it is not valid."""
    normal_form = _SCHEMES.get(scheme)
    if normal_form is None:
        return value
    return normal_form(value) if len(value) <= LONGEST_IDENTIFIER else None


def _ismn(value: str) -> str | None:
    number = re.sub("[ .-]|ISMN:?", "", folded(value))
    if len(number) == 10 and number.startswith("M"):
        number = f"9790{number[1:]}"
    is_whole = re.fullmatch("9790[0-9]{9}", number)
    return number if is_whole and ean_digit(number[:-1]) == number[-1] else None


def _lccn(value: str) -> str | None:
    """Normalise an LCCN as the Library of Congress does: no blanks, no suffix, serial numbers of 6 digits."""
    text = re.sub(r"\s|^https?://lccn\.loc\.gov/|^lccn[\s:]", "", folded(value).lower()).partition("/")[0]
    front, hyphen, serial = text.partition("-")
    if hyphen:
        if not re.fullmatch("[0-9]{1,6}", serial):
            return None
        text = front + serial.zfill(6)
    return text if _LCCN.fullmatch(text) else None


def _matched(pattern: re.Pattern[str], form: Callable[[re.Match[str]], str]) -> Callable[[str], str | None]:
    def normal_form(value: str) -> str | None:
        match = pattern.fullmatch(value.strip())
        return None if match is None else form(match)

    return normal_form


_SCHEMES: Mapping[str, Callable[[str], str | None]] = {
    "isbn": isbn,
    "iscc": iscc.normal_code,
    "issn": issn,
    "ismn": _ismn,
    "lccn": _lccn,
    "oclc": lambda value: _matched(_OCLC, lambda match: match[1])(folded(value)),
    "htid": _matched(_HTID, lambda match: match[0]),
    "ark": _matched(_ARK, lambda match: f"{match[1].lower()}/{match[2]}"),
    "gutenberg": _matched(_GUTENBERG, lambda match: match[1]),
    "doi": _matched(_DOI, lambda match: match[1].lower()),
}
