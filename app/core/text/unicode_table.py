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

from app.core.text.unicode_data import PACKED

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
