"""What agrees and what contradicts in the metadata of two books.

Catalogues write the same thing in many ways. So what merely says less, as a title without its subtitle or a
name without its first names, neither contradicts nor has to be equal.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from app.catalog.identifiers import isbns
from app.core.matching.conflicts import Aspect
from app.core.model import Metadata
from app.core.text.words import folded_words

_NUMBER = re.compile(r"\d+")
_YEAR = re.compile(r"\d{3,4}")


@dataclass(frozen=True, slots=True)
class Agreement:
    """The aspects of two descriptions; one that either lacks is in neither list."""

    agrees: Sequence[Aspect]
    contradicts: Sequence[Aspect]


def agreement(this: Metadata, other: Metadata) -> Agreement:
    """What agrees and what contradicts in two descriptions."""
    compared = {aspect: compare(this, other) for aspect, compare in _COMPARE.items()}
    return Agreement(
        agrees=[aspect for aspect, same in compared.items() if same is True],
        contradicts=[aspect for aspect, same in compared.items() if same is False],
    )


def shared_isbns(this: Metadata, other: Metadata) -> list[str]:
    """The valid ISBNs that both books have: 13 digits each, ascending."""
    return sorted(set(isbns(this.identifiers)) & set(isbns(other.identifiers)))


def _same_isbn(this: Metadata, other: Metadata) -> bool | None:
    if not isbns(this.identifiers) or not isbns(other.identifiers):
        return None
    return bool(shared_isbns(this, other))


def _same_title(this: Metadata, other: Metadata) -> bool | None:
    words, others = (set(folded_words(each.title or "")) for each in (this, other))
    if not words or not others:
        return None
    return words <= others or others <= words


def _same_author(this: Metadata, other: Metadata) -> bool | None:
    names, others = ([_name(each) for each in book.authors] for book in (this, other))
    if not any(names) or not any(others):
        return None
    return any(_is_same_name(name, each) for name in names for each in others)


def _name(author: str) -> frozenset[str]:
    """The words of a name without accents, in no order; years of life are no part of it."""
    letters = unicodedata.normalize("NFKD", author)
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return frozenset(word for word in folded_words(plain) if not _YEAR.fullmatch(word))


def _is_same_name(this: frozenset[str], other: frozenset[str]) -> bool:
    """Whether the words of the shorter name are all in the longer one; all but one may be initials."""
    shorter, longer = sorted((this, other), key=len)
    if not any(len(word) > 1 for word in shorter & longer):
        return False
    return all(
        word in longer or any(_is_initial(word, each) or _is_initial(each, word) for each in longer)
        for word in shorter
    )


def _is_initial(letter: str, word: str) -> bool:
    return len(letter) == 1 and word.startswith(letter)


def _same_year(this: Metadata, other: Metadata) -> bool | None:
    return None if this.year is None or other.year is None else this.year == other.year


def _same_volume(this: Metadata, other: Metadata) -> bool | None:
    """Whether the numbers of two volumes are the same: 2 and v. 2; without numbers, the words."""
    if not this.volume or not other.volume:
        return None
    numbers, others = ([int(each) for each in _NUMBER.findall(book.volume or "")] for book in (this, other))
    if numbers and others:
        return numbers == others
    return folded_words(this.volume) == folded_words(other.volume)


_COMPARE: Mapping[Aspect, Callable[[Metadata, Metadata], bool | None]] = MappingProxyType(
    {
        "isbn": _same_isbn,
        "title": _same_title,
        "authors": _same_author,
        "year": _same_year,
        "volume": _same_volume,
    }
)
"""Whether two books agree in an aspect; None where either says nothing of it."""
