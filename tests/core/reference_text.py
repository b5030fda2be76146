"""The normal form once more, in plain Python from the rules in tests/vectors/README.md."""

import re
import unicodedata
from functools import cache

from tests.vectors.unicode_table import HYPHENS, IGNORABLE, KIND_RANGES, LINE_BREAKS

ALPHABETIC, DENSE, SYLLABIC, UNSPACED = range(4)


@cache
def kind(char: str) -> int:
    for script, ranges in KIND_RANGES.items():
        if any(first <= ord(char) <= last for first, last in ranges):
            return script
    return ALPHABETIC


@cache
def _dropped(char: str) -> bool:
    return unicodedata.category(char) in ("Cf", "Me") or ord(char) in IGNORABLE


@cache
def _kept(char: str) -> bool:
    return unicodedata.category(char)[0] in "LN" and not _dropped(char)


@cache
def _mark(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Mc") and not _dropped(char)


def _resumed(text: str, i: int) -> int | None:
    """Where a word split by a hyphen at `i` goes on."""
    lines = pages = 0
    j = i + 1
    while j < len(text):
        char = text[j]
        if char == "\f":
            pages += 1
        elif char in LINE_BREAKS:
            lines += not (char == "\n" and text[j - 1] == "\r")
        elif not (unicodedata.category(char) == "Zs" or char == "\t" or _dropped(char)):
            break
        j += 1
    splits = lines <= 1 and pages <= 1 and lines + pages > 0 and j < len(text)
    return j if splits and unicodedata.category(text[j]) == "Ll" else None


@cache
def _spacing(char: str) -> bool:
    """Whether it is a space with marks on it."""
    space, *marks = unicodedata.normalize("NFKC", char)
    return space == " " and bool(marks) and all(unicodedata.category(mark)[0] == "M" for mark in marks)


def _optional(char: str) -> bool:
    """Whether the folded normal form drops it: a mark of Hebrew, Arabic or Syriac, a tatweel."""
    point = ord(char)
    marked = 0x590 <= point < 0x780 or 0x860 <= point < 0x900 or point == 0xFB1E
    return (marked and _mark(char)) or char in "\u0640\u06e5\u06e6"


def _is_folded(normal: str) -> bool:
    letters = [char for char in normal if unicodedata.category(char)[0] == "L"]
    folded = [
        char
        for char in letters
        if 0x590 <= ord(char) < 0x780 or 0x860 <= ord(char) < 0x900 or kind(char) == UNSPACED
    ]
    return 2 * len(folded) > len(letters)


def form_of(text: str) -> tuple[str, list[int], bool]:
    """The normal form, where each page starts in it, and whether folding changes it."""
    plain, starts = _normal_form(text, folded=False)
    if _is_folded(plain):
        folded, folded_starts = _normal_form(text, folded=True)
        if folded != plain:
            return folded, folded_starts, True
    return plain, starts, False


def _normal_form(text: str, folded: bool) -> tuple[str, list[int]]:
    text = unicodedata.normalize("NFKC", "".join("." if _spacing(char) else char for char in text))
    dense = (DENSE, UNSPACED) if folded else (DENSE,)
    out: list[str] = []
    starts = [0]
    i = 0

    def is_mark(char: str) -> bool:
        return _mark(char) and not (folded and kind(char) == UNSPACED)

    def space() -> None:
        if out and out[-1] != " ":
            out.append(" ")

    while i < len(text):
        char = text[i]
        if folded and _optional(char):
            pass
        elif _kept(char) or (_mark(char) and not is_mark(char)):
            lower = char.lower()[0].replace("ς", "σ")
            if kind(lower) in dense and out and out[-1] == " ":
                before = next((c for c in reversed(out[:-1]) if not is_mark(c)), " ")
                if kind(before) in dense:
                    starts = [min(start, len(out) - 1) for start in starts]
                    out.pop()
            out.append(lower)
        elif _mark(char):
            if out and out[-1] != " ":
                out.append(char)
        elif char in HYPHENS or char == "\u00ad":
            open_word = bool(out) and unicodedata.category(out[-1])[0] in "LM"
            resumed = _resumed(text, i) if open_word else None
            if resumed is not None:
                starts.extend([len(out)] * text.count("\f", i, resumed))
                i = resumed
                continue
            if char != "\u00ad":
                space()
        elif not _dropped(char):
            space()
            if char == "\f":
                starts.append(len(out))
        i += 1
    if out and out[-1] == " ":
        out.pop()
    normal = "".join(out)
    if folded:
        normal = re.sub("(\u0e4d)([\u0e48-\u0e4b])|(\u0ecd)([\u0ec8-\u0ecb])", r"\2\1\4\3", normal)
    return normal, [min(start, len(out)) for start in starts]


def kinds(normal: str) -> list[int]:
    scripts: list[int] = []
    for char in normal:
        last = scripts[-1] if scripts else ALPHABETIC
        scripts.append(last if _mark(char) else kind(char))
    return scripts
