"""Classifiers of relations side by side: what each says of pairs of works that it did not learn from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from bench.data.book_pairs import KINDS, Half
from bench.harness.confusion import Confusion, Share
from research.relations.learners import Lesson, Reading, read, taught
from research.relations.measured_pairs import HALVES, MeasuredPair, made, real, strangers

T = TypeVar("T")

RESAMPLED = 400
"""Draws of works for an interval of macro-F1."""
SEED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """A classifier, and the kinds that it finds in pairs of works that it did not learn from."""

    name: str
    made: Sequence[str]  # of the made pairs of the report half
    real: Sequence[str]  # of the labelled real pairs, those of the tuning half first
    strangers: Sequence[str]  # of pairs of other works, likewise


def both_halves(pairs_of: Callable[[Half], Sequence[T]]) -> list[T]:
    """The pairs of the tuning half, then those of the report half."""
    return [pair for half in HALVES for pair in pairs_of(half)]


def by_hand(name: str) -> Contender:
    """One of the classifiers of the service."""
    return Contender(
        name,
        [each.pair.predicted[name] for each in made("report")],
        [each.pair.predicted[name] for each in both_halves(real)],
        [pair.predicted[name] for pair in both_halves(strangers)],
    )


def learned(name: str, learner: str, reading: Reading, lessons: Mapping[Half, Lesson]) -> Contender:
    """A learner that is taught with the works of each half and tested on those of the other.

    Raises ValueError where a work is learnt from and tested.
    """
    taught_with = {half: taught(learner, reading, lessons[half]) for half in HALVES}

    def kinds(half: Half, pairs: Sequence[MeasuredPair]) -> list[str]:
        other = HALVES[1 - HALVES.index(half)]
        require_separate(lessons[other].pairs, pairs)
        found: list[str] = taught_with[other].predict(read(reading, pairs)).tolist()
        return found

    return Contender(
        name,
        kinds("report", [each.pair for each in made("report")]),
        both_halves(lambda half: kinds(half, [each.pair for each in real(half)])),
        both_halves(lambda half: kinds(half, strangers(half))),
    )


def require_separate(learnt: Sequence[MeasuredPair], left_out: Sequence[MeasuredPair]) -> None:
    """Raises ValueError where a work is in both."""
    both = _works(learnt) & _works(left_out)
    if both:
        raise ValueError(f"Learnt from and tested: {', '.join(sorted(both))}.")


def _works(pairs: Sequence[MeasuredPair]) -> set[str]:
    return {work for pair in pairs for work in pair.works}


def macro_f1(truth: Sequence[str], predicted: Sequence[str], works: Sequence[str]) -> Share:
    """Macro-F1 over five kinds, and the 95 % interval over works drawn again with replacement."""
    rows: dict[str, list[tuple[str, str]]] = {}
    for kinds, work in zip(zip(truth, predicted, strict=True), works, strict=True):
        rows.setdefault(work, []).append(kinds)
    groups = [rows[work] for work in sorted(rows)]
    rng = np.random.default_rng(SEED)
    drawn = [
        Confusion(
            kinds for group in rng.integers(0, len(groups), len(groups)).tolist() for kinds in groups[group]
        )
        for _ in range(RESAMPLED)
    ]
    low, high = np.quantile([each.macro_f1(KINDS) for each in drawn], (0.025, 0.975)).tolist()
    return Share(Confusion(zip(truth, predicted, strict=True)).macro_f1(KINDS), low, high)
