"""Learned classifiers of relations: Winnow, what learners see, works kept apart, comparisons."""

from dataclasses import replace

import numpy as np
import pytest

from app.core.model import Metadata
from bench.data.book_pairs import Half
from research.relations import contenders, learners
from research.relations.contenders import learned, macro_f1, require_separate
from research.relations.learners import (
    LEARNERS,
    READINGS,
    Lesson,
    all_signals,
    published_signals,
    read,
    taught,
)
from research.relations.measured_pairs import KnownPair
from research.relations.winnow import Winnow
from tests.research.relations.pairs import pair


def lesson(prefix: str = "w") -> Lesson:
    """Two kinds that page similarity tells apart, from six works."""
    pairs = [pair(f"{prefix}{number % 6}", page_similarity=number / 48) for number in range(48)]
    return Lesson(pairs, np.array(["B" if number < 24 else "A" for number in range(48)]))


def test_winnow_learns_a_band_among_signals_that_say_nothing() -> None:
    rng = np.random.default_rng(1)
    signals = rng.random((600, 12))
    kinds = np.where((signals[:, 3] > 0.3) & (signals[:, 3] < 0.7), "within", "outside")
    learner = Winnow(cuts=9).fit(signals[:400], kinds[:400])
    assert np.mean(learner.predict(signals[400:]) == kinds[400:]) > 0.9


def test_winnow_promotes_the_bits_of_what_it_missed_and_demotes_what_was_wrong() -> None:
    # One signal and one threshold, so two bits; both weights are 1 at first, and 2 is needed to accept.
    learner = Winnow(promotion=2.0, rounds=1, cuts=1)
    learner.fit(np.array([[0.0], [1.0]]), np.array(["low", "high"]))
    # Each pair has one bit, of weight 1: each is missed once by its own kind, and nothing is wrong.
    assert learner._weights.T.tolist() == [[2, 1], [1, 2]]  # of high, of low: above, below
    assert learner.predict(np.array([[0.2], [0.9]])).tolist() == ["low", "high"]


def test_winnow_gives_the_same_for_the_same_seed() -> None:
    rng = np.random.default_rng(2)
    signals, kinds = rng.random((60, 3)), rng.choice(["a", "b", "c"], 60)
    first, second = (Winnow(seed=4).fit(signals, kinds).predict(signals) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_finds_a_threshold(name: str) -> None:
    learnt = lesson()
    signals = read(published_signals, learnt.pairs)
    learner = LEARNERS[name][-1]()
    learner.fit(signals, learnt.kinds)
    found = learner.predict(signals)
    assert np.mean(found == learnt.kinds) > 0.9


def test_settings_are_judged_on_works_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[set[float], set[float]]] = []

    class Noting:
        def fit(self, signals: learners.Table, kinds: learners.Names) -> None:
            self._learnt = set(signals[:, 1].tolist())

        def predict(self, signals: learners.Table) -> learners.Names:
            seen.append((self._learnt, set(signals[:, 1].tolist())))
            return np.full(len(signals), "A")

    monkeypatch.setattr(learners, "LEARNERS", {"noting": [Noting]})
    learnt = lesson()
    taught("noting", published_signals, learnt)
    work_of = {each.signals.page_similarity: each.works[0] for each in learnt.pairs}
    assert len(seen) == learners.FOLDS
    for learnt_from, left_out in seen:
        assert not {work_of[each] for each in learnt_from} & {work_of[each] for each in left_out}
    assert set().union(*(left_out for _, left_out in seen)) == set(work_of)


def test_signals_do_not_depend_on_the_order_and_those_of_the_paper_come_first() -> None:
    first = pair("w", (Metadata(year=1890, volume="1"), Metadata(year=1891)))
    turned = replace(first, signals=first.signals.swapped(), metadata=first.metadata[::-1])
    one, other = all_signals(first), all_signals(turned)
    assert one[6:] == other[6:]
    assert one[:6] == published_signals(first)
    assert one[-2:] == [1, 0]  # years differ; one volume is not known
    assert {len(reading(first)) for reading in READINGS.values()} == {6, 21}


def test_works_learnt_from_and_tested_may_not_meet() -> None:
    require_separate([pair("a"), pair("b")], [pair("c")])
    with pytest.raises(ValueError, match="Learnt from and tested: b"):
        require_separate([pair("a"), pair("b")], [pair("b"), pair("c")])


def test_each_half_is_tested_with_what_was_learnt_from_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {half: [KnownPair(pair(half), "A", 0.01)] for half in ("tuning", "report")}
    monkeypatch.setattr(contenders, "made", known.__getitem__)
    monkeypatch.setattr(contenders, "real", known.__getitem__)
    monkeypatch.setattr(contenders, "strangers", lambda half: [each.pair for each in known[half]])

    class Repeats:
        def __init__(self, learnt: Lesson) -> None:
            self._work = learnt.pairs[0].works[0]

        def predict(self, signals: learners.Table) -> learners.Names:
            return np.full(len(signals), self._work)

    monkeypatch.setattr(contenders, "taught", lambda name, reading, learnt: Repeats(learnt))
    halves: tuple[Half, Half] = ("tuning", "report")
    lessons = {half: Lesson([pair(half)], np.array(["A"])) for half in halves}
    found = learned("n", "learner", published_signals, lessons)
    assert found.made == ["tuning"]
    assert found.real == found.strangers == ["report", "tuning"]
    with pytest.raises(ValueError, match="Learnt from and tested"):
        learned("n", "learner", published_signals, dict(zip(halves, reversed(lessons.values()), strict=True)))


def test_interval_of_macro_f1_comes_from_works_not_pairs() -> None:
    kinds = ["SAME_PAGINATION", "DIFFERENT_PAGINATION", "CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT", "UNRELATED"]
    truth = kinds * 8
    wrong = [kind if number % 4 else "UNRELATED" for number, kind in enumerate(truth)]
    many = macro_f1(truth, wrong, [str(number) for number in range(len(truth))])
    one = macro_f1(truth, wrong, ["w"] * len(truth))
    assert macro_f1(truth, truth, list(truth)).value == 1
    assert one.low == one.high == one.value == many.value
    assert many.low < many.value < many.high
