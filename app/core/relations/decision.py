"""People's decisions on the relation of two books, which outrank the machine's findings."""

from dataclasses import dataclass
from typing import Literal

from app.core.relations.relation import Direction, Kind

DecisionVerdict = Literal["confirmed", "rejected", "kind"]

_DIRECTED: frozenset[Kind] = frozenset({"CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT"})
"""Kinds in which one book may contain the other."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about two books."""

    verdict: DecisionVerdict
    kind: Kind | None  # confirmed, or named instead of the machine's; None: rejected


@dataclass(frozen=True, slots=True)
class RelationSummary:
    """A kind of relation and how sure it is, from the point of view of one of the books."""

    kind: Kind
    direction: Direction | None
    confidence: float  # 0 to 1


def effective_relation(machine: RelationSummary | None, decision: Decision | None) -> RelationSummary | None:
    """The relation that counts: the decision if there is one, stale or not, else the machine's finding.

    A person is certain, so the confidence of a decision is 1. Rejected books count as unrelated. A kind that
    a person names keeps the direction that the machine found.
    """
    if decision is None:
        return machine
    kind: Kind = decision.kind or "UNRELATED"
    direction = None if machine is None or kind not in _DIRECTED else machine.direction
    return RelationSummary(kind, direction, 1.0)
