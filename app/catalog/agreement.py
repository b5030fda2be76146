"""What agrees and what contradicts in the metadata of two books.

Catalogues write the same thing in many ways. So what merely says less, as a title without its subtitle or a
name without its first names, neither contradicts nor has to be equal.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.catalog.identifiers import isbns
from app.catalog.similarity import MOST_AUTHORS, names_of, person_similarity, volume_similarity
from bookprint_core.matching.conflicts import Aspect
from bookprint_core.model import Metadata
from bookprint_core.text.names import folded

_SAME_PERSON = 0.87
"""The least similarity of one person: three names may be missing, or one of two spelt in another way."""


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
    """Whether the numbers of two volumes are the same: 2 and v. 2; without numbers, the words."""
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
"""Whether two books agree in an aspect; None where either says nothing of it."""
