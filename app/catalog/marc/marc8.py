"""Conversion of MARC-8 to Unicode ("MARC 21 Specifications", character sets); undefined bytes are refused.

pymarc contains the tables of the Library of Congress. Its own decoder silently omits unknown characters or
replaces them by a blank, which would change a record.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache

_ASCII, _ANSEL, _EAST_ASIAN = 0x42, 0x45, 0x31

_ESCAPE = re.compile(rb"\x1b(?:([sbgp])|(\$?)([(,)-]?)!?(.))", re.DOTALL)
"""Escape sequences that select a set as G0 or G1 (ISO 2022).

Technique 1 names ASCII, subscripts, Greek symbols and superscripts by one letter each. Sets of several bytes
may omit the mark of G0. The exclamation mark is the first character of ANSEL's name.
"""

_CONTROLS = {0x88: "\x98", 0x89: "\x9c", 0x8D: "\u200d", 0x8E: "\u200c"}
"""Begin and end of text that is ignored in sorting, joiner and non-joiner."""


class UnknownCharacter(ValueError):
    """Bytes that are not a character."""


def decoded(data: bytes) -> str:
    """Decode the text of a subfield from MARC-8 to Unicode NFC; raises UnknownCharacter.

    >>> decoded(b"Lib\\xe8afn, Fran\\xf0cois")
    'Lib\u00e4fn, Fran\u00e7ois'
    """
    if data.isascii() and b"\x1b" not in data:
        return data.decode("ascii")
    sets = [_ASCII, _ANSEL]  # G0 and G1 at the start of each subfield
    letters: list[str] = []
    marks: list[str] = []  # combining marks; MARC-8 has them before their letter, Unicode after it
    place = 0
    while place < len(data):
        if data[place] == 0x1B:
            side, name, place = _switched(data, place)
            sets[side] = name
            continue
        character, combining, place = _character(data, place, sets)
        if combining:
            marks.append(character)
        else:
            letters += [character, *marks]
            marks.clear()
    if marks:
        raise UnknownCharacter("a diacritic has no letter after it")
    return unicodedata.normalize("NFC", "".join(letters))


@cache
def _sets() -> Mapping[int, Mapping[int, tuple[int, int]]]:
    """Load the characters of each set once, by code: code point, and 1 for a combining mark."""
    from pymarc.marc8_mapping import CODESETS, ODD_MAP

    odd = {code: (point, 0) for code, point in ODD_MAP.items()}
    return {**CODESETS, _EAST_ASIAN: odd | CODESETS[_EAST_ASIAN]}


def _switched(data: bytes, place: int) -> tuple[int, int, int]:
    """Return the side (0 for G0), its new set, and the place after the escape sequence."""
    match = _ESCAPE.match(data, place)
    short, wide, side, final = match.groups() if match else (b"", b"", b"", b"")
    if match and short:
        return 0, _ASCII if short == b"s" else short[0], match.end()
    if not match or not (wide or side) or final[0] not in _sets():
        raise UnknownCharacter(
            f"an escape sequence does not name a character set: {data[place + 1 : place + 4]!r}"
        )
    return int(side in (b")", b"-")), final[0], match.end()


def _character(data: bytes, place: int, sets: Sequence[int]) -> tuple[str, bool, int]:
    """Return the character at a place, whether it is a combining mark, and the place after it."""
    first = data[place]
    if first in _CONTROLS:
        return _CONTROLS[first], False, place + 1
    if first < 0x21 or first in (0x7F, 0x80):
        if first not in b" \t\r\n":
            raise UnknownCharacter(f"the byte {first:02X} is not a character")
        return chr(first), False, place + 1
    name = sets[first > 0x80]
    code, number = data[place : place + 1], first
    if name == _EAST_ASIAN:
        code = data[place : place + 3]
        number = int.from_bytes(bytes(byte & 0x7F for byte in code))
    # The tables contain each set at its usual side, but either side may use it.
    found = _sets()[name].get(number) or _sets()[name].get(number ^ 0x80)
    if found is None:
        raise UnknownCharacter(f"the bytes {code.hex(' ').upper()} are not a character of their set")
    return chr(found[0]), bool(found[1]), place + (3 if name == _EAST_ASIAN else 1)
