"""Builds the normaliser's character table from this Python's Unicode data.

    python -m tests.vectors.unicode_table      writes unicode_data.py of the core (Python 3.11, Unicode 14)

The table is frozen because Unicode grows with every Python while a recipe must not.
"""

import lzma
import sys
import unicodedata
from base64 import b85encode
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bookprint_core.recipe import ALPHABETIC, DENSE, SYLLABIC, UNSPACED
from bookprint_core.text import unicode_table as layout

SIZE = sys.maxunicode + 1
MODULE = Path(layout.__file__).with_name("unicode_data.py")

KIND_RANGES = {
    DENSE: (
        (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x303C), (0x3040, 0x312F), (0x31A0, 0x31FF),
        (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA000, 0xA48F), (0xF900, 0xFAFF), (0x16FE0, 0x18DFF),
        (0x1AFF0, 0x1B2FF), (0x20000, 0x3FFFD),
    ),
    SYLLABIC: ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF)),
    UNSPACED: (
        (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF), (0x1A20, 0x1AAF),
        (0x1B00, 0x1B7F), (0xA980, 0xA9FF), (0xAA60, 0xAADF), (0x11700, 0x1174F),
    ),
}  # fmt: skip
"""Code points of each kind of script, first and last; all others are alphabetic."""

IGNORABLE = frozenset(
    (
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180F, 0x3164, 0xFFA0),
        *range(0x180B, 0x180F),
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
    )
)
"""Default-ignorable code points that are not of category Cf."""

LINE_BREAKS = frozenset("\n\v\r\x1c\x1d\x1e\x85\u2028\u2029")
HYPHENS = frozenset("-\u2010")


def _kinds() -> NDArray[np.uint8]:
    kinds = np.full(SIZE, ALPHABETIC, dtype=np.uint8)
    for kind, ranges in KIND_RANGES.items():
        for first, last in ranges:
            kinds[first : last + 1] = kind
    return kinds


def _composing() -> set[int]:
    """Code points that may join the one before them under NFC (quick check: Maybe), or are reordered."""
    codes = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
    for code in range(SIZE):
        char = chr(code)
        if unicodedata.combining(char):
            codes.add(code)
        parts = unicodedata.decomposition(char).split()
        if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.normalize("NFC", char) == char:
            codes.add(int(parts[1], 16))
    return codes


def _lower(char: str) -> str:
    return "σ" if char == "ς" else char.lower()[0]


def _basic(char: str, kinds: NDArray[np.uint8]) -> int | None:
    """The entry of a code point that NFKC leaves alone; None: it is dropped."""
    code, category = ord(char), unicodedata.category(char)
    if category in ("Cf", "Me") or code in IGNORABLE:
        return None
    if category[0] in "LN":
        mapped = ord(_lower(char))
        kind = int(kinds[mapped])
        entry = mapped | kind << layout.KIND_SHIFT | (layout.SPECIAL | layout.COPY if kind == DENSE else 0)
        entry |= layout.LETTER if category[0] == "L" else 0
        return entry | (layout.LOWER if category == "Ll" else 0)
    if category in ("Mn", "Mc"):
        return code | int(kinds[code]) << layout.KIND_SHIFT | layout.LETTER | layout.SPECIAL | layout.MARK
    return layout.SEPARATOR_ENTRY


def _is_separator(entry: int) -> bool:
    return bool(entry & layout.SEPARATOR)


def _entry(char: str, kinds: NDArray[np.uint8], composing: set[int], expansions: list[int]) -> int:
    if char in LINE_BREAKS:
        return layout.SEPARATOR_ENTRY | layout.BREAK
    if char == "\f":
        return layout.SEPARATOR_ENTRY | layout.BREAK | layout.SPECIAL | layout.PAGE
    if char == "\u00ad":
        return layout.BLANK | layout.SPECIAL | layout.SOFT_HYPHEN
    compatible = unicodedata.normalize("NFKC", char)
    if compatible in HYPHENS:
        return layout.SEPARATOR_ENTRY | layout.SPECIAL | layout.HYPHEN
    if unicodedata.normalize("NFC", char) != char or (compatible != char and ord(compatible[0]) in composing):
        return layout.SPECIAL | layout.NEEDS_NFKC
    entries = [entry for part in compatible if (entry := _basic(part, kinds)) is not None]
    if not entries:
        return layout.BLANK | layout.SPECIAL | layout.DROP
    if all(
        _is_separator(entry) or entry & layout.ACTION == layout.MARK for entry in entries[1:]
    ) and _is_separator(entries[0]):
        blank = unicodedata.category(compatible[0]) == "Zs" or compatible == "\t"
        return layout.SEPARATOR_ENTRY | (layout.BLANK if blank and len(compatible) == 1 else 0)
    if compatible == char:
        return entries[0]
    offset = len(expansions)
    expansions.extend([len(entries), *entries])
    lower = entries[0] & (layout.LOWER | layout.LETTER | layout.KIND)
    return offset | lower | layout.SPECIAL | layout.EXPAND


def _traits(kinds: NDArray[np.uint8], composing: set[int]) -> Iterator[int]:
    for code in range(SIZE):
        char = chr(code)
        suspect = code in composing or unicodedata.normalize("NFC", char) != char
        parts = [_basic(part, kinds) for part in unicodedata.normalize("NFKC", char)]
        traits = layout.NFC_SUSPECT if suspect else 0
        traits |= layout.ALNUM if any(part is not None and _is_kept(part) for part in parts) else 0
        traits |= layout.NUL if code == 0 else 0
        traits |= layout.SURROGATE if 0xD800 <= code < 0xE000 else 0
        is_moved = unicodedata.combining(unicodedata.normalize("NFKD", char)[0])
        yield traits | (layout.COMBINING if is_moved else 0)


def _is_kept(entry: int) -> bool:
    return not _is_separator(entry) and entry & layout.ACTION != layout.MARK


def build() -> tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint32]]:
    """Table and traits by code point, and the expansions, as bookprint_core.text.unicode_table has them."""
    kinds, composing = _kinds(), _composing()
    expansions: list[int] = []
    table = np.empty(SIZE, dtype=np.uint32)
    for code in range(SIZE):
        table[code] = _entry(chr(code), kinds, composing, expansions)
    traits = np.fromiter(_traits(kinds, composing), dtype=np.uint8, count=SIZE)
    return table, traits, np.array(expansions, dtype=np.uint32)


def main() -> None:
    """Writes the table file."""
    if unicodedata.unidata_version != layout.UNICODE_VERSION:
        raise SystemExit(
            f"This Python has Unicode {unicodedata.unidata_version}; 14.0.0 is needed (Python 3.11)."
        )
    table, traits, expansions = build()
    codes = np.arange(SIZE, dtype=np.uint32) & np.uint32(layout.CODE)
    plain = (table & np.uint32(layout.SEPARATOR)) == 0
    delta = np.where(plain, (table - codes) & np.uint32(layout.CODE) | table & ~np.uint32(layout.CODE), table)
    raw = delta.astype("<u4").tobytes() + traits.tobytes() + expansions.astype("<u4").tobytes()
    packed = b85encode(lzma.compress(raw, lzma.FORMAT_ALONE, preset=9 | lzma.PRESET_EXTREME)).decode()
    lines = "\n".join(f'    b"{packed[start : start + 100]}"' for start in range(0, len(packed), 100))
    MODULE.write_text(
        f'"""The packed character table; `unicode_table` reads it."""\n\nPACKED = (\n{lines}\n)\n'
    )


if __name__ == "__main__":
    main()
