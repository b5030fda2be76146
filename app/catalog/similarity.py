"""Similarity of titles, names of people and names of volumes, and agreement of two descriptions.

Catalogues write one title or name in many ways. A shorter value does not contradict a longer one: a title
without its subtitle, or a name without first names.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz

from app.catalog.identifiers import isbns
from bookprint_core.matching.conflicts import Aspect
from bookprint_core.model import Metadata
from bookprint_core.text.names import LONGEST_NAME, folded, main_title

_ARTICLE = re.compile(
    r"(?:the|an?|der|die|das|ein|eine|le|la|les|l|un|une|el|los|las|il|lo|gli|o|os|as|een|het|de) (?=\S)"
)
_NUMBER = re.compile(r"\d+")
_IN_BRACKETS = re.compile(r"\([^)]*\)|\[[^\]]*\]")
_YEAR = re.compile(r"\d{3,}")

_OTHER_NUMBER = 0.6
"""Maximum similarity of titles with different numbers, such as volumes and years of a series."""

_WITHOUT_SUBTITLE = 0.97
_REORDERED = 0.95

_SAME_WORD = 0.8
"""Minimum similarity of two words that count as spellings of one name."""

MOST_AUTHORS = 100
"""Maximum number of authors of a book that are compared with the authors of another."""

_MOST_NAMES = 40
"""Maximum number of words of a person's name that are compared."""

_INITIAL_WEIGHT = 0.5
_MISSING_NAME = 0.04
"""Deduction for each name that only one of the two people has, for at most three names."""


@dataclass(frozen=True, slots=True)
class FoldedTitle:
    """A title in the forms that are compared; each form may be empty."""

    whole: str
    main: str
    numbers: tuple[int, ...]  # in their order


@lru_cache(maxsize=8_192)
def folded_title(title: str) -> FoldedTitle:
    """Return the title in the forms that are compared, without leading articles."""
    whole = _without_article(folded(title))
    numbers = tuple(int(number) for number in _NUMBER.findall(whole))
    return FoldedTitle(whole, _without_article(folded(main_title(title))), numbers)


def title_similarity(one: str, other: str) -> float:
    """Return the similarity of two titles, 0 to 1; 1 for the same words in the same order.

    A subtitle in only one title, or another order of words, reduces the similarity slightly. Different
    numbers reduce it more, because they distinguish volumes.
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
    """Return the similarity of two volume names, 0 to 1; 1 for the same numbers, as in "Vol. 02" and "2"."""
    a, b = folded_title(one), folded_title(other)
    return 1.0 if a.numbers and a.numbers == b.numbers else title_similarity(one, other)


@lru_cache(maxsize=8_192)
def names_of(person: str) -> tuple[str, ...]:
    """Return the folded names of a person, without duplicates, years and (if other words remain) brackets."""
    person = person[: 2 * LONGEST_NAME]  # every unclosed bracket is searched to the end
    words = folded(_IN_BRACKETS.sub(" ", person)) or folded(person)
    return tuple(dict.fromkeys(word for word in words.split() if not _YEAR.fullmatch(word)))[:_MOST_NAMES]


def person_similarity(one: str, other: str) -> float:
    """Return the similarity of two people's names, 0 to 1, in any order, with or without initials and years.

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
        return float(one == other)  # a number has only one spelling
    if len(one) == 1 or len(other) == 1:
        return 1.0 if one[0] == other[0] else 0.0
    similarity = float(fuzz.ratio(one, other)) / 100
    return similarity if similarity >= _SAME_WORD else 0.0


def _without_article(title: str) -> str:
    return _ARTICLE.sub("", title, count=1) if _ARTICLE.match(title) else title


_SAME_PERSON = 0.87
"""Minimum similarity of one person: three names may be missing, or one of two is spelt differently."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Aspects in which two descriptions agree or contradict, without aspects that one of them lacks."""

    agrees: Sequence[Aspect]
    contradicts: Sequence[Aspect]


def agreement(this: Metadata, other: Metadata) -> Agreement:
    """Compare the aspects of two descriptions."""
    compared = {aspect: compare(this, other) for aspect, compare in _COMPARE.items()}
    return Agreement(
        agrees=[aspect for aspect, same in compared.items() if same is True],
        contradicts=[aspect for aspect, same in compared.items() if same is False],
    )


def shared_isbns(this: Metadata, other: Metadata) -> list[str]:
    """Return the valid ISBNs that both books have, with 13 digits each, in ascending order."""
    return sorted(set(isbns(this.identifiers)) & set(isbns(other.identifiers)))


def _same_isbn(this: Metadata, other: Metadata) -> bool | None:
    if not isbns(this.identifiers) or not isbns(other.identifiers):
        return None
    return bool(shared_isbns(this, other))


def _same_title(this: Metadata, other: Metadata) -> bool | None:
    words, others = (set(folded(each.title or "").split()) for each in (this, other))
    if not words or not others:
        return None
    return words <= others or others <= words


def _same_author(this: Metadata, other: Metadata) -> bool | None:
    names, others = (
        [each for each in book.authors[:MOST_AUTHORS] if names_of(each)] for book in (this, other)
    )
    if not names or not others:
        return None
    return any(person_similarity(name, each) >= _SAME_PERSON for name in names for each in others)


def _same_year(this: Metadata, other: Metadata) -> bool | None:
    return None if this.year is None or other.year is None else this.year == other.year


def _same_volume(this: Metadata, other: Metadata) -> bool | None:
    """Return whether two volumes have the same numbers, as 2 and v. 2; without numbers, the same words."""
    volume, another = this.volume or "", other.volume or ""
    if not folded(volume) or not folded(another):
        return None
    return volume_similarity(volume, another) == 1


_COMPARE: Mapping[Aspect, Callable[[Metadata, Metadata], bool | None]] = {
    "isbn": _same_isbn,
    "title": _same_title,
    "authors": _same_author,
    "year": _same_year,
    "volume": _same_volume,
}
"""Functions that return whether two books agree in an aspect; None if either record lacks it."""
