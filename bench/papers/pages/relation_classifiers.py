"""Learned classifiers of relations beside those set by hand (Spasojević and Poncin 2011, V-B and VII)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.core.relations.relation import CLASSIFIERS
from bench.data.book_pairs import SHARES, Half
from bench.harness.report import Cell, Section, Table
from bench.papers.pages.contenders import Contender, by_hand, duel, learned, macro_f1, tested
from bench.papers.pages.cut_pairs import cut_pairs, noisy, whole_pairs
from bench.papers.pages.learners import LEARNERS, READINGS, Lesson, all_signals
from bench.papers.pages.measured_pairs import EDITIONS, HALVES, OTHER_WORKS, made
from bench.quality.confusion import Confusion, wilson
from bench.quality.relations import HARD, KINDS, SEED, TABLE_I


@dataclass(frozen=True, slots=True)
class Source:
    """Where the pairs come from that learners are taught with, and who labelled them."""

    name: str
    lesson: Callable[[Half], Lesson]


def true_lesson(half: Half) -> Lesson:
    """The made pairs of one half and their true kinds."""
    pairs = made(half)
    return Lesson([each.pair for each in pairs], np.array([each.kind for each in pairs]))


NOISY = (
    Source("made pairs, `shares-v1`", lambda half: noisy([each.pair for each in made(half)])),
    Source("real pairs, `shares-v1`", lambda half: noisy(whole_pairs(half))),
    Source(
        "real pairs and cuts of them, `shares-v1`", lambda half: noisy([*whole_pairs(half), *cut_pairs(half)])
    ),
)
"""Self-training: `shares-v1` labels what nobody has."""


def run(out_dir: Path) -> Section:
    """Teach six learners with one half of the works and test them on the other; some minutes."""
    set_by_hand = [by_hand(name) for name in CLASSIFIERS]
    lessons = {half: true_lesson(half) for half in HALVES}
    taught = [
        learned(f"{learner}, {signals}", learner, reading, lessons)
        for signals, reading in READINGS.items()
        for learner in LEARNERS
    ]
    everyone = [*set_by_hand, *taught]
    return Section(
        title="Spasojević and Poncin (2011): learned classifiers of relations",
        command="python -m bench relation_classifiers",
        tables=[
            _by_class(everyone),
            _against(set_by_hand[0], taught),
            _real(everyone),
            *_self_training(set_by_hand[0], taught[-len(LEARNERS) :]),
        ],
        notes=[
            "Sections V-B and VII of the paper. Learners are taught with the made pairs of one half of the "
            f"works (1,800; `bench/data/book_pairs.py`, seed {SEED}; as many of each class, CER 0.5 to 10 %) "
            "and tested on the other half; no work is in both. Their settings are those that are best on "
            "works left out of those learnt from. Signals of the paper: book and page similarity, slope, "
            "offset, Δpage_count and consecutive page correlation, computed from our page signatures. All "
            "signals: those, our shares, and whether years and volumes differ. Made pairs are tested on the "
            "half that `bench relations` reports; real pairs half by half, each with what was learnt from "
            "the other.",
            "Shares in %, with Wilson 95 % intervals; precision is weighted to the proportions of Table I. "
            "macro-F1 takes five classes as equally common; its interval is of works drawn again.",
        ],
    )


def _usual() -> list[int]:
    """The numbers of the made pairs up to 5 % CER."""
    return [number for number, each in enumerate(tested()[0]) if each.error_rate <= HARD]


def _made_f1(contender: Contender, noisiest: bool = False) -> str:
    """Macro-F1 up to 5 % CER, or at 10 %."""
    pairs = tested()[0]
    rows = sorted(set(range(len(pairs))).difference(_usual())) if noisiest else _usual()
    return str(
        macro_f1(
            [pairs[row].kind for row in rows],
            [contender.made[row] for row in rows],
            [pairs[row].pair.works[0] for row in rows],
        )
    )


def _by_class(contenders: Sequence[Contender]) -> Table:
    pairs, rows = tested()[0], _usual()
    cells: list[list[Cell]] = []
    for each in contenders:
        confusion = Confusion((pairs[row].kind, each.made[row]) for row in rows)
        row: list[Cell] = [each.name, _made_f1(each), _made_f1(each, noisiest=True)]
        for kind in SHARES:
            row += [str(confusion.precision(kind, SHARES)), str(confusion.recall(kind))]
        cells.append(row)
    for place, name in ((0, "Table I, manual"), (2, "Table I, margin SVM")):
        figures = [str(TABLE_I[kind][place + side]) for kind in SHARES for side in (0, 1)]
        cells.append([f"*{name}: 300 real pairs of its own*", "", "", *figures])
    headers = ["classifier", "macro-F1", "macro-F1, CER 10 %"]
    headers += [f"{kind}: {figure}" for kind in SHARES for figure in ("P", "R")]
    return Table(headers, cells, f"Made pairs of works not learnt from, CER 0.5 to 5 %: {len(rows):,} pairs")


def _against(best: Contender, others: Sequence[Contender]) -> Table:
    made_pairs, real_pairs = tested()
    rows = _usual()
    cells: list[list[Cell]] = []
    for other in others:
        on_made = duel(
            lambda number, kind: made_pairs[rows[number]].kind == kind,
            [best.made[row] for row in rows],
            [other.made[row] for row in rows],
        )
        on_real = duel(lambda number, kind: kind in real_pairs[number].right, best.real, other.real)
        row: list[Cell] = [other.name]
        for each in (on_made, on_real):
            row += [each.first, each.second, float(f"{each.chance:.2g}")]
        cells.append(row)
    headers = ["classifier"]
    headers += [
        f"{where}: {what}"
        for where in ("made", "real")
        for what in (f"only `{best.name}` right", "only this one right", "chance of that between equals")
    ]
    return Table(headers, cells, "The same pairs, one by one")


def _real(contenders: Sequence[Contender]) -> Table:
    pairs = tested()[1]
    groups: dict[str, list[int]] = {}
    for number, pair in enumerate(pairs):
        groups.setdefault("editions" if pair.label in EDITIONS else pair.label, []).append(number)
    names = sorted(groups, key=lambda name: (name == OTHER_WORKS, name))
    cells: list[list[Cell]] = []
    for each in contenders:
        row: list[Cell] = [each.name]
        for name in names:
            row.append(sum(each.real[number] in pairs[number].right for number in groups[name]))
        row.append(sum(each.real[number] == "OVERLAPPING_TEXT" for number in groups[OTHER_WORKS]))
        cells.append([*row, _real_share(each)])
    return Table(
        [
            "classifier",
            *(f"{name}: right of {len(groups[name]):,}" for name in names),
            f"{OTHER_WORKS}: overlap",
            "right of all but the last",
        ],
        cells,
        "Real pairs of paginated books, of works not learnt from. Readings of the same scans have one "
        "pagination; editions are right if related, books of other works if unrelated or overlapping",
    )


def _real_share(contender: Contender) -> str:
    """The share of the real pairs that the corpus names which it has right."""
    right = [
        kind in pair.right
        for kind, pair in zip(contender.real, tested()[1], strict=True)
        if pair.label != OTHER_WORKS
    ]
    return str(wilson(sum(right) / max(len(right), 1), len(right)))


_FIGURES = ("made: macro-F1", "real, named: right", "real, other works: joined")


def _figures(contender: Contender) -> tuple[str, str, int]:
    """The figures of `_FIGURES`."""
    return _made_f1(contender), _real_share(contender), _joined(contender)


def _joined(contender: Contender) -> int:
    """Books of other works that it takes for more than overlapping."""
    pairs = zip(contender.real, tested()[1], strict=True)
    return sum(kind not in pair.right for kind, pair in pairs if pair.label == OTHER_WORKS)


def _self_training(best: Contender, taught_truth: Sequence[Contender]) -> Iterator[Table]:
    """Learners of all signals taught with noisy labels, beside those taught with the truth."""
    lessons = {source.name: {half: source.lesson(half) for half in HALVES} for source in NOISY}
    cells: list[list[Cell]] = []
    for learner, taught in zip(LEARNERS, taught_truth, strict=True):
        cells.append(["made pairs, the truth", learner, *_figures(taught)])
    for name, by_half in lessons.items():
        for learner in LEARNERS:
            each = learned(f"{learner}, {name}", learner, all_signals, by_half)
            cells.append([name, learner, *_figures(each)])
    cells.append(["by hand", f"`{best.name}`", *_figures(best)])
    yield Table(
        ["learnt from", "classifier", *_FIGURES],
        cells,
        "Self-training, all signals: taught with pairs of works not tested, labelled as said",
    )
    yield Table(
        ["learnt from", "half", *KINDS],
        [
            [name, half, *(int(np.count_nonzero(lesson.kinds == kind)) for kind in KINDS)]
            for name, by_half in lessons.items()
            for half, lesson in by_half.items()
        ],
        "The labels learnt from",
    )
