"""Page furniture: running heads, page numbers and catchwords beside the running text.

They differ between editions and interrupt words that a page break divides, so they hide common text. They are
found by their places on the page and by their repetitions.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TypeVar

_EDGE_LINES = 2  # lines at the head and at the foot of a page that may be furniture
_NEIGHBOURS = 8  # pages before and after a page that are searched for its running head
_REPETITIONS = 2  # pages among these neighbours that must repeat a running head

_NEXT = 2
"""Maximum distance of the nearest repetition, in pages: left and right pages may differ, but chapter heads
are farther apart."""

_ALIKE = 0.6
"""Minimum Dice similarity of the letter pairs of two running heads, which OCR may read differently."""

_LONGEST_HEAD = 70  # characters; a head is at most as long as a line of text

_NUMBER = re.compile(r"[0-9]{1,4}|[ivxlc]{1,8}")
_SIGNS = re.compile(r"[\W_]+")
_NO_LETTERS = re.compile(r"[\W\d_]+")
_LAST_HYPHEN = re.compile(r"[¬⸗\ufffe](?=[ \t]*(?:\n|\f|\Z))")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line at the edge of a page, prepared for comparison with lines of other pages."""

    letters: str  # folded, without the numbers at either end of the line
    pairs: frozenset[str]  # pairs of neighbouring letters
    offsets: frozenset[int]  # the numbers at either end of the line, minus the index of the page


_NO_LINE = _Line("", frozenset(), frozenset())


def without_furniture(pages: Sequence[str]) -> list[str]:
    """Remove running heads, page numbers and catchwords from pages with printed line breaks.

    A line at the edge of a page is removed if nearby pages repeat it at this edge; fewer repetitions suffice
    if its number counts the pages. A line that is only such a number is removed too, and a last line that
    repeats the first word of the next page. A heading stays if the running heads after it repeat it beside
    their numbers. If nothing would be left, all lines stay.

    >>> without_furniture(["2 EMMA\\nwas", "EMMA 3\\na", "4 EMMA\\nwell-", "EMMA 5\\nread girl"])
    ['was', 'a', 'well-', 'read girl']
    """
    lines = _lines(pages)
    edges = {edge: [_line(page, edge, index) for index, page in enumerate(lines)] for edge in (0, -1)}
    # The first page of a chapter often has its number at the foot, and other pages at the head.
    offsets = [{*first.offsets, *last.offsets} for first, last in zip(edges[0], edges[-1], strict=True)]
    for _ in range(_EDGE_LINES):
        for edge in (0, -1):
            repeated = [index for index in range(len(pages)) if _is_repeated(edges[edge], offsets, index)]
            for index in repeated:
                del lines[index][edge]
                for end in (0, -1):
                    edges[end][index] = _line(lines[index], end, index)
                    offsets[index] |= edges[end][index].offsets
    for page, following in pairwise(lines):
        if page and following and _announces(page[-1], following[0]):
            page.pop()
    kept = ["\n".join(page) for page in lines]
    return kept if any(character.isalnum() for page in kept for character in page) else list(pages)


def printed_numbers(pages: Sequence[str]) -> list[int | None]:
    """Return the printed number at the head or foot of each page that counts the pages, or None."""
    lines = list(enumerate(_lines(pages)))
    offsets = [_line(page, 0, index).offsets | _line(page, -1, index).offsets for index, page in lines]
    numbers: list[int | None] = []
    for index, here in enumerate(offsets):
        near = Counter(chain(*chain(*_around(offsets, index, _NEIGHBOURS))))
        counting = max(sorted(here), key=near.__getitem__, default=None)
        numbers.append(None if counting is None or near[counting] < _REPETITIONS else index + counting)
    return numbers


def with_plain_hyphens(text: str) -> str:
    """Replace other signs of division at a line end by U+002D: ¬, ⸗, and PDF's U+FFFE.

    >>> with_plain_hyphens("ver¬\\nſchieden")
    'ver-\\nſchieden'
    """
    return _LAST_HYPHEN.sub("-", text)


def _lines(pages: Sequence[str]) -> list[list[str]]:
    return [[line for line in page.splitlines() if line and not line.isspace()] for page in pages]


def _is_repeated(lines: Sequence[_Line], offsets: Sequence[set[int]], index: int) -> bool:
    """Return whether a page's line is furniture; `lines` are the lines of all pages at one edge.

    `offsets` contains, per page, the offsets of the numbers at both edges.
    """
    line = lines[index]
    before, after = (_alike(line, others) for others in _around(lines, index, _NEIGHBOURS))
    if line.offsets and (before or after or not line.letters):
        counted = sum(
            not line.offsets.isdisjoint(other)
            for others in _around(offsets, index, _NEIGHBOURS)
            for other in others
        )
        if counted >= _REPETITIONS:
            return True
    if not line.offsets and not before and all(other.offsets for other in after):
        return False  # a heading that later running heads repeat beside their numbers
    return len(before) + len(after) >= _REPETITIONS and any(
        _alike(line, others) for others in _around(lines, index, _NEXT)
    )


def _around(items: Sequence[_Item], index: int, reach: int) -> tuple[Sequence[_Item], Sequence[_Item]]:
    """Return the items of up to `reach` pages before this page, and after it."""
    return items[max(index - reach, 0) : index], items[index + 1 : index + 1 + reach]


def _alike(line: _Line, others: Sequence[_Line]) -> list[_Line]:
    return [other for other in others if _are_alike(line, other)]


def _are_alike(left: _Line, right: _Line) -> bool:
    if left.letters == right.letters:
        return len(left.letters) > 1
    least = _ALIKE * (len(left.pairs) + len(right.pairs)) / 2
    return min(len(left.pairs), len(right.pairs)) >= least > 0 and len(left.pairs & right.pairs) >= least


def _line(page: Sequence[str], edge: int, index: int) -> _Line:
    """Prepare the first (0) or last (-1) line of a page for comparison; a long line becomes `_NO_LINE`."""
    text = page[edge] if page else ""
    if len(text) > _LONGEST_HEAD:
        return _NO_LINE
    words = [word for word in text.casefold().split() if _SIGNS.sub("", word)]
    offsets = set()
    for end in (0, -1):
        number = number_of(words[end]) if words else None
        if number is not None:
            offsets.add(number - index)
            del words[end]
    letters = _NO_LETTERS.sub("", "".join(words))
    pairs = frozenset(map("".join, pairwise(letters)))
    return _Line(letters, pairs, frozenset(offsets))


def number_of(word: str) -> int | None:
    """Return the number, Arabic or Roman, that a word in small letters consists of; None if there is none."""
    bare = _SIGNS.sub("", word)
    if not _NUMBER.fullmatch(bare):
        return None
    return int(bare) if bare.isdecimal() else _roman(bare)


def _roman(numeral: str) -> int:
    values = [_ROMAN[letter] for letter in numeral]
    return sum(
        -value if value < following else value
        for value, following in zip(values, [*values[1:], 0], strict=True)
    )


def _announces(last: str, first: str) -> bool:
    """Return whether the last line of a page is a catchword: the beginning of the next page's first line."""
    catchword = "".join(filter(str.isalnum, last.casefold()))
    if not catchword or len(last.split()) > 2:
        return False
    return "".join(filter(str.isalnum, first.casefold())).startswith(catchword)
