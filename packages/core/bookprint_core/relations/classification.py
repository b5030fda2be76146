"""Classes of relations, and the classifier `shares-v1` that finds the class of two books.

The classes follow Spasojević and Poncin (2011, section IV-A); the last three kinds are ours. The classifier
applies their definitions to measured shares of text and pages. The confidence of a class is the product of
one filter for each figure in its definition (formula 4). The filters are ours: 1/2 at the threshold of the
definition, rising from 0 to 1 within the accuracy of the figure. The most confident class wins.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp
from typing import Literal

from bookprint_core.model import Metadata
from bookprint_core.relations.signals import Sides, Signals

Kind = Literal[
    "SAME_PAGINATION",
    "DIFFERENT_PAGINATION",
    "CONTIGUOUS_SUBSET",
    "OVERLAPPING_TEXT",
    "SAME_TEXT",
    "UNRELATED",
    "INSUFFICIENT_TEXT",
]
Direction = Literal["contains", "contained_in"]

SAME_TEXT: frozenset[Kind] = frozenset({"SAME_PAGINATION", "DIFFERENT_PAGINATION", "SAME_TEXT"})
"""Kinds of books with the same text."""

RELATED: frozenset[Kind] = SAME_TEXT | {"CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT"}
"""Kinds of books with some text in common."""

MOST = 0.8
"""Minimum share of both books for SAME_PAGINATION, DIFFERENT_PAGINATION and SAME_TEXT."""

PART = 0.9
"""Minimum share of a book in the other book of which it is a part."""


@dataclass(frozen=True, slots=True)
class Classification:
    """The class that a classifier finds for two books, from the left book's point of view."""

    kind: Kind
    direction: Direction | None  # of a part and its whole
    confidence: float  # 0 to 1
    confidences: Mapping[Kind, float]  # of each class; they sum up to 1
    because: str  # the reason, one sentence for people


def most_confident(raw: Mapping[Kind, float]) -> tuple[Kind, Mapping[Kind, float]]:
    """Return the first of the most confident classes, and all confidences scaled to a sum of 1."""
    total = sum(raw.values()) or 1.0
    confidences = {kind: value / total for kind, value in raw.items()}
    return max(confidences, key=lambda kind: confidences[kind]), confidences


def direction_of(shares: Sides) -> Direction:
    """Return the direction by the share of each book in the other; the part has the larger share."""
    return "contained_in" if shares.left > shares.right else "contains"


def opposite(direction: Direction | None) -> Direction | None:
    """Return the direction from the other book's point of view."""
    if direction is None:
        return None
    return "contains" if direction == "contained_in" else "contained_in"


LEAST_SHARED = 0.04
"""Minimum share of either book in the other of related books."""

OTHER_BREAKS = 0.08
"""Minimum share of found pages that cross page breaks, for a different pagination."""

MOST_IF_REVISED = 0.9
"""Replacement of `MOST` for books that are different volumes or issues by their metadata."""

REVISED = 0.1
"""Minimum share of revised pages at which books of different years count as issues."""

REVISED_LINES = 0.015
"""Minimum share of lines with other words or numbers at which books with the same pages are not copies."""

_NUMBER = re.compile(r"\d+")

_ACCURACY = 0.005  # typical error of measured shares


def shares_v1(signals: Signals, left: Metadata, right: Metadata) -> Classification:
    """Classify two books by `shares-v1`."""
    text, matched, span = signals.text_shared, signals.pages_matched, signals.span_matched
    related = _from(text.most, LEAST_SHARED)
    raw: dict[Kind, float]
    if signals.unit == "window":
        issues = _serial(left, right)
        whole = signals.typical_share if issues else 1.0
        same = related * _from(text.least * whole, MOST_IF_REVISED if issues else MOST)
        raw = {"SAME_TEXT": same, "OVERLAPPING_TEXT": related * (1 - same)}
    else:
        same = related * _from(matched.least, _share_of_one_pagination(signals, left, right))
        part = (1 - same) * related * _from(span.most, PART) * (1 - _from(span.least, MOST))
        other = (1 - same) * (1 - part) * _from(text.least, MOST) * _from(signals.other_breaks, OTHER_BREAKS)
        raw = {
            "SAME_PAGINATION": same,
            "CONTIGUOUS_SUBSET": part,
            "DIFFERENT_PAGINATION": other,
            "OVERLAPPING_TEXT": related * (1 - same) * (1 - part) * (1 - other),
        }
    return _classification(raw | {"UNRELATED": 1 - related}, signals)


def _classification(raw: dict[Kind, float], signals: Signals) -> Classification:
    """Return the most confident class, with its direction and the reason."""
    kind, confidences = most_confident(raw)
    direction = _direction(kind, signals)
    return Classification(kind, direction, confidences[kind], confidences, _because(kind, signals, direction))


def _from(figure: float, line: float) -> float:
    """Return the value of a filter, 0 to 1, that passes figures above the line."""
    return 1 / (1 + exp(min((line - figure) / _ACCURACY, 500)))


def _share_of_one_pagination(signals: Signals, left: Metadata, right: Metadata) -> float:
    """Return the minimum share of pages for SAME_PAGINATION: more for volumes and issues of one layout."""
    years = left.year is not None and right.year is not None and left.year != right.year
    issues = _serial(left, right) or (years and signals.revised >= REVISED)
    return MOST_IF_REVISED if issues else MOST


def _serial(left: Metadata, right: Metadata) -> bool:
    """Return whether metadata name different volumes, or titles that differ only in their numbers."""
    volumes = left.volume is not None and right.volume is not None and left.volume != right.volume
    numbers, names = zip(*(_numbers(each.title or "") for each in (left, right)), strict=True)
    return volumes or (all(numbers) and names[0] == names[1] and numbers[0] != numbers[1])


def _numbers(title: str) -> tuple[list[str], str]:
    """Return the numbers in a title, and the title without them."""
    return _NUMBER.findall(title), _NUMBER.sub("", title.casefold()).strip()


def _direction(kind: Kind, signals: Signals) -> Direction | None:
    if kind == "CONTIGUOUS_SUBSET":
        shares = signals.span_matched
    elif kind == "OVERLAPPING_TEXT" and signals.text_shared.most >= PART and signals.text_shared.least < MOST:
        shares = signals.text_shared
    else:
        return None
    return direction_of(shares)


def _because(kind: Kind, signals: Signals, direction: Direction | None) -> str:
    text, matched, span = signals.text_shared, signals.pages_matched, signals.span_matched
    part, whole = ("this", "the other") if direction == "contained_in" else ("the other", "this")
    match kind:
        case "SAME_PAGINATION":
            return (
                f"{matched.left:.0%} of the text pages of this book and {matched.right:.0%} of the other's "
                "match one to one with the same page breaks."
            )
        case "CONTIGUOUS_SUBSET":
            return (
                f"{span.most:.0%} of the text pages of {part} book are one span of {whole} book, with "
                f"the same page breaks, and make up {span.least:.0%} of it."
            )
        case "DIFFERENT_PAGINATION":
            return (
                f"{text.left:.0%} of the text of this book and {text.right:.0%} of the other's is found in "
                f"both, wrong letters aside, and {signals.other_breaks:.0%} of the pages lie across page "
                "breaks of the other book."
            )
        case "SAME_TEXT":
            return (
                f"{text.left:.0%} of the text of this book and {text.right:.0%} of the other's is found in "
                "both, wrong letters aside; the pages of at least one are not known."
            )
        case "OVERLAPPING_TEXT" if direction is not None:
            return (
                f"{text.most:.0%} of the text of {part} book is found in {whole} book and makes up "
                f"{text.least:.0%} of it: a part, but not known to be one span with the same page breaks."
            )
        case "OVERLAPPING_TEXT" if signals.common_matter is not None:
            return (
                f"{text.left:.0%} of the text of this book is found in the other, {text.right:.0%} of the "
                f"other's in this. All of it is {signals.common_matter.matter} of both."
            )
        case "OVERLAPPING_TEXT":
            return (
                f"{text.left:.0%} of the text of this book is found in the other, {text.right:.0%} of the "
                "other's in this; that fits none of the closer relations."
            )
        case _:
            return f"No more than {text.most:.0%} of the text of either book is found in the other."
