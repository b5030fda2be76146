"""Revision: the distinction of copies from issues of one form, with other names and numbers.

Spasojević and Poncin (2011, section V-B) describe the confusion: yearly books, manuals, official documents
with a different state name. Page signatures cannot distinguish them from badly read copies, but texts can. A
misread word resembles the printed word, or occurs nowhere else in its book. In a revised line the word of
each book occurs elsewhere in that book, too. Words that both pages contain in different places were read in
another order. Numbers count if they are well read. Measurements: docs/why/decisions/0039-revised.md.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from bookprint_core.model import PAGE_BREAK, Content, Metadata
from bookprint_core.relations.alignment import Alignment, concatenated
from bookprint_core.text.names import folded

_PAGES = 40  # maximum number of pairs of pages compared, spread evenly over both books; 1 ms per pair
_LONGEST_LINE = 12  # maximum number of words of a line; further words count as another line
_LEAST_LETTERS = 5  # OCR may turn shorter words into other words
_LIKE = 60  # minimum similarity of a misreading to a word, 0 to 100 (rapidfuzz's partial ratio)

_MOVED = 75
"""Minimum similarity, 0 to 100 (rapidfuzz's ratio), of a word and its reading elsewhere on the other page."""

_SAME_PAGE = 0.5  # minimum agreement of two readings of a page, as a share of the median agreement

_AS_OFTEN = 0.5
"""Minimum rate of differing numbers at which numbers count, as a share of the rate of misread words."""

_WORD = re.compile(r"[^\W_]+")

_Pair = tuple[str, str]


def is_one_issue(left: Metadata, right: Metadata) -> bool:
    """Return whether title, volume and year are the same, so that books with equal pages are copies."""
    titles = [folded(each.title or "") for each in (left, right)]
    named = titles[0] and titles[0] == titles[1] and left.year is not None
    return bool(named) and (left.year, left.volume) == (right.year, right.volume)


def changed_lines(left: Content, right: Content, alignment: Alignment) -> float | None:
    """Compute the share of lines whose words or numbers differ between the books; None: no line compared.

    Only books with pages are compared, and only lines between the first and last common words of two pages.
    """
    if alignment.unit != "page":
        return None
    if left.text == right.text:
        return 0.0
    pairs = concatenated(alignment.runs).pairs
    chosen = pairs[np.linspace(0, len(pairs) - 1, min(len(pairs), _PAGES)).astype(np.int64)]
    texts = [each.text.split(PAGE_BREAK) for each in (left, right)]
    aligned = [_AlignedPages.of(_words(texts[0][i]), _words(texts[1][j])) for i, j in chosen.tolist()]
    least = _SAME_PAGE * np.median([pages.agreement for pages in aligned]) if aligned else 0.0
    aligned = [pages for pages in aligned if pages.agreement >= least]
    agreed = {word for pages in aligned for word in pages.agreed}
    known = [agreed | _repeated(aligned, side) for side in (0, 1)]
    replaced = set[_Pair]()
    counts = sum((_counts(pages, known, replaced) for pages in aligned), Counter[str]())
    if not counts["lines"]:
        return None
    misread = counts["misread"] / (counts["misread"] + counts["equal"])
    numbers = counts["changed numbers"] / max(counts["changed numbers"] + counts["equal numbers"], 1)
    # Each pair counts once: a number replaced on many pages, as in a running head, is not misread.
    well_read = 2 * sum(_is_changed(*pair) for pair in replaced) > len(replaced)
    changed = "words or numbers" if well_read and numbers > _AS_OFTEN * misread else "words"
    return counts[changed] / counts["lines"]


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a page, case-folded, and the line of each word."""

    words: Sequence[str]
    lines: Sequence[int]


@dataclass(frozen=True, slots=True)
class _AlignedPages:
    """A page of either book, and the words that both pages have in the same place."""

    sides: tuple[_Words, _Words]
    equal: Sequence[tuple[tuple[int, int], tuple[int, int]]]  # first word and the one after the last
    agreed: Sequence[str]  # the words within `equal`

    @classmethod
    def of(cls, left: _Words, right: _Words) -> "_AlignedPages":
        steps = [step for step in Levenshtein.opcodes(left.words, right.words) if step.tag == "equal"]
        bounds = [((step.src_start, step.src_end), (step.dest_start, step.dest_end)) for step in steps]
        agreed = chain.from_iterable(left.words[start:end] for (start, end), _ in bounds)
        return cls((left, right), bounds, list(agreed))

    @property
    def agreement(self) -> float:
        """Share of the shorter page's words that both pages have in the same place."""
        return len(self.agreed) / max(1, min(len(side.words) for side in self.sides))


def _words(page: str) -> _Words:
    words: list[str] = []
    lines: list[int] = []
    for line in page.casefold().split("\n"):
        found = _WORD.findall(line)
        first, left = lines[-1] + 1 if lines else 0, len(found)
        words += found
        while left > 0:
            lines += [first] * min(left, _LONGEST_LINE)
            first, left = first + 1, left - _LONGEST_LINE
    return _Words(words, lines)


def _repeated(aligned: Sequence[_AlignedPages], side: int) -> set[str]:
    """Return the words that occur on two pages of a book."""
    once, twice = set[str](), set[str]()
    for each in aligned:
        words = set(each.sides[side].words)
        twice |= once & words
        once |= words
    return twice


def _counts(pages: _AlignedPages, known: Sequence[set[str]], replaced: set[_Pair]) -> Counter[str]:
    """Count lines and words of two pages between their first and last common words.

    Pairs of different words in the same place, of which one is a number, are added to `replaced`.
    """
    counts: Counter[str] = Counter()
    words, numbers = set[tuple[int, int]](), set[tuple[int, int]]()
    for here, after in zip(pages.equal, pages.equal[1:], strict=False):
        bounds = [(here[side][1], after[side][0]) for side in (0, 1)]
        this, other = (pages.sides[side].words[slice(*bounds[side])] for side in (0, 1))
        if not this or not other:
            continue
        lines = {(side, line) for side in (0, 1) for line in pages.sides[side].lines[slice(*bounds[side])]}
        differing = _replaced_numbers(this, other)
        replaced.update(differing)
        changed = sum(_is_changed(*pair) for pair in differing)
        counts["changed numbers"] += changed
        if changed:
            numbers |= lines
        sides = [side.words for side in pages.sides]
        if _has_other(this, other, known[0], sides) and _has_other(other, this, known[1], sides[::-1]):
            words |= lines
        elif not "".join([*this, *other]).isdigit():
            counts["misread"] += max(len(this), len(other))
    for side, page in enumerate(pages.sides):
        if pages.equal:
            first, last = pages.equal[0][side][0], pages.equal[-1][side][1] - 1
            counts["lines"] += page.lines[last] - page.lines[first] + 1
    counts["equal"] = len(pages.agreed)
    counts["equal numbers"] = sum(map(str.isdigit, pages.agreed))
    counts["words"], counts["words or numbers"] = len(words), len(words | numbers)
    return counts


def _replaced_numbers(this: Sequence[str], other: Sequence[str]) -> list[_Pair]:
    """Return pairs of different words in the same place of which at least one is a number."""
    if len(this) != len(other):
        return []
    return [(a, b) for a, b in zip(this, other, strict=True) if a != b and (a.isdigit() or b.isdigit())]


def _is_changed(this: str, other: str) -> bool:
    """Return whether both words are numbers, and their difference is more than omitted digits."""
    if not (this.isdigit() and other.isdigit()):
        return False
    shorter, longer = sorted((this, other), key=len)
    left = iter(longer)
    return len(shorter) == len(longer) or not all(digit in left for digit in shorter)


def _has_other(
    this: Sequence[str], other: Sequence[str], known: set[str], pages: Sequence[Sequence[str]]
) -> bool:
    """Return whether `this` contains a word in `known` that resembles nothing in `other`.

    The word must occur more often on the first of the two `pages`; else only the reading order differs.
    """
    text = "".join(other)
    return any(
        len(word) >= _LEAST_LETTERS
        and word in known
        and word.isalpha()
        and fuzz.partial_ratio(word, text) < _LIKE
        and _times(word, pages[0]) > _times(word, pages[1])
        for word in this
    )


def _times(word: str, page: Sequence[str]) -> int:
    """Count the occurrences of a word or a possible misreading of it on a page."""
    return int(np.count_nonzero(process.cdist([word], page, scorer=fuzz.ratio, score_cutoff=_MOVED)))
