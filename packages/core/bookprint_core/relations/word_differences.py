"""Word differences between two pages, classified for people.

Words are aligned by edits (Levenshtein over words). A difference gets the most harmless class that fits. The
letters are equal but hyphens and blanks, marks or spelling differ; or a misreading may explain the letters;
or the words are different. Two words that both books contain elsewhere never count as a misreading (as in
`revision`).
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
"""Class of a difference; spelling includes long s, ligatures, accents, capitals and old forms of a word."""

DIFFERENCES: tuple[Difference, ...] = ("spelling", "hyphen", "ocr", "punctuation", "other")

_MISREAD = 60.0  # minimum similarity of a misreading, 0 to 100 (rapidfuzz's ratio)
_LEAST_LETTERS = 3  # in shorter words one letter may be misread
_MOST_WORDS = 5_000  # maximum number of words of a page that are aligned; time grows with the square

_WORD = re.compile(
    r"\s*([{0}]|[^\s{0}]+)".format("\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff")
)
"""Pattern of a word with the white space before it, or a character of a script without word spaces."""

_HYPHENS = re.compile(r"[-\u00ad\u2010\u2011¬⸗\ufffe]")
_NO_LETTERS = re.compile(r"[\W_]+")
_NO_WORDS = re.compile(r"(?:[^\w\s]|_)+")
_FORMS = (("ck$", "c"), ("our", "or"), ("vv", "w"), ("[æœ]|ae|oe", "e"), ("v", "u"), ("j", "i"), ("y", "i"))
"""Old forms of letters, each with the modern form that replaces it here."""

_SHAPES = (("cl", "d"), ("rn", "m"), ("li", "h"), ("ii", "n"), ("1", "l"), ("0", "o"), ("c", "e"), ("h", "b"))
"""Shapes of letters, each with the letter for which it is misread."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The words of two pages in the same place."""

    kind: Difference | None  # None: the words are equal
    this: str  # words of this page, with the white space between them
    other: str

    @property
    def words(self) -> int:
        """Number of differing words, on the side with more words."""
        return 0 if self.kind is None else max(len(_words(self.this)), len(_words(self.other)))


def common_words(pages: Iterable[str], others: Iterable[str]) -> frozenset[str]:
    """Return the words that occur more than once in each of two books, in the form for `known`."""
    return _repeated(pages) & _repeated(others)


def word_differences(this: str, other: str, known: Collection[str] = ()) -> list[Passage]:
    """Return the passages of two pages in order; `known` contains the `common_words` of their books.

    The first 5,000 words of a page are compared.
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
    """Split the text into `count` parts, at least one, with equally many words."""
    places = [each.start() for each in _WORD.finditer(text)]
    count = max(min(count, len(places)), 1)
    cuts = [places[len(places) * part // count] for part in range(1, count)]
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def place_of(page: str, text: str) -> tuple[int, int]:
    """Find a page in a longer text by its first and last three consecutive words that the text contains too.

    Returns the bounds in characters; the bounds of the whole text if nothing is found.
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
    """Return the words, each with the white space before it."""
    return [each[0] for each in _WORD.finditer(text)]


def _repeated(pages: Iterable[str]) -> frozenset[str]:
    """Return the words that occur more than once, in the form of `_letters`."""
    text = unicodedata.normalize("NFKC", "\n".join(pages)).casefold()
    counts = Counter(_WORD.findall(_NO_WORDS.sub("", text)))
    return frozenset(word for word, count in counts.items() if count > 1)


def _threes(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    plain = [word.strip() for word in words]
    return zip(plain, plain[1:], plain[2:], strict=False)


def _parts(this: list[str], other: list[str], known: Collection[str]) -> Iterator[Passage]:
    """Yield the differences of words in one place, word by word while words have a counterpart."""
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
    """Return the class of the first words and the corresponding words of each side; None: no counterpart."""
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
    """Return whether one word may be a misreading of the other."""
    shortest = min(len(this), len(other))
    if shortest < _LEAST_LETTERS:
        return shortest > 1 and Levenshtein.distance(this, other) <= 1
    return max(fuzz.ratio(this, other), fuzz.ratio(_as_misread(this), _as_misread(other))) >= _MISREAD


def _as_misread(letters: str) -> str:
    for shape, letter in _SHAPES:
        letters = letters.replace(shape, letter)
    return letters


def _is_spelling(this: str, other: str) -> bool:
    """Return whether the words differ only in accents, old forms, and long s read as f."""
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
