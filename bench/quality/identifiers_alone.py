"""Identifiers alone, compared offline: beside wider fingerprints and the ISCC, and with the length or not."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.harness.corpus import corpus_books, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table
from bench.quality.identified_pairs import (
    SHORT,
    WHOLE,
    IdentifiedPairs,
    hard_pairs,
    paper_pairs,
    real_pairs,
)

SEED = 20261122
HALVINGS = 10
WEIGHTS = (1, 2, 3, 4)
"""MinHash bits that a bit of the fingerprint may count as, to be fitted."""
LIMITS = (-2.3263, -3.0902, -3.7190)
"""Deviations below which one of a hundred, a thousand and ten thousand of a normal distribution lies."""
STEPS = 50
"""Steps of a score for each standard deviation of strangers."""

Score = NDArray[np.int32]
Scores = Sequence[Score]
"""The same pairs under each weight that may be fitted; higher is farther apart."""


def run(out_dir: Path) -> Section:
    """Sign the corpus and the sets, and compare all their pairs; some minutes on one core."""
    folder = corpus_folder()
    books = list(corpus_books(folder))
    real, hard = real_pairs(books, corpus_pairs(folder)), hard_pairs(books)
    sets = [real, paper_pairs(SHORT), hard, paper_pairs(WHOLE)]
    return Section(
        title="Identifiers alone",
        command="python -m bench identifiers_alone",
        tables=[_methods_table(real, hard), _length_table(sets), _verdict_table(sets), _chance_table(sets)],
        notes=[
            "F1 is that of pairs. Real pairs: all pairs of the corpus's books, of which "
            f"{int(real.right.sum())} of {real.right.size:,} are copies, parts or overlaps; series, "
            "translations and books of one author count against. Hard set: that of `python -m bench "
            f"fingerprints`, {int(hard.right.sum()):,} of {hard.right.size:,} pairs. Fitted: threshold and "
            "weights are chosen on one half of the works, F1 is that of the other half, both ways round, in "
            f"{HALVINGS} random halvings (seed {SEED}); works that share text stay together. “Best” is "
            "chosen and measured on all pairs.",
            "The strangers' model, and that one fingerprint bit counts as two MinHash bits, were chosen by "
            "hand on these sets, once; only thresholds are fitted here. Books that really share passages "
            "stand among the strangers of the last table, so its smallest shares are too high.",
        ],
    )


def _methods_table(real: IdentifiedPairs, hard: IdentifiedPairs) -> Table:
    rows: list[list[Cell]] = []
    of_real, of_hard = _methods(real), _methods(hard)
    for name, bits in METHODS.items():
        cells: list[Cell] = [name, bits]
        for pairs, methods in ((real, of_real), (hard, of_hard)):
            scores = methods[name]
            everything = np.ones(pairs.right.size, dtype=np.bool_)
            best = max(float(_curve(score, pairs.right, everything).max()) for score in scores)
            cells += [_fitted(pairs, scores), best]
        rows.append(cells)
    return Table(
        headers=[
            "identifier",
            "bits compared",
            "real: fitted F1",
            "real: best",
            "hard: fitted F1",
            "hard: best",
        ],
        rows=rows,
        caption="F1 of pairs by identifiers alone",
    )


METHODS: Mapping[str, int] = {
    "`bp1:`, distance": 128,
    "`bp1:`, distance and length": 128,
    "ISCC Text-Code": 256,
    "gap-simhash 256": 256,
    "`bp2:`, weighted sum": 256,
    "`bp2:`, weighted sum and length": 256,
    "gap-simhash 256 and the MinHash bits of `bp2:` (384 bits; not shipped)": 384,
}


def _methods(pairs: IdentifiedPairs) -> dict[str, Scores]:
    assert pairs.wide is not None
    assert pairs.iscc is not None
    distance, unequal = pairs.distance.astype(np.int32), pairs.unequal.astype(np.int32)
    wide = pairs.wide.astype(np.int32)
    scores: list[Scores] = [
        [distance],
        [_steps(pairs.deviations(with_minhash=False))],
        [pairs.iscc.astype(np.int32)],
        [wide],
        [weight * distance + unequal for weight in WEIGHTS],
        [_steps(pairs.deviations(with_minhash=True))],
        [weight * wide + unequal for weight in WEIGHTS],
    ]
    return dict(zip(METHODS, scores, strict=True))


def _length_table(sets: Sequence[IdentifiedPairs]) -> Table:
    """One threshold for texts of all lengths, with and without the length in the rule."""
    rows: list[list[Cell]] = []
    for name, minhash, length in (
        ("`bp1:`", False, False),
        ("`bp1:`", False, True),
        ("`bp2:`", True, False),
        ("`bp2:`", True, True),
    ):
        scores = [_one_rule(pairs, minhash=minhash, length=length) for pairs in sets]
        alone = [_fitted(pairs, [score]) for pairs, score in zip(sets, scores, strict=True)]
        common = _fitted_together(sets, scores)
        rows.append([name, "yes" if length else "no", *common, float(np.mean(common)), *alone])
    names = [pairs.name for pairs in sets]
    return Table(
        headers=[
            "identifier",
            "length",
            *names,
            "mean",
            *(f"{name}, threshold of its own" for name in names),
        ],
        rows=rows,
        caption="Fitted F1 with one threshold for all four sets, with and without the length",
    )


def _one_rule(pairs: IdentifiedPairs, *, minhash: bool, length: bool) -> Score:
    if length:
        return _steps(pairs.deviations(with_minhash=minhash))
    distance = pairs.distance.astype(np.int32)
    return 2 * distance + pairs.unequal if minhash else distance


def _verdict_table(sets: Sequence[IdentifiedPairs]) -> Table:
    """The rule as it is shipped."""
    rows: list[list[Cell]] = []
    for pairs in sets:
        for name, minhash in (("`bp1:`", False), ("`bp2:`", True)):
            verdicts = pairs.verdicts(with_minhash=minhash)
            same, unsure = verdicts.same, verdicts.unsure
            hits = int((same & pairs.right).sum())
            precision, recall = hits / max(1, int(same.sum())), hits / int(pairs.right.sum())
            rows.append(
                [
                    pairs.name,
                    pairs.texts,
                    name,
                    precision,
                    recall,
                    2 * precision * recall / (precision + recall),
                    float(unsure[pairs.right].mean()),
                    float(unsure[~pairs.right].mean()),
                ]
            )
    return Table(
        headers=[
            "set",
            "texts",
            "identifier",
            "precision",
            "recall",
            "F1",
            "unsure, right",
            "unsure, others",
        ],
        rows=rows,
        caption="Verdicts of `bookprint compare`: pairs called the same, and shares of pairs left unsure",
    )


def _chance_table(sets: Sequence[IdentifiedPairs]) -> Table:
    """The strangers that lie where the model expects one in a hundred, a thousand, ten thousand."""
    rows: list[list[Cell]] = []
    for pairs in sets:
        strangers = ~pairs.right & (pairs.first != pairs.second)
        for name, minhash in (("`bp1:`", False), ("`bp2:`", True)):
            lie = pairs.deviations(with_minhash=minhash)[strangers]
            shares = [float((lie <= limit).mean()) for limit in LIMITS]
            rows.append([pairs.name, int(strangers.sum()), name, *shares])
    return Table(
        headers=["set", "pairs of two works, any language", "identifier", "expected 0.01", "0.001", "0.0001"],
        rows=rows,
        caption="Share of strangers at most as far as the model says that so many are",
    )


def _steps(deviations: NDArray[np.float64]) -> Score:
    return np.round((deviations + 20) * STEPS).clip(0).astype(np.int32)


def _curve(score: Score, right: NDArray[np.bool_], of: NDArray[np.bool_]) -> NDArray[np.float64]:
    """F1 of the pairs `of`, by the highest score that is accepted."""
    found = np.bincount(score[of]).cumsum()
    hits = np.bincount(score[of & right], minlength=found.size).cumsum()
    return np.asarray(2 * hits / np.maximum(1, found + hits[-1]))


def _halves(pairs: IdentifiedPairs) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """The pairs within the halves of the works, in random halvings, both ways round."""
    groups = np.unique(np.concatenate([pairs.first, pairs.second]))
    halves = []
    for number in range(HALVINGS):
        chosen = np.random.default_rng([SEED, number]).permutation(groups)[: groups.size // 2]
        is_chosen = np.zeros(int(groups.max()) + 1, dtype=np.bool_)
        is_chosen[chosen] = True
        first, second = is_chosen[pairs.first], is_chosen[pairs.second]
        halves += [(first & second, ~first & ~second), (~first & ~second, first & second)]
    return halves


def _fitted(pairs: IdentifiedPairs, scores: Scores) -> float:
    """The mean F1 on one half of the works under the weight and threshold that are best on the other."""
    values = []
    for fitting, measuring in _halves(pairs):
        curves = [_curve(score, pairs.right, fitting) for score in scores]
        best = int(np.argmax([curve.max() for curve in curves]))
        values.append(_at(_curve(scores[best], pairs.right, measuring), int(curves[best].argmax())))
    return float(np.mean(values))


def _fitted_together(sets: Sequence[IdentifiedPairs], scores: Scores) -> list[float]:
    """As `_fitted`, by one threshold that is best for the mean of all sets' F1."""
    values = []
    halves = [_halves(pairs) for pairs in sets]
    for halving in range(2 * HALVINGS):
        curves = [
            [_curve(score, pairs.right, half) for half in each[halving]]
            for pairs, score, each in zip(sets, scores, halves, strict=True)
        ]
        last = max(fitting.size for fitting, _ in curves)
        padded = [np.pad(fitting, (0, last - fitting.size), mode="edge") for fitting, _ in curves]
        threshold = int(np.mean(padded, axis=0).argmax())
        values.append([_at(measured, threshold) for _, measured in curves])
    return [float(mean) for mean in np.mean(values, axis=0)]


def _at(curve: NDArray[np.float64], threshold: int) -> float:
    return float(curve[min(threshold, curve.size - 1)])
