"""The encoding of text: by its byte order mark, as UTF-8, as declared, or guessed.

A guess is always told: a wrong one turns letters into other letters, and the book may not be found again.
"""

import codecs
import re
from dataclasses import dataclass

import chardet
from chardet.enums import EncodingEra

MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks; that of UTF-32 little-endian starts with that of UTF-16 little-endian."""

_GUESSED_FROM = 1 << 16
"""Bytes that a guess sees."""

_ESCAPES = {b"\x1b": (b"\x1b$", b"\x1b("), b"~": (b"~{",)}
"""How ISO-2022 and HZ leave ASCII, by their first byte; all their bytes are UTF-8 as well."""

_NAME = re.compile(
    r"(x-)?(utf|iso|windows|cp|koi8|mac|euc|gb|big5|shift|sjis|hz|tis|ks_?c|johab|latin|us-|ascii)[\w.:-]{0,30}",
    re.IGNORECASE,
)
"""Names that are looked up; Python knows others, such as punycode, that are not those of a text."""

_AS_BROWSERS_DO = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "tis-620": "cp874",
}
"""Encodings whose name stands for a wider one (WHATWG Encoding, section 4.2), by Python's names."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, and what was doubtful about its encoding."""

    text: str
    warnings: tuple[str, ...] = ()


def decoded(data: bytes, declared: str | None = None) -> Decoded | None:
    """The text in these bytes, with U+FFFD for what is damaged; None where they are no text.

    `declared` is the encoding that the text itself names. It gives way to a byte order mark, and to UTF-8
    where the bytes are well-formed in it and not all ASCII.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _repaired(data, encoding)
    named = _codec(declared)
    first_doubt = 0
    start = data[:_GUESSED_FROM]
    # Where a tenth is zero, this is UTF-16 without a mark.
    if start.count(0) * 10 <= len(start) and not _leaves_ascii(data):
        try:
            text = data.decode()
        except UnicodeDecodeError as exc:
            first_doubt = exc.start
            damaged = _repaired(data, "utf-8")
            if _is_damaged_utf8(damaged.text):
                return damaged
        else:
            if named is None or not text.isascii():
                return Decoded(text)
    if named:
        try:
            return Decoded(data.decode(named))
        except UnicodeError:
            pass  # a wrong declaration is as good as none
    window = data[max(0, first_doubt - _GUESSED_FROM // 2) :][:_GUESSED_FROM]
    guess = guessed(window)
    # Bytes of all ones fill what was never written; as a letter they are rare in every encoding.
    if guess is None or window.count(0xFF) * 4 > len(window):
        return None
    text_of_guess = _repaired(data, guess)
    if guess == "utf-8":
        return text_of_guess
    warning = f"The encoding is not stated; {guess} was guessed."
    return Decoded(text_of_guess.text, (warning, *text_of_guess.warnings))


def guessed(window: bytes, era: EncodingEra = EncodingEra.ALL) -> str | None:
    """The encoding that some bytes of a text seem to have."""
    return _codec(chardet.detect(window, encoding_era=era)["encoding"])


def _leaves_ascii(data: bytes) -> bool:
    # One byte is found ten times as fast as two are, and is missing from most texts.
    return any(
        first in data and any(escape in data for escape in escapes) for first, escapes in _ESCAPES.items()
    )


def _is_damaged_utf8(text: str) -> bool:
    """Whether a text with U+FFFD was UTF-8: another encoding leaves few characters beyond ASCII whole."""
    damaged = text.count("\ufffd")
    whole = len(text) - len(text.encode("ascii", "ignore")) - damaged
    return damaged * 10 <= whole


def _repaired(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(data.decode(encoding))
    except UnicodeDecodeError as exc:
        name = encoding.removesuffix("-sig").upper()
        warning = f"Bytes that are not {name} were passed over, the first at byte {exc.start}."
        return Decoded(data.decode(encoding, "replace"), (warning,))


def _codec(name: str | None) -> str | None:
    """Python's name of an encoding; None for one that is unknown or is none of text."""
    if name is None or not _NAME.fullmatch(name):
        return None
    try:
        found = codecs.lookup(name.casefold().removeprefix("x-")).name
    except LookupError:
        return None
    return _AS_BROWSERS_DO.get(found, found)
