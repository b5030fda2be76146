"""Every reason that the core gives can be read in the language of the page."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import get_args
from uuid import UUID

import pytest

from app.core.clusters.best_copy import CompleteCopies, Copy, best_copy
from app.core.model import Metadata
from app.core.relations import classification, relation
from app.core.relations.classification import Direction, Kind
from app.core.relations.reviews import ReviewedRelation, worth_of
from app.core.relations.signals import LinearFit, Sides, Signals
from app.web import reasons
from app.web.languages import answer_in, languages

HALF = Sides(0.5, 0.5)
FIT = LinearFit(*(0.0 for _ in LinearFit.__dataclass_fields__))
SIGNALS = Signals("page", HALF, 0.5, 0.5, HALF, 0.5, HALF, HALF, HALF, 0.5, 0.0, 0.5, 1, FIT, FIT)
KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "INSUFFICIENT_TEXT")
DIRECTIONS: tuple[Direction | None, ...] = ("contains", "contained_in", None)


@pytest.fixture(autouse=True)
def _in_english_again() -> Iterator[None]:
    yield
    answer_in("en")


def of_relations() -> Iterator[str]:
    for kind, direction in product(KINDS, DIRECTIONS):
        yield classification._because(kind, SIGNALS, direction)
    copies = classification.Classification("SAME_PAGINATION", None, 0.9, dict.fromkeys(KINDS, 0.1), "")
    yield relation._revised(copies, 0.25).because


def of_reviews() -> Iterator[str]:
    one = Metadata("A title", ("Anne",), volume="1", identifiers=("isbn:1",))
    other = Metadata("Unlike", ("Bert",), volume="2", identifiers=("isbn:2",))
    renumbered = replace(one, identifiers=("isbn:2",))
    rights, sizes = (one, other, renumbered), ((1, 1), (2, 3))
    for kind, share, right, parts in product(
        KINDS, (0.05, 0.2, 0.4, 0.8, classification.PART), rights, sizes
    ):
        direction: Direction | None = "contains" if kind == "CONTIGUOUS_SUBSET" else None
        near = Sides(share, share)
        signals = replace(
            SIGNALS, text_shared=near, pages_matched=near, span_matched=near, span=near, other_breaks=share
        )
        for confidence, revised in product((0.3, 1.0), (None, relation.REVISED_LINES)):
            yield worth_of(
                ReviewedRelation(kind, direction, confidence, signals, revised, one, right, parts)
            ).because
    yield worth_of(ReviewedRelation("SAME_TEXT", None, 1.0, None, None, one, one, (1, 1))).because


def of_best_copies() -> Iterator[str]:
    names = ("a", None)
    for name, dirt, agreeing, counts in product(
        names, (10, 9_000), (1, 2, 3), ((1, 1, 1), (1, 3, 1), (3, 3, 2))
    ):
        copies = [
            Copy(UUID(int=n), 10_000, 70_000 - n, 10 if n == 0 else dirt, name, bytes([n])) for n in range(3)
        ]
        agreement = {copy.book_id: 0.9 if n < agreeing else 0.5 for n, copy in enumerate(copies)}
        complete, of_all, related = counts
        yield best_copy(CompleteCopies(copies[:complete], complete, of_all, related), agreement).because


@pytest.mark.parametrize("language", set(languages()) - {"en"})
def test_every_reason_is_translated(language: str) -> None:
    answer_in(language)
    told = {*of_relations(), *of_reviews(), *of_best_copies()}
    assert {each for each in told if "<span" in reasons.reason(each)} == set()
    forms = {reasons._NUMBER.sub("{}", part) for each in told for part in reasons._END.split(each)}
    assert set(reasons._SENTENCES) - forms == set(), "the core says this no more"


def test_numbers_are_written_as_the_language_has_them() -> None:
    answer_in("de")
    length = "It alone is complete: 70,968 characters, where the fullest of 4 copies has 71,307."
    assert "70.968 Zeichen" in reasons.reason(length)
    assert "81,5\N{NO-BREAK SPACE}%" in reasons.reason(
        "81.5% of the part is one span of the whole, and 80.0% decides."
    )
    assert (
        reasons.reason("A <b> that nobody knows.") == '<span lang="en">A &lt;b&gt; that nobody knows.</span>'
    )
