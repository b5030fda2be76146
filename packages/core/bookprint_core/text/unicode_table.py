"""The character table of the normaliser: the mapping of each code point, frozen at Unicode 14.

Each code point has an entry of 32 bits. The low 21 bits contain the resulting code point; for EXPAND they
contain an index into `expansions`, which stores a count and so many entries. The bits above contain flags,
the kind of script, and the action for a code point that needs more than a plain copy.
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
BLANK = 1 << 23  # a space, a tab or a dropped character; may occur between a hyphen and the line end
LETTER = 1 << 24  # a letter, or a mark, which always follows a letter
LOWER = 1 << 25  # a lower-case letter, before which a hyphen at the line end may have split a word
KIND_SHIFT = 26
KIND = 3 << KIND_SHIFT
ACTION = 7 << 28
COPY, MARK, DROP, EXPAND, HYPHEN, SOFT_HYPHEN, PAGE, NEEDS_NFKC = (code << 28 for code in range(8))
SPECIAL = 1 << 31
SEPARATOR_ENTRY = SEPARATOR | 0x20

NFC_SUSPECT = 1  # NFC may change it, alone or together with the character before it
ALNUM = 2  # its normal form contains a letter or a digit
NUL = 4
SURROGATE = 8
COMBINING = 16  # NFC or NFKC may move it: its decomposition has a canonical combining class other than 0
PILE = 32  # trait of a text: more than MAX_COMBINING combining characters in a row

FIRST_FOLDED = 0x590
"""First code point that `folding_tables` may change."""

MAX_COMBINING = 64
"""Maximum number of combining characters in a row; ordering n takes n² steps. Texts need 30 (UAX 15)."""


@dataclass(frozen=True, slots=True, eq=False)
class UnicodeTable:
    """The character table with its traits and expansions, as arrays for the kernels."""

    entries: NDArray[np.uint32]  # (0x110000,)
    traits: NDArray[np.uint8]  # (0x110000,) NFC_SUSPECT, ALNUM, …
    expansions: NDArray[np.uint32]


@cache
def unicode_table() -> UnicodeTable:
    """Unpack the frozen table, once."""
    raw = lzma.decompress(b85decode(PACKED))
    entries = np.frombuffer(raw, dtype="<u4", count=SIZE).astype(np.uint32)
    traits = np.frombuffer(raw, dtype=np.uint8, offset=4 * SIZE, count=SIZE).copy()
    expansions = np.frombuffer(raw, dtype="<u4", offset=5 * SIZE).astype(np.uint32)
    codes = np.arange(SIZE, dtype=np.uint32)
    # packed as differences, which compress well because most code points become themselves
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
    letters: NDArray[np.uint8]  # (0x110000,) 3 for a letter of a folded script, 1 for another letter, else 0


@cache
def folding_tables() -> FoldingTables:
    """Make the tables of the folded normal form, once; they differ from the frozen table in two rules.

    Marks of Hebrew, Arabic and Syriac, U+0640, U+06E5 and U+06E6 are dropped. Code points of scripts without
    spaces, including marks, are dense: a space between two is removed, and a mark after a space stays.
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
    """Return the folded entries; `is_marked` is true for code points that are dropped if they are marks."""
    codes, action = entries & CODE, entries & ACTION
    dropped = (action == MARK) & is_marked[codes] | (action == COPY) & np.isin(codes, (0x640, 0x6E5, 0x6E6))
    unspaced = (entries & KIND == UNSPACED << KIND_SHIFT) & ((action == COPY) | (action == MARK))
    dense = entries & (SPECIAL - 1 - KIND - ACTION) | (DENSE << KIND_SHIFT | SPECIAL | COPY)
    folded: NDArray[np.uint32] = np.where(dropped, SPECIAL | DROP, np.where(unspaced, dense, entries))
    return folded.astype(np.uint32)
