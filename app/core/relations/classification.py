"""Classes of relations (Spasojević and Poncin 2011, section IV-A; the last three kinds are ours)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from app.core.relations.signals import Sides

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
"""Books with the same text."""

RELATED: frozenset[Kind] = SAME_TEXT | {"CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT"}
"""Books with some of their text in common."""

MOST = 0.8
"""Share of both books that SAME_PAGINATION, DIFFERENT_PAGINATION and SAME_TEXT ask for."""

PART = 0.9
"""Share of a book from which on it is a part of the other one."""


@dataclass(frozen=True, slots=True)
class Classification:
    """The class that a classifier finds for two books, from the left one's point of view."""

    kind: Kind
    direction: Direction | None  # of a part and its whole
    confidence: float  # 0 to 1
    confidences: Mapping[Kind, float]  # of each class; they sum up to 1
    because: str  # the reason, one sentence for people


def most_confident(raw: Mapping[Kind, float]) -> tuple[Kind, Mapping[Kind, float]]:
    """The class that wins, the first of several equal ones, and all confidences scaled to a sum of 1."""
    total = sum(raw.values()) or 1.0
    confidences = {kind: value / total for kind, value in raw.items()}
    return max(confidences, key=lambda kind: confidences[kind]), confidences


def direction_of(shares: Sides) -> Direction:
    """The direction by the share of each book that the other has: the part has the larger one."""
    return "contained_in" if shares.left > shares.right else "contains"


def opposite(direction: Direction | None) -> Direction | None:
    """The direction from the other book's point of view."""
    match direction:
        case "contains":
            return "contained_in"
        case "contained_in":
            return "contains"
        case None:
            return None
