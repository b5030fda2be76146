"""MARC-8 to Unicode ("MARC 21 Specifications", character sets), refusing what has no meaning.

pymarc has the tables of the Library of Congress. Its own decoder leaves out what it does not know, or puts
a blank there, which would change a record without a word.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

_ESCAPE = 0x1B
_ASCII, _ANSEL, _EAST_ASIAN = 0x42, 0x45, 0x31
_SHORT_ESCAPES = {0x73: _ASCII, 0x62: 0x62, 0x67: 0x67, 0x70: 0x70}
"""Technique 1: ASCII, subscripts, Greek symbols and superscripts, each by one character."""

_CONTROLS = {0x88: "\x98", 0x89: "\x9c", 0x8D: "\u200d", 0x8E: "\u200c"}
"""Begin and end of what is not sorted, joiner and non-joiner."""


class UnknownCharacter(ValueError):
    """Bytes that stand for no character."""


@cache
def _sets() -> Mapping[int, Mapping[int, tuple[int, int]]]:
    """The characters of each set by their codes: code point, and 1 for a mark. Loaded when first needed."""
    from pymarc.marc8_mapping import CODESETS, ODD_MAP

    odd = {code: (point, 0) for code, point in ODD_MAP.items()}
    return {**CODESETS, _EAST_ASIAN: odd | CODESETS[_EAST_ASIAN]}


@dataclass(slots=True)
class _Reader:
    """Reads one subfield, which begins with the basic sets."""

    data: bytes
    place: int = 0
    sets: list[int] = field(default_factory=lambda: [_ASCII, _ANSEL])  # G0 and G1

    def text(self) -> str:
        letters: list[str] = []
        marks: list[str] = []  # which come before their letter, and in Unicode after it
        while self.place < len(self.data):
            if self.data[self.place] == _ESCAPE:
                self._switch()
                continue
            character, combining = self._character()
            if combining:
                marks.append(character)
            else:
                letters += [character, *marks]
                marks.clear()
        if marks:
            raise UnknownCharacter("a diacritic stands before no letter")
        return unicodedata.normalize("NFC", "".join(letters))

    def _switch(self) -> None:
        """Take another set as G0 or G1, as an escape sequence says (ISO 2022)."""
        rest = self.data[self.place + 1 : self.place + 4]
        if rest[:1] and rest[0] in _SHORT_ESCAPES:
            self.sets[0] = _SHORT_ESCAPES[rest[0]]
            self.place += 2
            return
        wide = rest[:1] == b"$"
        position = rest[1:] if wide else rest
        # Of sets of several bytes the mark of G0 may be left out.
        side, length = {b"(": (0, 1), b",": (0, 1), b")": (1, 1), b"-": (1, 1)}.get(
            position[:1], (0, 0) if wide else (0, -1)
        )
        final = position[length : length + 1] if length >= 0 else b""
        if final == b"!":  # the second character of ANSEL's name
            final, length = position[length + 1 : length + 2], length + 1
        if not final or final[0] not in _sets():
            raise UnknownCharacter(f"an escape sequence names no character set: {rest!r}")
        self.sets[side] = final[0]
        self.place += 1 + wide + length + 1

    def _character(self) -> tuple[str, bool]:
        """The next character, and whether it is a mark on the one behind it."""
        first = self.data[self.place]
        if first in _CONTROLS:
            self.place += 1
            return _CONTROLS[first], False
        if first < 0x21 or first in (0x7F, 0x80):
            if first not in b" \t\r\n":
                raise UnknownCharacter(f"the byte {first:02X} is no character")
            self.place += 1
            return chr(first), False
        name = self.sets[first > 0x80]
        if name == _EAST_ASIAN:
            code = self.data[self.place : self.place + 3]
            number = int.from_bytes(bytes(byte & 0x7F for byte in code))
            length = 3
        else:
            code, number, length = self.data[self.place : self.place + 1], first, 1
        # The tables have each set on the side where it is usual; either side can take it.
        found = _sets()[name].get(number) or _sets()[name].get(number ^ 0x80)
        if found is None:
            raise UnknownCharacter(f"the bytes {code.hex(' ').upper()} are no character of their set")
        self.place += length
        return chr(found[0]), bool(found[1])


def decoded(data: bytes) -> str:
    """The text of a subfield in MARC-8, in Unicode NFC; raises UnknownCharacter.

    >>> decoded(b"Lib\\xe8afn, Fran\\xf0cois")
    'Lib\u00e4fn, Fran\u00e7ois'
    """
    return data.decode("ascii") if data.isascii() and _ESCAPE not in data else _Reader(data).text()
