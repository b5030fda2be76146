from collections import Counter
from collections.abc import Sequence

import pytest

from app.synthesis.library import synthetic_library
from bench.data.book_pairs import MadePair, made_pairs
from bench.data.paginated_books import halves
from bench.data.pair_layouts import RECIPES
from bench.harness.corpus import CorpusBook

WORKS = 12
RATES = (0.01, 0.10)


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
    counts = Counter((pair.truth.kind, pair.error_rate) for pair in pairs)
    assert counts == {(kind, rate): 3 for kind in RECIPES for rate in RATES}


def test_a_work_is_in_one_half_only(books: Sequence[CorpusBook], pairs: Sequence[MadePair]) -> None:
    tuning, report = (set(half.works) for half in halves(books, 1))
    assert len(tuning) == len(report) == WORKS // 2
    assert not tuning & report
    assert {work for pair in pairs for work in pair.works} <= report


def test_matching_pages_read_alike_and_differ_by_noise(pairs: Sequence[MadePair]) -> None:
    checked = 0
    for pair in pairs:
        if pair.error_rate == min(RATES):
            for i, j in pair.truth.page_map[:20]:
                words = [set(page.split()) for page in (pair.left[i], pair.right[j])]
                assert len(words[0] & words[1]) > 0.6 * min(map(len, words))
                checked += pair.left[i] != pair.right[j]
    assert checked > 100
