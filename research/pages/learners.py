"""Learned classifiers of relations: their signals, and the choice of their settings.

The classifiers are those of Spasojević and Poncin (2011, section V-B), logistic regression and gradient
boosting. The paper does not specify its Winnow or how signals become bits; both are our choice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from research.pages.measured_pairs import MeasuredPair
from research.pages.single_signals import fitted_line

FOLDS = 5
"""Number of parts of the learning works; each part in turn judges settings learned on the others."""
SEED = 11

Table = NDArray[np.float64]
"""Signals of pairs, (pairs, signals)."""
Names = NDArray[np.str_]
"""Kinds or works, (pairs,)."""


class Learner(Protocol):
    """A classifier that learns from signals."""

    def fit(self, signals: Table, kinds: Names) -> Any: ...
    def predict(self, signals: Table) -> Names: ...


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """Pairs to learn from, with their kinds."""

    pairs: Sequence[MeasuredPair]
    kinds: Names


Reading = Callable[[MeasuredPair], list[float]]


def published_signals(pair: MeasuredPair) -> list[float]:
    """Return the six signals of Spasojević and Poncin (2011, IV-B), independent of the books' order."""
    signals, line = pair.signals, fitted_line(pair.signals)
    return [
        signals.book_similarity,
        signals.page_similarity,
        line.steepness,
        line.offset,
        line.behind,
        signals.consecutive_correlation,
    ]


def all_signals(pair: MeasuredPair) -> list[float]:
    """Return the signals of Spasojević and Poncin (2011), ours, and the metadata used by `shares-v1`."""
    signals = pair.signals
    sides = (signals.text_shared, signals.pages_matched, signals.span_matched, signals.span)
    left, right = pair.metadata
    return [
        *published_signals(pair),
        *(share for each in sides for share in (each.least, each.most)),
        signals.text_pages.least / max(signals.text_pages.most, 1),
        signals.typical_share,
        signals.other_breaks,
        signals.revised,
        float(np.log1p(signals.runs)),
        float(_differ(left.year, right.year)),
        float(_differ(left.volume, right.volume)),
    ]


READINGS: Mapping[str, Reading] = {
    "signals of Spasojević and Poncin (2011)": published_signals,
    "all": all_signals,
}
"""Names and sets of signals."""


def read(reading: Reading, pairs: Sequence[MeasuredPair]) -> Table:
    """Return the signals of all pairs."""
    return np.array([reading(pair) for pair in pairs])


def _differ(left: object, right: object) -> bool:
    return left is not None and right is not None and left != right


class Winnow:
    """A linear classifier that multiplies its weights at mistakes (Littlestone 1988, Winnow2).

    A signal becomes two bits per quantile of the learning pairs: above it, and not above it. Each kind has
    one set of weights; the kind that exceeds its threshold most is predicted.
    """

    def __init__(self, promotion: float = 1.5, rounds: int = 12, cuts: int = 12, seed: int = 0) -> None:
        self._promotion = promotion  # factor of a promotion, and divisor of a demotion; above 1
        self._rounds = rounds  # passes over the pairs
        self._cuts = cuts  # quantiles of each signal
        self._seed = seed  # of the order of the pairs
        self._thresholds = np.zeros((0, 0))
        self._weights = np.zeros((0, 0))
        self._kinds = np.array([], dtype=np.str_)

    def fit(self, signals: NDArray[np.float64], kinds: NDArray[np.str_]) -> Self:
        """Learn from signals (pairs, signals) and the kind of each pair, (pairs,)."""
        self._kinds = np.unique(kinds)
        self._thresholds = np.quantile(signals, np.linspace(0, 1, self._cuts + 2)[1:-1], axis=0)
        bits = self._bits(signals)
        wanted = kinds[:, None] == self._kinds
        self._weights = np.ones((bits.shape[1], self._kinds.size))
        rng = np.random.default_rng(self._seed)
        for _ in range(self._rounds):
            for pair in rng.permutation(len(bits)).tolist():
                self._take(bits[pair], wanted[pair])
        return self

    def predict(self, signals: NDArray[np.float64]) -> NDArray[np.str_]:
        """Return the kind of each pair, (pairs,)."""
        chosen: NDArray[np.str_] = self._kinds[np.argmax(self._bits(signals) @ self._weights, axis=1)]
        return chosen

    def _take(self, bits: NDArray[np.bool_], wanted: NDArray[np.bool_]) -> None:
        """Promote the weights of the set bits of a missed kind, and demote those of a wrong kind."""
        accepted = bits @ self._weights >= bits.size
        for kind in np.flatnonzero(accepted != wanted).tolist():
            self._weights[bits, kind] *= self._promotion if wanted[kind] else 1 / self._promotion

    def _bits(self, signals: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the bits above and not above each threshold, (pairs, 2 · cuts · signals)."""
        above = (signals[:, None, :] > self._thresholds).reshape(len(signals), -1)
        return np.concatenate([above, ~above], axis=1)


def _scaled(estimator: Callable[..., Any], **settings: object) -> Learner:
    learner: Learner = make_pipeline(StandardScaler(), estimator(**settings))
    return learner


LEARNERS: Mapping[str, Sequence[Callable[[], Learner]]] = {
    "naive Bayes": [partial(_scaled, GaussianNB, var_smoothing=each) for each in (1e-9, 1e-3, 1e-1)],
    "Winnow": [partial(Winnow, promotion=each) for each in (1.1, 1.5)],
    "linear SVM": [partial(_scaled, LinearSVC, C=each, max_iter=20_000) for each in (0.1, 1, 10)],
    "RBF SVM": [
        partial(_scaled, SVC, C=c, gamma=gamma) for c in (10, 100, 1000) for gamma in (0.01, 0.03, 0.1)
    ],
    "logistic regression": [
        partial(_scaled, LogisticRegression, C=each, max_iter=5_000) for each in (1, 10, 100, 1000)
    ],
    "gradient boosting": [
        partial(
            HistGradientBoostingClassifier,
            learning_rate=0.1,
            max_iter=rounds,
            max_leaf_nodes=leaves,
            random_state=SEED,
        )
        for rounds, leaves in ((100, 6), (200, 6))
    ],
}
"""Alternative settings by classifier; the learning pairs decide between them."""


def taught(name: str, reading: Reading, lesson: Lesson) -> Learner:
    """Return the learner trained on all pairs, with the best settings on left-out works."""
    signals = read(reading, lesson.pairs)
    settings = LEARNERS[name]
    works = np.array([pair.works[0] for pair in lesson.pairs])
    scores = [_score(make, signals, lesson.kinds, works) for make in settings]
    learner = settings[int(np.argmax(scores))]()
    learner.fit(signals, lesson.kinds)
    return learner


def _score(make: Callable[[], Learner], signals: Table, kinds: Names, works: Names) -> float:
    """Return the macro-F1 on left-out works, by cross-validation."""
    predicted = np.empty_like(kinds)
    for learnt, left_out in GroupKFold(FOLDS).split(signals, kinds, works):
        learner = make()
        learner.fit(signals[learnt], kinds[learnt])
        predicted[left_out] = learner.predict(signals[left_out])
    return float(f1_score(kinds, predicted, average="macro"))
