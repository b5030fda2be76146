"""A person's word on the relation of two books, which outranks the machine's."""

from dataclasses import dataclass
from typing import Literal

from app.core.relations.relation import Direction, Kind

DecisionVerdict = Literal["confirmed", "rejected", "kind"]

_DIRECTED: frozenset[Kind] = frozenset({"CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT"})
"""Kinds in which one book may contain the other."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about two books."""

    verdict: DecisionVerdict
    kind: Kind | None  # that was confirmed, or named instead of the machine's; None: rejected


@dataclass(frozen=True, slots=True)
class RelationSummary:
    """A kind of relation and how sure it is; told of one of the books."""

    kind: Kind
    direction: Direction | None
    confidence: float  # 0 to 1


def effective_relation(machine: RelationSummary | None, decision: Decision | None) -> RelationSummary | None:
    """What counts: the decision where there is one, stale or not, else what the machine found.

    A person is certain, so the confidence of a decision is 1. What was rejected counts as unrelated. A kind
    that a person names keeps the direction that the machine found.
    """
    if decision is None:
        return machine
    kind: Kind = decision.kind or "UNRELATED"
    direction = None if machine is None or kind not in _DIRECTED else machine.direction
    return RelationSummary(kind, direction, 1.0)
