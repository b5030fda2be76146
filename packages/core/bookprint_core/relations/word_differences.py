"""Word differences: what one page reads where another reads otherwise, told in classes for people.

Words are aligned by edits (Levenshtein over words). The class of a difference is the most harmless that
explains it: the same letters with other hyphens and blanks, with other marks, or in another spelling; letters
as alike as a misreading leaves them; other words. Two words that both books know are never taken for one that
was misread (as in `revision`).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

Difference = Literal["spelling", "hyphen", "ocr", "punctuation", "other"]
"""Spelling is that of one word: long s, ligatures, accents, capitals and old forms too."""

DIFFERENCES: tuple[Difference, ...] = ("spelling", "hyphen", "ocr", "punctuation", "other")

_MISREAD = 60.0  # of 100 (rapidfuzz's ratio): letters as like as these may be a misreading
_LEAST_LETTERS = 3  # of shorter words one letter may be misread
_MOST_WORDS = 5_000  # words of a page that are aligned; time grows with the square

_WORD = re.compile(
    r"\s*([{0}]|[^\s{0}]+)".format("\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff")
)
"""A word with the white space before it; each character of a script without word spaces is one."""

_HYPHENS = re.compile(r"[-\u00ad\u2010\u2011¬⸗\ufffe]")
_NO_LETTERS = re.compile(r"[\W_]+")
_NO_WORDS = re.compile(r"(?:[^\w\s]|_)+")
_FORMS = (("ck$", "c"), ("our", "or"), ("vv", "w"), ("[æœ]|ae|oe", "e"), ("v", "u"), ("j", "i"), ("y", "i"))
"""Old forms and the ones that they are held to be here."""

_SHAPES = (("cl", "d"), ("rn", "m"), ("li", "h"), ("ii", "n"), ("1", "l"), ("0", "o"), ("c", "e"), ("h", "b"))
"""Shapes of letters and what they are read for."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Words that two pages have in the same place."""

    kind: Difference | None  # None: the same words
    this: str  # with the white space between them
    other: str

    @property
    def words(self) -> int:
        """The words that differ, of the side that has more."""
        return 0 if self.kind is None else max(len(_words(self.this)), len(_words(self.other)))


def common_words(pages: Iterable[str], others: Iterable[str]) -> frozenset[str]:
    """The words that each of two books has more than once, in the form in which differences look them up."""
    return _repeated(pages) & _repeated(others)


def word_differences(this: str, other: str, known: Collection[str] = ()) -> list[Passage]:
    """The passages of two pages, in order; `known` are the `common_words` of their books.

    Of longer pages the first 5,000 words are compared.
    """
    words = [_words(page)[:_MOST_WORDS] for page in (this, other)]
    plain = [[word.strip() for word in side] for side in words]
    passages: list[Passage] = []
    this_end = other_end = 0
    for block in Levenshtein.opcodes(*plain).as_matching_blocks():
        passages += _parts(words[0][this_end : block.a], words[1][other_end : block.b], known)
        this_end, other_end = block.a + block.size, block.b + block.size
        if block.size:
            equal = "".join(words[0][block.a : this_end]), "".join(words[1][block.b : other_end])
            passages.append(Passage(None, *equal))
    return passages


def even_parts(text: str, count: int) -> list[str]:
    """The text in so many parts, at least one, of as many words each."""
    places = [each.start() for each in _WORD.finditer(text)]
    count = max(min(count, len(places)), 1)
    cuts = [places[len(places) * part // count] for part in range(1, count)]
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def place_of(page: str, text: str) -> tuple[int, int]:
    """Where a page lies in a longer text, by its first and last words that come in the same threes there.

    The bounds are of characters; they are those of the text where nothing is found.
    """
    words, places = _words(page), list(_WORD.finditer(text))
    threes: dict[tuple[str, ...], int | None] = {}
    for start, three in enumerate(_threes([each[0] for each in places])):
        threes[three] = None if three in threes else start
    own = ((start, threes.get(three)) for start, three in enumerate(_threes(words)))
    found = [(start, place) for start, place in own if place is not None]
    first = found[0][1] - found[0][0] if found else 0
    last = found[-1][1] + len(words) - found[-1][0] if found else 0
    if last <= first:
        return 0, len(text)
    return places[max(first, 0)].start(), places[min(last, len(places)) - 1].end()


def _words(text: str) -> list[str]:
    """Each with the white space before it."""
    return [each[0] for each in _WORD.finditer(text)]


def _repeated(pages: Iterable[str]) -> frozenset[str]:
    """The words that come more than once, as `_letters` has them."""
    text = unicodedata.normalize("NFKC", "\n".join(pages)).casefold()
    counts = Counter(_WORD.findall(_NO_WORDS.sub("", text)))
    return frozenset(word for word, count in counts.items() if count > 1)


def _threes(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    plain = [word.strip() for word in words]
    return zip(plain, plain[1:], plain[2:], strict=False)


def _parts(this: list[str], other: list[str], known: Collection[str]) -> Iterator[Passage]:
    """The differences of words that stand in one place: one of each word as far as it has a counterpart."""
    while found := _counterparts(this, other, known):
        kind, one, two = found
        yield Passage(kind, "".join(this[:one]), "".join(other[:two]))
        this, other = this[one:], other[two:]
    if len(this) == len(other):
        for one_word, other_word in zip(this, other, strict=True):
            yield Passage(_kind([one_word], [other_word], known), one_word, other_word)
    else:
        yield Passage(_kind(this, other, known), "".join(this), "".join(other))


def _counterparts(
    this: list[str], other: list[str], known: Collection[str]
) -> tuple[Difference, int, int] | None:
    """The class of the first words and how many of each side are one word; None: nothing in common."""
    for one, two in ((2, 1), (1, 2), (1, 1)):
        if len(this) >= one and len(other) >= two:
            kind = _kind(this[:one], other[:two], known)
            if kind != "other" and (one == two or kind == "hyphen"):
                return kind, one, two
    return None


def _kind(this: Sequence[str], other: Sequence[str], known: Collection[str]) -> Difference:
    texts = ["".join(words).strip() for words in (this, other)]
    letters = [_letters(text) for text in texts]
    if letters[0] == letters[1]:
        if not letters[0]:
            return "punctuation"
        if len(this) != len(other) or len({len(_HYPHENS.findall(text)) for text in texts}) > 1:
            return "hyphen"
        return "punctuation" if _plain(texts[0]) == _plain(texts[1]) else "spelling"
    if not all(letters):
        return "other"
    if _is_spelling(*letters):
        return "spelling"
    both_known = all(_letters(word) in known for words in (this, other) for word in words)
    numbers = letters[0].isdecimal() and letters[1].isdecimal()
    return "ocr" if not both_known and not numbers and _are_alike(*letters) else "other"


def _are_alike(this: str, other: str) -> bool:
    """Whether letters may be misread for others."""
    shortest = min(len(this), len(other))
    if shortest < _LEAST_LETTERS:
        return shortest > 1 and Levenshtein.distance(this, other) <= 1
    return max(fuzz.ratio(this, other), fuzz.ratio(_as_misread(this), _as_misread(other))) >= _MISREAD


def _as_misread(letters: str) -> str:
    for shape, letter in _SHAPES:
        letters = letters.replace(shape, letter)
    return letters


def _is_spelling(this: str, other: str) -> bool:
    """Whether letters are those of one word but for accents, old forms, and a long s that was read as f."""
    this, other = _without_accents(this), _without_accents(other)
    if len(this) == len(other) and this[-1:] == other[-1:]:
        differing = {frozenset(pair) for pair in zip(this, other, strict=True) if len(set(pair)) > 1}
        if differing <= {frozenset("fs")}:
            return True
    for form, plain in _FORMS:
        this, other = re.sub(form, plain, this), re.sub(form, plain, other)
    return this == other


def _without_accents(letters: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFD", letters) if not unicodedata.combining(each))


@lru_cache(maxsize=16_384)
def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKC", text).casefold())


def _plain(text: str) -> str:
    return _NO_LETTERS.sub("", text)
