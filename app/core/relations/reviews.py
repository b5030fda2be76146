"""What a look at a relation by a person is worth: how doubtful it is, times what hangs on it.

Every doubt is a rule that a librarian would give, with a weight from 0 to 1. Doubts add up as chances do:
two of one half make three quarters. What hangs on a relation are the books that it brings together, or keeps
apart: the smaller part counts, as that is what a wrong relation moves to the wrong place.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp, log2, prod

from app.core.model import Metadata
from app.core.relations.classification import (
    LEAST_SHARED,
    MOST,
    OTHER_BREAKS,
    PART,
    SAME_TEXT,
    Direction,
    Kind,
)
from app.core.relations.relation import LEAST_LINK, REVISED_LINES
from app.core.relations.signals import Signals
from app.core.text.names import folded, main_title

MOST_PART = 1000
"""Books of a part from which on more of them change nothing."""

_LEAST_TOLD = 0.01
"""Doubts below this are not told."""

_AT_THE_END = 5
"""Pages between what is shared and the end of a book, or its beginning: blank leaves."""

_SHORT_WORD = 3
"""Letters of words that say little in a title."""

_EXPECTED = 0.3
"""What is left of doubts about the texts where the catalogue agrees with the machine."""

_NEAR = 0.02
"""How far a figure may be from the line that decides, and still be doubtful."""


@dataclass(frozen=True, slots=True)
class ReviewedRelation:
    """The machine's finding about two books, and what is known of both."""

    kind: Kind
    direction: Direction | None  # of the left book
    confidence: float  # 0 to 1
    signals: Signals | None
    revised: float | None
    left: Metadata
    right: Metadata
    parts: tuple[int, int]  # books in the clusters of both, before the relation joined them


@dataclass(frozen=True, slots=True)
class Worth:
    """What a look at a relation is worth, and why, in sentences for people."""

    value: float  # 0 to 2
    because: str


@dataclass(frozen=True, slots=True)
class _Doubt:
    weight: float  # 0 to 1
    because: str


def worth_of(relation: ReviewedRelation) -> Worth:
    """What a look at this relation is worth."""
    doubts = sorted(_doubts(relation), key=lambda doubt: -doubt.weight)
    doubt = 1 - prod(1 - each.weight for each in doubts)
    smaller = min(*relation.parts, MOST_PART)
    told = [each.because for each in doubts[:3] if each.weight >= max(doubts[0].weight / 4, _LEAST_TOLD)]
    if smaller > 1:
        verb = "keeps apart" if relation.kind in ("UNRELATED", "INSUFFICIENT_TEXT") else "joins"
        told.append(f"It {verb} {relation.parts[0]} and {relation.parts[1]} books.")
    because = " ".join(told) or "Nothing speaks against it."
    return Worth(doubt * (1 + log2(max(smaller, 1)) / log2(MOST_PART)), because)


def _doubts(relation: ReviewedRelation) -> Iterator[_Doubt]:
    # What the catalogue says, too, is no surprise.
    surprise = _EXPECTED if _is_expected(relation) else 1.0
    sure = f"The machine is sure of it by {relation.confidence:.0%} alone."
    yield _Doubt(surprise * (1 - relation.confidence), sure)
    for doubt in () if relation.signals is None else _of_pages(relation, relation.signals):
        yield replace(doubt, weight=surprise * doubt.weight)
    if relation.kind in SAME_TEXT:
        yield from _of_one_text(relation.left, relation.right)
    elif relation.kind in ("UNRELATED", "INSUFFICIENT_TEXT"):
        yield from _of_other_texts(relation.left, relation.right)
    else:
        yield from _of_parts(relation)


def _of_pages(relation: ReviewedRelation, signals: Signals) -> Iterator[_Doubt]:
    """Doubts from figures near the lines that decide."""
    text, pages = signals.text_shared, signals.unit == "page"
    yield _near(text.most, LEAST_SHARED, "of either book is found in the other", _NEAR / 4)
    if relation.kind in SAME_TEXT or text.least > MOST - _NEAR:
        yield _near(text.least, MOST, "of both books is found in each other")
    if pages and relation.kind in SAME_TEXT:
        # Copies they are in either case.
        for figure, line, told in (
            (signals.pages_matched.least, MOST, "of the pages match one to one"),
            (signals.other_breaks, OTHER_BREAKS, "of the pages lie across page breaks"),
        ):
            doubt = _near(figure, line, told)
            yield replace(doubt, weight=_EXPECTED * doubt.weight)
    if relation.kind == "CONTIGUOUS_SUBSET":
        yield _near(signals.span.most, PART, "of the part is one span of the whole")
    if relation.revised is not None and relation.kind == "SAME_PAGINATION":
        yield _near(relation.revised, REVISED_LINES, "of the lines have other words", REVISED_LINES / 2)


def _near(figure: float, line: float, told: str, near: float = _NEAR) -> _Doubt:
    because = f"{figure:.1%} {told}, and {line:.1%} decides."
    return _Doubt(exp(-abs(figure - line) / near) / 2, because)


def _of_one_text(left: Metadata, right: Metadata) -> Iterator[_Doubt]:
    for same, weight, told in (
        (_same_volume(left, right), 0.8, "The volumes have other numbers"),
        (_same_title(left, right), 0.6, "The titles have little in common"),
        (_same_author(left, right), 0.6, "The authors are others"),
        (_same_identifier(left, right), 0.4, "The identifiers are others"),
    ):
        if same is False:
            yield _Doubt(weight, f"{told}, but the text is the same.")


def _of_other_texts(left: Metadata, right: Metadata) -> Iterator[_Doubt]:
    if _same_identifier(left, right):
        yield _Doubt(0.8, "Both books have the same identifier, but not the same text.")
    if _same_title(left, right) and _same_author(left, right) is not False:
        other = _same_volume(left, right) is False or left.language != right.language
        yield _Doubt(0.1 if other else 0.6, "Both books have the same title, but not the same text.")


def _of_parts(relation: ReviewedRelation) -> Iterator[_Doubt]:
    """Doubts in an overlap, or in a part and its whole."""
    left, right = relation.left, relation.right
    strangers = _are_strangers(relation)
    if strangers:
        weight = 0.4 if None in (_same_title(left, right), _same_author(left, right)) else 0.6
        yield _Doubt(weight, "Books of other authors or titles share some of their text.")
    if relation.signals is not None and relation.direction is None:
        shared = relation.signals.text_shared.most
        weight = (0.8 if strangers else 0.4) * max(1 - shared / (2 * LEAST_LINK), 0)
        yield _Doubt(weight, f"No more than {shared:.0%} of either book is shared, as of a common appendix.")
        fit = relation.signals.fit
        at_the_end = fit is not None and min(abs(fit.delta_page_count), abs(fit.intercept)) <= _AT_THE_END
        if at_the_end and shared < 2 * LEAST_LINK:
            yield _Doubt(0.5, "What they share begins or ends both books, as advertisements do.")


def _is_expected(relation: ReviewedRelation) -> bool:
    """Whether the names have as much in common as the texts."""
    if relation.kind == "UNRELATED":
        return _are_strangers(relation)
    same_author = _same_author(relation.left, relation.right)
    return bool(_same_title(relation.left, relation.right)) and same_author is not False


def _are_strangers(relation: ReviewedRelation) -> bool:
    """Whether title or authors differ, and neither is the same."""
    known = [same(relation.left, relation.right) for same in (_same_title, _same_author)]
    return False in known and True not in known


def _same_title(left: Metadata, right: Metadata) -> bool | None:
    """Whether one title begins as the other's main title, or most of the longer words of one are in both."""
    titles = [each.title or "" for each in (left, right)]
    whole = [folded(title) for title in titles]
    if not all(whole):
        return None
    main = [folded(main_title(title)) for title in titles]
    words, others = map(_long_words, whole)
    most = 2 * len(words & others) > min(len(words), len(others))
    return whole[0].startswith(main[1]) or whole[1].startswith(main[0]) or most


def _long_words(title: str) -> set[str]:
    words = title.split()
    return {word for word in words if len(word) > _SHORT_WORD} or set(words)


def _same_author(left: Metadata, right: Metadata) -> bool | None:
    """Whether a word of a name is in both; neither initials nor years count."""
    names, others = (
        {
            word
            for each in book.authors
            for word in folded(each).split()
            if len(word) > 1 and not word.isdigit()
        }
        for book in (left, right)
    )
    return None if not names or not others else bool(names & others)


def _same_volume(left: Metadata, right: Metadata) -> bool | None:
    volume, other = (folded(each.volume or "") for each in (left, right))
    return None if not volume or not other else volume == other


def _same_identifier(left: Metadata, right: Metadata) -> bool | None:
    """Whether both have an identifier in common; None: they have none of the same scheme."""
    if set(left.identifiers) & set(right.identifiers):
        return True
    schemes, others = ({each.partition(":")[0] for each in book.identifiers} for book in (left, right))
    return False if schemes & others else None
