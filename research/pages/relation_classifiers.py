"""Relation classifiers, learned and set by hand (Spasojević and Poncin 2011, V-B and VII)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from bench.data.book_pairs import HARD, KINDS, SEED, SHARES, TABLE_I, Half
from bench.harness.confusion import Confusion, Share, wilson
from bench.harness.report import Cell, Section, Table
from research.pages.learners import LEARNERS, READINGS, Lesson, Reading, read, taught
from research.pages.measured_pairs import BY_HAND, HALVES, KnownPair, MeasuredPair, made, real, strangers

T = TypeVar("T")

RESAMPLED, RESAMPLING_SEED = 400, 3
"""Number and seed of draws of works for an interval of macro-F1."""
_BY_CLASS = ["macro-F1", *(f"{kind}: {figure}" for kind in SHARES for figure in ("P", "R"))]


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """A classifier, and its predicted kinds for pairs of works that it did not learn from."""

    name: str
    made: Sequence[str]  # of the made pairs of the report half
    real: Sequence[str]  # of the labelled real pairs, the tuning half first
    strangers: Sequence[str]  # of pairs of other works, the tuning half first

    def on_made(self, noisiest: bool = False) -> list[tuple[KnownPair, str]]:
        """Return the made pairs up to 5 % CER, or at 10 %, with their predicted kinds."""
        pairs = zip(made("report"), self.made, strict=True)
        return [(known, found) for known, found in pairs if (known.error_rate > HARD) == noisiest]

    def on_real(self) -> list[tuple[KnownPair, str]]:
        """Return the labelled real pairs of both halves, with their predicted kinds."""
        return list(zip(both_halves(real), self.real, strict=True))


def run(out_dir: Path) -> Section:
    """Train six learners on one half of the works and test them on the other; takes some minutes."""
    lessons = {
        half: Lesson([each.pair for each in made(half)], np.array([each.kind for each in made(half)]))
        for half in HALVES
    }
    taught_ones = [
        learned(f"{learner}, {signals}", learner, reading, lessons)
        for signals, reading in READINGS.items()
        for learner in LEARNERS
    ]
    everyone = [*(by_hand(name) for name in BY_HAND), *taught_ones]
    return Section(
        title="Spasojević and Poncin (2011): learned classifiers of relations",
        command="python -m research relation_classifiers",
        tables=[_made(everyone), _real(everyone)],
        notes=[
            "Spasojević and Poncin (2011), sections V-B and VII. Learners are taught with the made pairs of "
            f"one half of the works (1,800; `bench/data/book_pairs.py`, seed {SEED}; as many of each class, "
            "CER 0.5 to 10 %) and tested on the other half; no work is in both. Their settings are those "
            "that are best on works left out of those learnt from. Signals of Spasojević and Poncin: book "
            "and page similarity, slope, offset, Δpage_count and consecutive page correlation, computed from "
            "our page signatures. All signals: those, our shares, and whether years and volumes differ. Made "
            "pairs are tested on the half that is reported; real pairs half by half, each with "
            "what was learnt from the other.",
            "Their learners saw some 1,600 pairs. They suspect that labels were too few, classes very "
            "unequal and settings not tuned enough, and ran their SVM as a black box. Here classes are equal "
            "and settings are chosen, so the learners are better off than there. They do not say which "
            "Winnow they took, or how signals become bits: both are ours.",
            "Shares in %, with Wilson 95 % intervals; precision is weighted to the proportions of Table I on "
            "made pairs, and of real pairs as they are. macro-F1 takes five classes as equally common; its "
            "interval is of works drawn again. Real pairs are those of `bench real_relations` whose works "
            "are not divided between the halves. Books of other works are joined where they are taken for "
            "more than overlapping; the corpus does not label them.",
        ],
    )


def both_halves(pairs_of: Callable[[Half], Sequence[T]]) -> list[T]:
    """Return the pairs of the tuning half, then those of the report half."""
    return [pair for half in HALVES for pair in pairs_of(half)]


def by_hand(name: str) -> Contender:
    """Return one of the classifiers set by hand."""
    return Contender(
        name,
        [each.pair.predicted[name] for each in made("report")],
        [each.pair.predicted[name] for each in both_halves(real)],
        [pair.predicted[name] for pair in both_halves(strangers)],
    )


def learned(name: str, learner: str, reading: Reading, lessons: Mapping[Half, Lesson]) -> Contender:
    """Train a learner on the works of each half, and test it on the other half.

    Raises ValueError if a work is in training and test.
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
    """Raise ValueError if a work is in both sequences."""
    first, second = ({work for pair in pairs for work in pair.works} for pairs in (learnt, left_out))
    if both := first & second:
        raise ValueError(f"Learnt from and tested: {', '.join(sorted(both))}.")


def macro_f1(truth: Sequence[str], predicted: Sequence[str], works: Sequence[str]) -> Share:
    """Return macro-F1 over five kinds, with the 95 % bootstrap interval over works."""
    rows: dict[str, list[tuple[str, str]]] = {}
    for kinds, work in zip(zip(truth, predicted, strict=True), works, strict=True):
        rows.setdefault(work, []).append(kinds)
    groups = [rows[work] for work in sorted(rows)]
    rng = np.random.default_rng(RESAMPLING_SEED)
    scores = []
    for _ in range(RESAMPLED):
        drawn = rng.integers(0, len(groups), len(groups)).tolist()
        scores.append(Confusion(kinds for group in drawn for kinds in groups[group]).macro_f1(KINDS))
    low, high = np.quantile(scores, (0.025, 0.975)).tolist()
    return Share(Confusion(zip(truth, predicted, strict=True)).macro_f1(KINDS), low, high)


def _macro(pairs: Sequence[tuple[KnownPair, str]]) -> str:
    truth, works = [known.kind for known, _ in pairs], [known.pair.works[0] for known, _ in pairs]
    return str(macro_f1(truth, [found for _, found in pairs], works))


def _figures(pairs: Sequence[tuple[KnownPair, str]], shares: Mapping[str, float]) -> list[Cell]:
    """Return macro-F1, then precision and recall of each kind; `shares` weight the precision."""
    confusion = Confusion((known.kind, found) for known, found in pairs)
    by_kind = [
        str(of) for kind in SHARES for of in (confusion.precision(kind, shares), confusion.recall(kind))
    ]
    return [_macro(pairs), *by_kind]


def _made(contenders: Sequence[Contender]) -> Table:
    shares = {str(kind): share for kind, share in SHARES.items()}
    rows: list[list[Cell]] = [
        [each.name, *_figures(each.on_made(), shares), _macro(each.on_made(noisiest=True))]
        for each in contenders
    ]
    for place, name in ((0, "Table I, manual"), (2, "Table I, margin SVM")):
        figures = [str(TABLE_I[kind][place + side]) for kind in SHARES for side in (0, 1)]
        rows.append([f"*{name}, on 300 real pairs of its own*", "", *figures, ""])
    caption = f"Made pairs of works not learnt from, CER 0.5 to 5 %: {len(contenders[0].on_made()):,} pairs"
    return Table(["classifier", *_BY_CLASS, "macro-F1 at CER 10 %"], rows, caption)


def _real(contenders: Sequence[Contender]) -> Table:
    counts = Counter(known.kind for known, _ in contenders[0].on_real())
    total = counts.total()
    rows: list[list[Cell]] = []
    for each in contenders:
        pairs = each.on_real()
        right = sum(known.kind == found for known, found in pairs)
        unrelated = Confusion((known.kind, found) for known, found in pairs).recall("UNRELATED")
        overlapping = each.strangers.count("OVERLAPPING_TEXT")
        joined = len(each.strangers) - each.strangers.count("UNRELATED") - overlapping
        share = str(wilson(right / total, total))
        rows.append([each.name, share, *_figures(pairs, counts), str(unrelated), joined, overlapping])
    others = f"of {len(contenders[0].strangers):,} pairs of other works"
    return Table(
        ["classifier", "right", *_BY_CLASS, "UNRELATED: R", f"{others}: joined", "overlapping"],
        rows,
        f"Real pairs of works not learnt from, labelled by a reader: {total} pairs, "
        + ", ".join(f"{counts[kind]} {kind}" for kind in KINDS),
    )
