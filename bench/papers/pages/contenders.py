"""Classifiers of relations side by side: what each says of pairs of works that it did not learn from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from bench.data.book_pairs import Half
from bench.papers.pages.learners import Lesson, Reading, read, taught
from bench.papers.pages.measured_pairs import HALVES, MadeMeasure, MeasuredPair, RealMeasure, made, real
from bench.quality.confusion import Confusion, Share
from bench.quality.relations import KINDS

RESAMPLED = 400
"""Draws of works for an interval of macro-F1."""
SEED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """A classifier and its verdicts."""

    name: str
    made: Sequence[str]  # kinds of the made pairs of the report half
    real: Sequence[str]  # kinds of the real pairs, those of the tuning half first


@dataclass(frozen=True, slots=True)
class Duel:
    """Pairs that one of two classifiers alone has right."""

    first: int
    second: int

    @property
    def chance(self) -> float:
        """The probability of a division at least so uneven of equals (exact sign test), 0 to 1."""
        total, least = self.first + self.second, min(self.first, self.second)
        return min(1.0, 2 * sum(comb(total, each) / 2.0**total for each in range(least + 1)))


def tested() -> tuple[Sequence[MadeMeasure], Sequence[RealMeasure]]:
    """The pairs that verdicts are of, in their order."""
    return made("report"), [each for half in HALVES for each in real(half)]


def by_hand(name: str) -> Contender:
    """One of the classifiers of the service."""
    made_pairs, real_pairs = tested()
    return Contender(
        name,
        [each.pair.predicted[name] for each in made_pairs],
        [each.pair.predicted[name] for each in real_pairs],
    )


def learned(name: str, learner: str, reading: Reading, lessons: Mapping[Half, Lesson]) -> Contender:
    """A learner that is taught with the works of each half and tested on those of the other.

    Raises ValueError where a work is learnt from and tested.
    """
    taught_with = {half: taught(learner, reading, lessons[half]) for half in HALVES}

    def verdicts(half: Half, pairs: Sequence[MeasuredPair]) -> list[str]:
        other = HALVES[1 - HALVES.index(half)]
        require_separate(lessons[other].pairs, pairs)
        kinds: list[str] = taught_with[other].predict(read(reading, pairs)).tolist()
        return kinds

    return Contender(
        name,
        verdicts("report", [each.pair for each in made("report")]),
        [kind for half in HALVES for kind in verdicts(half, [each.pair for each in real(half)])],
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


def duel(right: Callable[[int, str], bool], first: Sequence[str], second: Sequence[str]) -> Duel:
    """The pairs that one alone has right; `right` says whether a kind is right for the pair of a number."""
    outcomes = [
        (right(number, one), right(number, other))
        for number, (one, other) in enumerate(zip(first, second, strict=True))
    ]
    return Duel(outcomes.count((True, False)), outcomes.count((False, True)))
