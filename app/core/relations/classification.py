"""What a classifier says of two books."""

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

MOST = 0.8
"""Share of both books that the two pagination classes, and SAME_TEXT, ask for."""

PART = 0.9
"""Share of a book that lies in the other one of which it is a part."""


@dataclass(frozen=True, slots=True)
class Classification:
    """A class, why, and how sure; told of the left book."""

    kind: Kind
    direction: Direction | None  # of a part and its whole
    confidence: float  # 0 to 1
    confidences: Mapping[Kind, float]  # of each class; they sum up to 1
    because: str  # a sentence for people


def most_confident(raw: Mapping[Kind, float]) -> tuple[Kind, Mapping[Kind, float]]:
    """The class that wins, the first of several equal ones, and all confidences scaled to a sum of 1."""
    total = sum(raw.values()) or 1.0
    confidences = {kind: value / total for kind, value in raw.items()}
    return max(confidences, key=lambda kind: confidences[kind]), confidences


def direction_of(shares: Sides) -> Direction:
    """Which book is the part, by the share of each that the other holds."""
    return "contained_in" if shares.left > shares.right else "contains"


def opposite(direction: Direction | None) -> Direction | None:
    """The direction told of the other book."""
    match direction:
        case "contains":
            return "contained_in"
        case "contained_in":
            return "contains"
        case None:
            return None
