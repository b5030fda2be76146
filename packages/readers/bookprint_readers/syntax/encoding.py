"""Decoding of text: by its byte order mark, as UTF-8, as declared, or by a guess.

A guess is always reported. A wrong guess changes letters, and lookups may miss the book.
"""

import codecs
import re
from collections import Counter
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
"""Byte order marks. Marks of UTF-32 come first, because one of them begins with a mark of UTF-16."""

_GUESSED_FROM = 1 << 16  # bytes that a guess reads

_ESCAPES = {b"\x1b": (b"\x1b$", b"\x1b("), b"~": (b"~{",)}
"""Escape sequences of ISO-2022 and HZ, by first byte. All their bytes are valid UTF-8."""

_NAME = re.compile(
    r"(x-)?(utf|iso|windows|cp|ibm|koi8|kz|ptcp|hp|mac|euc|gb|big5|shift|sjis|hz|tis|ks_?c|johab|latin|us-|ascii)"
    r"[\w.:-]{0,30}",
    re.IGNORECASE,
)
"""Names of text encodings. Python also has codecs that are not for texts, such as punycode."""

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
"""Wider encodings that browsers use for declared encodings (WHATWG Encoding, 4.2), by Python's names."""

_HIGH_BYTES = 0.3
"""Minimum share of the script's own high byte among the high bytes of UTF-16, 0 to 1."""

_LEAST_OF_EACH = 4
"""Minimum number of non-ASCII letters in lines of UTF-8, and of non-ASCII bytes in the other lines."""

_FEW_UTF8 = 0.1
"""Ratio of UTF-8 letters to other non-ASCII bytes below which the UTF-8 may be chance, except with cp125x."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, with warnings about its encoding."""

    text: str
    warnings: tuple[str, ...] = ()


def decoded(data: bytes, declared: str | None = None) -> Decoded | None:
    """Return the text in these bytes, with U+FFFD for damaged parts, or None if they are not text.

    `declared` is the encoding that the text itself names. A byte order mark overrides it. Well-formed UTF-8
    that is not all ASCII overrides it, too.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            marked = _repaired(data, encoding)
            half = marked.warnings and mark == codecs.BOM_UTF8
            return (_of_two_encodings(data[len(mark) :]) or marked) if half else marked
    named = _codec(declared)
    first_doubt = 0
    start = data[:_GUESSED_FROM]
    if (utf16 := _utf16_without_mark(start)) is not None:
        return _guessed(data, utf16)
    # Bytes with more than a tenth of zeros are UTF-32 without a mark, or not text.
    if start.count(0) * 10 <= len(start) and not _leaves_ascii(data):
        try:
            text = data.decode()
        except UnicodeDecodeError as exc:
            first_doubt = exc.start
            if (mixed := _of_two_encodings(data)) is not None:
                return mixed
            damaged = _repaired(data, "utf-8")
            whole, lost = _beyond_ascii(damaged.text)
            if lost * 10 <= whole:  # few bytes of other encodings are valid UTF-8 beyond ASCII
                return damaged
        else:
            if named is None or not text.isascii():
                return Decoded(text)
    if named:
        try:
            return Decoded(data.decode(named))
        except UnicodeError:
            pass  # a wrong declaration is ignored
    window = data[max(0, first_doubt - _GUESSED_FROM // 2) :][:_GUESSED_FROM]
    guess = guessed(window)
    # 0xFF fills parts of a file that were never written. As a letter it is rare in every encoding.
    if guess is None or window.count(0xFF) * 4 > len(window):
        return None
    return _repaired(data, guess) if guess == "utf-8" else _guessed(data, guess)


def _guessed(data: bytes, encoding: str) -> Decoded:
    found = _repaired(data, encoding)
    return Decoded(found.text, (f"The encoding is not stated; {encoding} was guessed.", *found.warnings))


def _utf16_without_mark(start: bytes) -> str | None:
    """Return the form of UTF-16 if many high bytes are equal and some are zero (blanks), or None."""
    shares = []
    for name, half in (("utf-16-be", start[0::2]), ("utf-16-le", start[1::2])):
        (byte, count), *_ = Counter(half).most_common(1) or [(0, 0)]
        shares.append((count / max(len(half), 1), 0 in half and byte != ord(" "), name))
    (other, _, _), (high, has_zeros, name) = sorted(shares)
    return name if has_zeros and high >= max(_HIGH_BYTES, 3 * other) else None


def _of_two_encodings(data: bytes) -> Decoded | None:
    """Decode a text whose lines are in UTF-8 or one other encoding. Return None for any other text."""
    lines: list[bytes | str] = []
    letters = 0
    for line in data.splitlines(keepends=True):
        text = line.decode("utf-8", "replace")
        whole, damaged = _beyond_ascii(text)
        letters += whole if damaged <= whole else 0
        lines.append(line if damaged > whole else text)
    others = [line for line in lines if isinstance(line, bytes)]
    bytes_beyond = sum(len(line) - len(line.decode("ascii", "ignore")) for line in others)
    if min(letters, bytes_beyond) < _LEAST_OF_EACH:
        return None
    guess = _codec(chardet.detect(b"".join(others)[:_GUESSED_FROM])["encoding"])
    if guess is None or (letters < _FEW_UTF8 * bytes_beyond and not guess.startswith("cp125")):
        return None
    try:
        whole_text = "".join(line if isinstance(line, str) else line.decode(guess) for line in lines)
    except UnicodeError:
        return None
    return Decoded(
        whole_text,
        (f"The lines are in two encodings; {guess} was guessed for {len(others):,} that are not UTF-8.",),
    )


def guessed(window: bytes, era: EncodingEra = EncodingEra.ALL) -> str | None:
    """Guess the encoding of some bytes of a text."""
    return _codec(chardet.detect(window, encoding_era=era)["encoding"])


def _leaves_ascii(data: bytes) -> bool:
    # A search for one byte is ten times as fast as for two. Most texts lack the first byte.
    return any(
        first in data and any(escape in data for escape in escapes) for first, escapes in _ESCAPES.items()
    )


def _beyond_ascii(text: str) -> tuple[int, int]:
    """Count the valid characters beyond ASCII, and the damaged ones (U+FFFD)."""
    if text.isascii():
        return 0, 0
    damaged = text.count("\ufffd")
    return len(text) - len(text.encode("ascii", "ignore")) - damaged, damaged


def _repaired(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(data.decode(encoding))
    except UnicodeDecodeError as exc:
        name = encoding.removesuffix("-sig").upper()
        warning = f"Bytes that are not {name} were replaced by U+FFFD, the first at byte {exc.start}."
        return Decoded(data.decode(encoding, "replace"), (warning,))


def _codec(name: str | None) -> str | None:
    """Return Python's name of an encoding, or None if it is unknown or not for text."""
    if name is None or not _NAME.fullmatch(name):
        return None
    try:
        found = codecs.lookup(name.casefold().removeprefix("x-")).name
    except LookupError:
        return None
    return _AS_BROWSERS_DO.get(found, found)
