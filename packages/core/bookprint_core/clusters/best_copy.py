"""The best copy of a text to keep or show: the cleanest complete copy.

Spasojević and Poncin (2011, section I) propose to pick the best scan of a cluster; the rule is ours. A copy
is complete if it is nearly as long as the longest copy whose length another copy confirms. Matter in one copy
alone is foreign. Length is counted in characters, because OCR errors split words. OCR errors also make pages
agree less with other copies, so the complete copy whose pages agree best is the cleanest. Two copies always
agree equally well with each other. Misread words rarely occur twice, so the smallest share of single words
decides between copies that agree equally well. If all is equal, external id and content key decide, so a
service and a corpus of the same books choose the same copy.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from uuid import UUID

NEARLY = 0.95
"""Minimum length of a complete copy, as a share of the characters of the longest confirmed copy."""

MOST_COMPARED = 50
"""Maximum number of complete copies whose agreement is compared, the longest first."""

_STEP = 0.01  # agreements closer than about this are equal

_LEAST_DIFFERENCE = 0.002
"""Minimum difference of shares of single words; smaller ones are equal. 1 % more errors add .003 or more."""

KNOWN = ("word_count", "character_count", "single_words", "external_id", "content_key")
"""Names of the columns that describe a copy, besides its id."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A member of a cluster, with its length and its ids."""

    book_id: UUID
    word_count: int
    character_count: int
    single_words: int | None  # words that occur once; None: not counted
    external_id: str | None
    content_key: bytes

    @property
    def rank(self) -> tuple[bool, str, bytes, UUID]:
        """Sort key among equally good copies: external id, or content key without an external id."""
        return self.external_id is None, self.external_id or "", self.content_key, self.book_id

    @property
    def single_share(self) -> float:
        """Share of its words that occur once, 0 to 1; 0 if they were not counted."""
        return (self.single_words or 0) / max(self.word_count, 1)


@dataclass(frozen=True, slots=True)
class BestCopy:
    """The copy to keep, and the reason in one sentence."""

    book_id: UUID
    because: str


@dataclass(frozen=True, slots=True)
class CompleteCopies:
    """The complete copies of a text."""

    copies: Sequence[Copy]  # at most `MOST_COMPARED`, longest first
    complete_count: int  # number of complete copies
    copy_count: int  # number of copies
    related_count: int  # number of related books, of which the longest has this text; 1 for copies alone


def complete_copies(copies: Collection[Copy], texts: Mapping[UUID, Hashable] | None = None) -> CompleteCopies:
    """Select the complete copies from at least one copy of a text.

    For related books, `texts` maps copies of each other to equal values. Only copies of the longest book
    compete, because related books may be parts.
    """
    by_length = sorted(copies, key=lambda copy: (-copy.character_count, copy.rank))
    if texts is not None:
        fullest = texts[by_length[0].book_id]
        by_length = [copy for copy in by_length if texts[copy.book_id] == fullest]
    confirmed = (
        rank
        for rank, (copy, shorter) in enumerate(pairwise(by_length))
        if shorter.character_count >= NEARLY * copy.character_count
    )
    first = next(confirmed, 0)
    most = by_length[first].character_count
    complete = [copy for copy in by_length[first:] if copy.character_count >= NEARLY * most]
    related_count = 1 if texts is None else len(copies)
    return CompleteCopies(complete[:MOST_COMPARED], len(complete), len(by_length), related_count)


def best_copy(complete: CompleteCopies, agreement: Mapping[UUID, float]) -> BestCopy:
    """Choose the best complete copy by agreement, then by the share of single words, then by rank.

    `agreement` is the mean similarity, 0 to 1, of a copy's pages to the pages of other copies.
    """
    steps = {copy: round(agreement.get(copy.book_id, 0.0) / _STEP) for copy in complete.copies}
    most = max(steps.values())
    equal = [copy for copy in complete.copies if steps[copy] == most]
    cleanest = [copy for copy in equal if not any(is_cleaner(other, copy) for other in equal)]
    best = min(cleanest, key=lambda copy: copy.rank)
    longest = complete.copies[0].character_count
    length = f"It has {best.character_count:,} characters, and the longest copy {longest:,}."
    if complete.copy_count == 1:
        because = "It is the only copy of its text."
    elif complete.complete_count == 1:
        because = f"It is the only complete one of {complete.copy_count} copies. {length}"
    elif len(equal) == 1:
        because = (
            f"It is the best of {complete.complete_count} complete copies: its pages agree best with the "
            f"other copies ({agreement[best.book_id]:.0%}). {length}"
        )
    elif len(cleanest) == 1:
        next_share = min(copy.single_share for copy in equal if copy != best)
        because = (
            f"Fewest of its words occur only once, as misread words do: {best.single_share:.1%}; the "
            f"next best copy has {next_share:.1%}. {length}"
        )
    else:
        known_by = "content key" if best.external_id is None else "external id"
        because = (
            f"The {len(cleanest)} best copies are complete and equally good. The first by {known_by} was "
            f"chosen. {length}"
        )
    if complete.related_count > 1:
        because = f"Among {complete.related_count} related books, the longest one has this text. {because}"
    return BestCopy(best.book_id, because)


def is_cleaner(one: Copy, other: Copy) -> bool:
    """Return whether a copy has a smaller share of single words than another, beyond chance.

    One in four single words of both copies is taken to be due to chance; the others occur in both.
    """
    if one.single_words is None or other.single_words is None:
        return False
    difference = other.single_share - one.single_share
    chance = sqrt((one.single_words + other.single_words) / 4) / max(min(one.word_count, other.word_count), 1)
    return difference >= max(chance, _LEAST_DIFFERENCE)
