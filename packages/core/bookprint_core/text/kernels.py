"""Compiled kernels that read text: the inspection, the normaliser and the kinds of script.

They write into arrays of the caller.
"""

import numpy as np
from numpy.typing import NDArray

from bookprint_core.jit import I64, U8, U32, Codes, Index, compiled
from bookprint_core.text import unicode_table as u

SPECIAL, CODE, KIND, ACTION = U32(u.SPECIAL), U32(u.CODE), U32(u.KIND), U32(u.ACTION)
SEPARATOR, BREAK, BLANK = U32(u.SEPARATOR), U32(u.BREAK), U32(u.BLANK)
LETTER, LOWER = U32(u.LETTER), U32(u.LOWER)
COPY, MARK, EXPAND = U32(u.COPY), U32(u.MARK), U32(u.EXPAND)
HYPHEN, SOFT_HYPHEN, PAGE, NEEDS_NFKC = U32(u.HYPHEN), U32(u.SOFT_HYPHEN), U32(u.PAGE), U32(u.NEEDS_NFKC)
DENSE_KIND = U32(1 << u.KIND_SHIFT)
NFC_SUSPECT, COMBINING, PILE = U8(u.NFC_SUSPECT), U8(u.COMBINING), U8(u.PILE)
SPACE, LINE_FEED, FORM_FEED, CARRIAGE_RETURN = 0x20, 0x0A, 0x0C, 0x0D

DONE, TOO_SMALL, NEEDS_WHOLE_NFKC = range(3)
"""Outcomes of `normalise`."""


_PART = 1 << 20  # characters read at once; no other thread runs meanwhile


def codes_of(text: str) -> Codes:
    """Return the code points of a string, (characters,), including lone surrogates."""
    if len(text) <= _PART:
        # numpy stores strings in UTF-32, and converts four times as fast as the codec
        return np.array([text]).view(np.uint32)[: len(text)]
    return np.concatenate([codes_of(text[start : start + _PART]) for start in range(0, len(text), _PART)])


@compiled
def inspect(codes: Codes, traits: NDArray[np.uint8]) -> tuple[int, int]:
    """Return the bitwise or of all traits in a text, and its number of page breaks."""
    unusual = 0
    page_breaks = 0
    for i in range(codes.size):
        code = U32(codes[i])
        # Latin, Greek, Cyrillic and general punctuation have only the trait ALNUM in the table
        usual = (
            U32(code - U32(1)) < U32(0x2FF)
            or U32(code - U32(0x388)) < U32(0x482 - 0x388)
            or U32(code - U32(0x2010)) < U32(0x50)
        )
        unusual += 0 if usual else 1
        page_breaks += 1 if code == U32(FORM_FEED) else 0
    seen = U8(0)
    run = 0
    for i in range(codes.size):
        trait = traits[codes[i]]
        seen |= trait
        run = run + 1 if trait & COMBINING else 0
        if run > u.MAX_COMBINING:
            seen |= PILE
        if unusual == 0 and seen:
            break
    return I64(seen), page_breaks


@compiled
def _after_hyphen(codes: Codes, i: int, table: NDArray[np.uint32]) -> tuple[int, bool]:
    """Return the place after blanks and breaks at `i`, and whether a hyphen before them splits a word."""
    lines = 0
    pages = 0
    n = codes.size
    while i < n:
        entry = table[codes[i]]
        if entry & BREAK:
            if codes[i] == FORM_FEED:
                pages += 1
            elif not (codes[i] == LINE_FEED and codes[i - 1] == CARRIAGE_RETURN):
                lines += 1
        elif not entry & BLANK:
            break
        i += 1
    if i < n and lines <= 1 and pages <= 1 and lines + pages > 0 and table[codes[i]] & LOWER:
        return i, True
    return i, False


@compiled
def _copy(
    codes: Codes, table: NDArray[np.uint32], out: Codes, i: int, j: int, after: int
) -> tuple[int, int, int, np.uint32]:
    """Copy code points up to the first that needs another action; `after` is 1 after a separator, else 0."""
    one = Index(1)
    n = Index(codes.size)
    seen = U32(0)
    while i < n:
        entry = table[codes[i]]
        if entry & SPECIAL and (after == one or (entry & ACTION) != COPY):
            break
        seen |= entry
        out[j] = entry & CODE
        separator = Index((entry >> U32(21)) & U32(1))
        j = Index(j + one - Index(separator & after))
        after = separator
        i = Index(i + one)
    return i, j, after, seen


@compiled
def _dense_before(out: Codes, j: int, table: NDArray[np.uint32]) -> bool:
    """Return whether the text before the separator at `j` - 1 ends in a dense script."""
    k = j - 2
    while k >= 0 and (table[out[k]] & SPECIAL) and (table[out[k]] & ACTION) == MARK:
        k -= 1
    return k >= 0 and (table[out[k]] & KIND) == DENSE_KIND


@compiled
def normalise(
    codes: Codes,
    table: NDArray[np.uint32],
    traits: NDArray[np.uint8],
    expansions: NDArray[np.uint32],
    out: Codes,
    page_starts: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Write the normal form of `codes` into `out`, and the start of each of its pages into `page_starts`.

    Returns the length, the bitwise or of the table entries used, and a status. NEEDS_WHOLE_NFKC: the whole
    text must be put into NFKC first, because a character that NFKC changes may combine with its neighbour.
    Page breaks beyond the size of `page_starts` are plain separators.
    """
    n = codes.size
    i = 0
    j = 0
    page = 0
    seen = U32(0)
    whole = 0  # no hyphen before this place splits a word; checked once for a run of hyphens
    after = 1  # 1: a separator was written last, or nothing is written yet
    page_starts[0] = 0
    while True:
        ui, uj, uafter, copied = _copy(codes, table, out, Index(i), Index(j), Index(after))
        i, j, after = I64(ui), I64(uj), I64(uafter)
        seen |= copied
        if i >= n:
            break
        entry = table[codes[i]]
        i += 1
        action = entry & ACTION
        first, last = -1, 0
        if action == EXPAND:
            first = I64(entry & CODE)
            last = first + I64(expansions[first])
            if i < n and traits[codes[i]] & NFC_SUSPECT:
                return j, int(seen), NEEDS_WHOLE_NFKC
            if j + (last - first) + (n - i) >= out.size:
                return j, int(seen), TOO_SMALL
        elif action in (HYPHEN, SOFT_HYPHEN):
            if after == 0 and i >= whole and table[out[j - 1]] & LETTER:
                resumed, split = _after_hyphen(codes, i, table)
                while split and i < resumed:
                    if codes[i] == FORM_FEED and page + 1 < page_starts.size:
                        page += 1
                        page_starts[page] = j
                    i += 1
                if split:
                    continue
                whole = resumed
            if action == SOFT_HYPHEN:
                continue
            entry = SEPARATOR
        elif action == PAGE:
            entry = SEPARATOR
        elif action == NEEDS_NFKC:
            return j, int(seen), NEEDS_WHOLE_NFKC
        elif action != COPY and action != MARK:
            continue
        while first < last:
            first += 1
            if first > 0:
                entry = expansions[first]
            if entry & SEPARATOR:
                out[j] = SPACE
                j += 1 - after
                after = 1
                continue
            seen |= entry
            if (entry & ACTION) == MARK:
                out[j] = entry & CODE
                j += 1 - after
                continue
            if after == 1 and (entry & KIND) == DENSE_KIND and _dense_before(out, j, table):
                earlier = page
                while earlier > 0 and page_starts[earlier] == j:
                    page_starts[earlier] = j - 1
                    earlier -= 1
                j -= 1
            out[j] = entry & CODE
            j += 1
            after = 0
        if action == PAGE and page + 1 < page_starts.size:
            page += 1
            page_starts[page] = j
    if j > 0 and after == 1:
        j -= 1
        while page > 0 and page_starts[page] > j:
            page_starts[page] = j
            page -= 1
    return j, int(seen), DONE


@compiled
def count_letters(text: Codes, letters: NDArray[np.uint8]) -> tuple[int, int]:
    """Count the letters of folded scripts (3 in `letters`) and all letters (1 or 3) of a normal form."""
    folded, count = 0, 0
    for i in range(text.size):
        letter = letters[text[i]]
        folded += letter >> 1
        count += letter & 1
    return folded, count


@compiled
def kinds_of(text: Codes, table: NDArray[np.uint32], kinds: NDArray[np.uint8]) -> None:
    """Write the kind of script of each code point of a normal form; a mark gets the kind of its letter."""
    last = U8(0)
    for i in range(text.size):
        entry = table[text[i]]
        if not ((entry & SPECIAL) and (entry & ACTION) == MARK):
            last = U8((entry & KIND) >> U32(u.KIND_SHIFT))
        kinds[i] = last
