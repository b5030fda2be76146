"""Learned classifiers of relations beside those set by hand (Spasojević and Poncin 2011, V-B and VII)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.data.book_pairs import HARD, KINDS, SEED, SHARES, TABLE_I, Half
from bench.harness.confusion import Confusion, wilson
from bench.harness.report import Cell, Section, Table
from research.relations.contenders import Contender, both_halves, by_hand, learned, macro_f1
from research.relations.learners import LEARNERS, READINGS, Lesson
from research.relations.measured_pairs import BY_HAND, HALVES, KnownPair, made, real


def true_lesson(half: Half) -> Lesson:
    """The made pairs of one half and their true kinds."""
    pairs = made(half)
    return Lesson([each.pair for each in pairs], np.array([each.kind for each in pairs]))


def run(out_dir: Path) -> Section:
    """Teach six learners with one half of the works and test them on the other; some minutes."""
    set_by_hand = [by_hand(name) for name in BY_HAND]
    lessons = {half: true_lesson(half) for half in HALVES}
    taught = [
        learned(f"{learner}, {signals}", learner, reading, lessons)
        for signals, reading in READINGS.items()
        for learner in LEARNERS
    ]
    everyone = [*set_by_hand, *taught]
    return Section(
        title="Spasojević and Poncin (2011): learned classifiers of relations",
        command="python -m research relation_classifiers",
        tables=[
            _made(everyone),
            _real(everyone),
        ],
        notes=[
            "Spasojević and Poncin (2011), sections V-B and VII. Learners are taught with the made pairs of "
            f"one half of the works (1,800; `bench/data/book_pairs.py`, seed {SEED}; as many of each class, "
            "CER 0.5 to 10 %) and tested on the other half; no work is in both. Their settings are those "
            "that are best on works left out of those learnt from. Signals of Spasojević and Poncin: book "
            "and page similarity, slope, offset, Δpage_count and consecutive page correlation, computed from "
            "our page signatures. All signals: those, our shares, and whether years and volumes differ. Made "
            "pairs are tested on the half that `bench relations` reports; real pairs half by half, each with "
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


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What one classifier finds in pairs whose kind is known."""

    truth: Sequence[str]
    found: Sequence[str]
    works: Sequence[str]  # of the first book of each pair

    @property
    def confusion(self) -> Confusion:
        """Counts by true and found kind."""
        return Confusion(zip(self.truth, self.found, strict=True))

    def figures(self, shares: Mapping[Any, float]) -> list[Cell]:
        """Macro-F1, then precision and recall of each kind; precision for kinds as common as `shares`."""
        confusion = self.confusion
        cells: list[Cell] = [str(macro_f1(self.truth, self.found, self.works))]
        for kind in SHARES:
            cells += [str(confusion.precision(kind, shares)), str(confusion.recall(kind))]
        return cells


def on_made(contender: Contender, noisiest: bool = False) -> Verdicts:
    """On the made pairs up to 5 % CER, or on those at 10 %."""
    return _verdicts(
        [
            (known, found)
            for known, found in zip(made("report"), contender.made, strict=True)
            if (known.error_rate > HARD) == noisiest
        ]
    )


def on_real(contender: Contender) -> Verdicts:
    """On the labelled real pairs of both halves."""
    return _verdicts(list(zip(both_halves(real), contender.real, strict=True)))


def _verdicts(pairs: Sequence[tuple[KnownPair, str]]) -> Verdicts:
    return Verdicts(
        [known.kind for known, _ in pairs],
        [found for _, found in pairs],
        [known.pair.works[0] for known, _ in pairs],
    )


_BY_CLASS = ["macro-F1", *(f"{kind}: {figure}" for kind in SHARES for figure in ("P", "R"))]


def _made(contenders: Sequence[Contender]) -> Table:
    rows: list[list[Cell]] = [
        [each.name, *on_made(each).figures(SHARES), _macro(on_made(each, noisiest=True))]
        for each in contenders
    ]
    for place, name in ((0, "Table I, manual"), (2, "Table I, margin SVM")):
        figures = [str(TABLE_I[kind][place + side]) for kind in SHARES for side in (0, 1)]
        rows.append([f"*{name}, on 300 real pairs of its own*", "", *figures, ""])
    count = len(on_made(contenders[0]).truth)
    return Table(
        ["classifier", *_BY_CLASS, "macro-F1 at CER 10 %"],
        rows,
        f"Made pairs of works not learnt from, CER 0.5 to 5 %: {count:,} pairs",
    )


def _real(contenders: Sequence[Contender]) -> Table:
    counts = Counter(on_real(contenders[0]).truth)
    total = counts.total()
    rows: list[list[Cell]] = []
    for each in contenders:
        verdicts = on_real(each)
        unrelated = verdicts.confusion.recall("UNRELATED")
        right = sum(true == found for true, found in zip(verdicts.truth, verdicts.found, strict=True))
        rows.append(
            [
                each.name,
                str(wilson(right / total, total)),
                *verdicts.figures(counts),
                str(unrelated),
                _joined(each),
                sum(kind == "OVERLAPPING_TEXT" for kind in each.strangers),
            ]
        )
    others = f"of {len(contenders[0].strangers):,} pairs of other works"
    return Table(
        ["classifier", "right", *_BY_CLASS, "UNRELATED: R", f"{others}: joined", "overlapping"],
        rows,
        f"Real pairs of works not learnt from, labelled by a reader: {total} pairs, "
        + ", ".join(f"{counts[kind]} {kind}" for kind in KINDS),
    )


def _macro(verdicts: Verdicts) -> str:
    return str(macro_f1(verdicts.truth, verdicts.found, verdicts.works))


def _joined(contender: Contender) -> int:
    """Books of other works that it takes for more than overlapping."""
    return sum(kind not in ("UNRELATED", "OVERLAPPING_TEXT") for kind in contender.strangers)
