from collections import Counter
from collections.abc import Sequence

import pytest

from app.synthesis.library import synthetic_library
from bench.data.book_pairs import KINDS, MadePair, halves, made_pairs
from bench.harness.corpus import CorpusBook
from bookprint_core.relations.relation import relate

WORKS = 12
RATES = (0.01, 0.05)


@pytest.fixture(scope="module")
def books() -> list[CorpusBook]:
    library = synthetic_library(3, WORKS, copies=(0, 0), characters=(160_000,) * 2)
    return [
        CorpusBook(each.id, str(each.work), each.title, each.author, each.year, "en", each.text, each.pages)
        for each in library
    ]


@pytest.fixture(scope="module")
def pairs(books: Sequence[CorpusBook]) -> list[MadePair]:
    return list(made_pairs(books, "report", 6, 1, RATES))


def test_every_class_has_as_many_pairs_at_every_error_rate(pairs: Sequence[MadePair]) -> None:
    counts = Counter((pair.kind, pair.error_rate) for pair in pairs)
    assert counts == {(kind, rate): 3 for kind in KINDS for rate in RATES}


def test_a_work_is_in_one_half_only(books: Sequence[CorpusBook], pairs: Sequence[MadePair]) -> None:
    tuning, report = (set(half) for half in halves(books, 1))
    assert len(tuning) == len(report) == WORKS // 2
    assert not tuning & report
    assert {work for pair in pairs for work in pair.works} <= report


def test_a_pair_is_what_it_was_made_to_be(pairs: Sequence[MadePair]) -> None:
    found = [relate(*pair.compared()).classification for pair in pairs]
    right = [
        (each.kind, each.direction) == (pair.kind, pair.direction)
        for each, pair in zip(found, pairs, strict=True)
    ]
    assert sum(right) >= 27, [(p.kind, f.kind) for p, f in zip(pairs, found, strict=True)]
    assert {pair.left == pair.right for pair in pairs} == {False}
