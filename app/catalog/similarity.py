"""How alike two titles, names of people or names of volumes are, 0 to 1, however catalogues write them."""

import re
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz

from bookprint_core.text.names import LONGEST_NAME, folded, main_title

_ARTICLE = re.compile(
    r"(?:the|an?|der|die|das|ein|eine|le|la|les|l|un|une|el|los|las|il|lo|gli|o|os|as|een|het|de) (?=\S)"
)
_NUMBER = re.compile(r"\d+")
_IN_BRACKETS = re.compile(r"\([^)]*\)|\[[^\]]*\]")
_YEAR = re.compile(r"\d{3,}")

_OTHER_NUMBER = 0.6
"""The most that titles reach whose numbers differ: volumes and years of one series."""

_WITHOUT_SUBTITLE = 0.97
_REORDERED = 0.95

_SAME_WORD = 0.8
"""The similarity from which two words are one name spelt in two ways."""

MOST_AUTHORS = 100
"""Authors of a book that are compared with those of another: each with each."""

_MOST_NAMES = 40
"""Words of a person's name that are compared: each with each."""

_INITIAL_WEIGHT = 0.5
_MISSING_NAME = 0.04
"""Lost for each name that only one of the two has, three at most."""


@dataclass(frozen=True, slots=True)
class FoldedTitle:
    """A title in the forms in which it is compared; each may be empty."""

    whole: str
    main: str
    numbers: tuple[int, ...]  # in their order


@lru_cache(maxsize=8_192)
def folded_title(title: str) -> FoldedTitle:
    """The title in the forms in which it is compared, each without a leading article."""
    whole = _without_article(folded(title))
    numbers = tuple(int(number) for number in _NUMBER.findall(whole))
    return FoldedTitle(whole, _without_article(folded(main_title(title))), numbers)


def title_similarity(one: str, other: str) -> float:
    """The similarity of two titles, 0 to 1; 1 if they have the same words in the same order.

    A subtitle that only one of them has, and another order of words, take little away. Different numbers take
    much, for they are volumes.
    """
    a, b = folded_title(one), folded_title(other)
    if not a.whole or not b.whole:
        return 0.0
    if a.whole == b.whole:
        return 1.0
    best = max(fuzz.ratio(a.whole, b.whole), _REORDERED * fuzz.token_sort_ratio(a.whole, b.whole))
    if a.main != a.whole or b.main != b.whole:
        bare = a.main if a.main == a.whole or b.main == b.whole else ""
        if bare:
            best = max(best, _WITHOUT_SUBTITLE * fuzz.ratio(a.main, b.main))
    if set(a.numbers) != set(b.numbers):
        best = min(best, 100 * _OTHER_NUMBER)
    return float(best) / 100


def volume_similarity(one: str, other: str) -> float:
    """The similarity of two names of volumes, 0 to 1; 1 if they have the same numbers: "Vol. 02" and "2"."""
    a, b = folded_title(one), folded_title(other)
    return 1.0 if a.numbers and a.numbers == b.numbers else title_similarity(one, other)


@lru_cache(maxsize=8_192)
def names_of(person: str) -> tuple[str, ...]:
    """The folded names of a person, each once: no years, no words in brackets unless all are."""
    person = person[: 2 * LONGEST_NAME]  # each bracket that stays open is looked for to the end
    words = folded(_IN_BRACKETS.sub(" ", person)) or folded(person)
    return tuple(dict.fromkeys(word for word in words.split() if not _YEAR.fullmatch(word)))[:_MOST_NAMES]


def person_similarity(one: str, other: str) -> float:
    """The similarity of two names of people in any order, with initials and years or without, 0 to 1.

    >>> person_similarity("Austen, Jane, 1775-1817", "J. Austen"), person_similarity("Jane Austen", "Austen")
    (1.0, 0.96)
    """
    a, b = sorted((names_of(one), names_of(other)), key=lambda names: (len(names), names))
    if not a:
        return 0.0
    left = list(b)
    reached = total = 0.0
    in_full = False
    for name in sorted(a, key=len, reverse=True):
        best, at = 0.0, -1
        for place, candidate in enumerate(left):
            similarity = _same_name(name, candidate)
            if similarity > best:
                best, at = similarity, place
        short = len(name) == 1 or (at >= 0 and len(left[at]) == 1)
        weight = _INITIAL_WEIGHT if short else 1.0
        total += weight
        if at >= 0:
            reached += weight * best
            in_full = in_full or not short
            del left[at]
    if not in_full:
        return 0.0
    return max(0.0, reached / total - _MISSING_NAME * min(3, len(left)))


def _same_name(one: str, other: str) -> float:
    if not (one.isalpha() and other.isalpha()):
        return float(one == other)  # a number is not spelt in two ways
    if len(one) == 1 or len(other) == 1:
        return 1.0 if one[0] == other[0] else 0.0
    similarity = float(fuzz.ratio(one, other)) / 100
    return similarity if similarity >= _SAME_WORD else 0.0


def _without_article(title: str) -> str:
    return _ARTICLE.sub("", title, count=1) if _ARTICLE.match(title) else title
