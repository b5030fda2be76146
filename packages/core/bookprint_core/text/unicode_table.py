"""The character table of the normaliser: the mapping of each code point, frozen at Unicode 14.

Each code point has one entry of 32 bits. The low 21 are the code point it becomes; for EXPAND they are an
index into `expansions`, where a count and its entries stand. Above them are flags, the kind of script,
and the action for a code point that needs more than a plain copy.
"""

import lzma
from base64 import b85decode
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bookprint_core.recipe import DENSE, UNSPACED
from bookprint_core.text.unicode_data import PACKED

UNICODE_VERSION = "14.0.0"
SIZE = 0x110000

CODE = (1 << 21) - 1
SEPARATOR = 1 << 21
BREAK = 1 << 22  # ends a line
BLANK = 1 << 23  # a space, a tab, or dropped: may stand between a hyphen and the line's end
LETTER = 1 << 24  # a letter, or a mark, which only ever follows one
LOWER = 1 << 25  # a lower-case letter, so a hyphen before the line's end may have split the word here
KIND_SHIFT = 26
KIND = 3 << KIND_SHIFT
ACTION = 7 << 28
COPY, MARK, DROP, EXPAND, HYPHEN, SOFT_HYPHEN, PAGE, NEEDS_NFKC = (code << 28 for code in range(8))
SPECIAL = 1 << 31
SEPARATOR_ENTRY = SEPARATOR | 0x20

NFC_SUSPECT = 1  # NFC may change it, or it together with what stands before it
ALNUM = 2  # its normal form holds a letter or a digit
NUL = 4
SURROGATE = 8
COMBINING = 16  # NFC or NFKC may move it: its canonical combining class, once taken apart, is not 0
PILE = 32  # of a text: more than MAX_COMBINING such characters in a row

FIRST_FOLDED = 0x590
"""The first code point that `folding_tables` treats in its own way."""

MAX_COMBINING = 64
"""Putting n of them in order takes n² steps; UAX 15 knows no text with more than 30 in a row."""


@dataclass(frozen=True, slots=True, eq=False)
class UnicodeTable:
    """The table and its companions, as the kernels take them."""

    entries: NDArray[np.uint32]  # (0x110000,)
    traits: NDArray[np.uint8]  # (0x110000,) NFC_SUSPECT, ALNUM, …
    expansions: NDArray[np.uint32]


@cache
def unicode_table() -> UnicodeTable:
    """The frozen table, unpacked once."""
    raw = lzma.decompress(b85decode(PACKED))
    entries = np.frombuffer(raw, dtype="<u4", count=SIZE).astype(np.uint32)
    traits = np.frombuffer(raw, dtype=np.uint8, offset=4 * SIZE, count=SIZE).copy()
    expansions = np.frombuffer(raw, dtype="<u4", offset=5 * SIZE).astype(np.uint32)
    codes = np.arange(SIZE, dtype=np.uint32)
    # it is packed as differences, which compress well: most code points become themselves
    moved = (entries & np.uint32(SEPARATOR)) == 0
    entries = np.where(
        moved, (entries + codes) & np.uint32(CODE) | entries & np.uint32(~CODE & 0xFFFFFFFF), entries
    )
    return UnicodeTable(entries, traits, expansions)


@dataclass(frozen=True, slots=True, eq=False)
class FoldingTables:
    """The tables of the folded normal form."""

    entries: NDArray[np.uint32]  # as in UnicodeTable
    expansions: NDArray[np.uint32]
    letters: NDArray[np.uint8]  # (0x110000,) 1 for a letter, 3 for one of a script that is folded, else 0


@cache
def folding_tables() -> FoldingTables:
    """The frozen table with these changes, made once:

    - Marks of Hebrew, Arabic and Syriac, U+0640, U+06E5 and U+06E6 are dropped.
    - Code points of scripts without spaces, marks too, are dense: no space stands between two of them, and a
      mark after a space stays.
    """
    table, is_marked = unicode_table(), np.zeros(CODE + 1, dtype=np.bool_)
    is_marked[FIRST_FOLDED:0x780] = is_marked[0x860:0x900] = is_marked[0xFB1E] = True
    expansions, place = _folded(table.expansions, is_marked), 0
    while place < expansions.size:
        parts = slice(place + 1, place + 1 + int(table.expansions[place]))
        kept = expansions[parts][(expansions[parts] & ACTION) != DROP]
        expansions[place] = kept.size
        expansions[place + 1 : place + 1 + kept.size] = kept
        place = parts.stop
    is_letter = (table.entries & LETTER != 0) & (table.entries & ACTION != MARK)
    is_of_script = is_marked[:SIZE] | (table.entries & KIND == UNSPACED << KIND_SHIFT)
    letters = np.where(is_letter, 1 + 2 * is_of_script, 0).astype(np.uint8)
    return FoldingTables(_folded(table.entries, is_marked), expansions, letters)


def _folded(entries: NDArray[np.uint32], is_marked: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """The entries as folding has them; `is_marked` says whether marks among these code points are dropped."""
    codes, action = entries & CODE, entries & ACTION
    dropped = (action == MARK) & is_marked[codes] | (action == COPY) & np.isin(codes, (0x640, 0x6E5, 0x6E6))
    unspaced = (entries & KIND == UNSPACED << KIND_SHIFT) & ((action == COPY) | (action == MARK))
    dense = entries & (SPECIAL - 1 - KIND - ACTION) | (DENSE << KIND_SHIFT | SPECIAL | COPY)
    folded: NDArray[np.uint32] = np.where(dropped, SPECIAL | DROP, np.where(unspaced, dense, entries))
    return folded.astype(np.uint32)
