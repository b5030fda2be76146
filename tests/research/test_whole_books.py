"""The stream of derivatives of whole books, and the set of their signatures."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.data import hard_set
from bench.harness.corpus import CorpusBook
from research.identifiers import whole_books
from research.identifiers.identifiers_whole_books import set_table, verified_table
from research.identifiers.paper_sets import SignedSet, Slice
from research.identifiers.whole_books import WholeBooks, class_texts, first_derivatives, stretches


def a_book(number: int, characters: int) -> CorpusBook:
    rng = np.random.default_rng(number)
    words = ["".join(rng.choice(list("abcdefghijklmnoprstu"), rng.integers(2, 9))) for _ in range(900)]
    text = ""
    while len(text) < characters:
        text += " ".join(rng.choice(words, 12)) + ". "
    return CorpusBook(f"b{number}", f"w{number}", "", "", None, "en", text[:characters], None)


@pytest.fixture(scope="module")
def books() -> list[CorpusBook]:
    return [a_book(1, 50_000), a_book(2, 41_000), a_book(3, 90_000)]


@pytest.fixture(scope="module")
def made(books: list[CorpusBook], tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeBooks]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOKPRINT_BENCH_CACHE", str(tmp_path_factory.mktemp("sets")))
        patch.setattr(whole_books, "long_works", lambda: books)
        patch.setattr(whole_books, "MEAN", 45_000)
        patch.setattr(whole_books, "BLOCK", 3)
        yield whole_books.whole_books(24)


def equal(a: SignedSet, b: SignedSet) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in SignedSet.__slots__)


def test_a_book_is_cut_into_equal_stretches_near_the_mean_length(books: list[CorpusBook]) -> None:
    long = replace(books[0], text="x" * 1_000_001)
    parts = stretches([long, books[0]])
    assert [part.work for part in parts] == [0, 0, 0, 1]
    assert [parts[0].start, parts[2].end] == [0, 1_000_001]
    assert [part.end - part.start for part in parts] == [333_333, 333_334, 333_334, 50_000]


def test_a_class_has_1_to_15_derivatives_about_as_long_as_its_text(books: list[CorpusBook]) -> None:
    part = Slice(0, 0, 8_000)
    counts, lengths = [], []
    for number in range(30):
        canonical, *derived = class_texts(books, part, number)
        assert canonical == books[0].text[:8_000]
        counts.append(len(derived))
        lengths += map(len, derived)
    assert (min(counts), max(counts)) == (1, 15)
    assert np.mean(lengths) == pytest.approx(8_000, rel=0.01)


def test_error_rates_and_edited_shares_are_spread_evenly(
    books: list[CorpusBook], monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[float] = []
    shares: list[float] = []
    monkeypatch.setattr(hard_set, "corrupt", lambda text, rate, rng: rates.append(rate) or text)
    monkeypatch.setattr(hard_set, "edit_sentences", lambda text, share, *_: shares.append(share) or text)
    for number in range(100):
        list(class_texts(books, Slice(1, 0, 1000), number))
    assert 0 <= min(rates) < 0.001
    assert 0.049 < max(rates) <= 0.05
    assert np.mean(rates) == pytest.approx(0.025, rel=0.05)
    assert np.mean(shares) == pytest.approx(0.04, rel=0.05)
    assert max(shares) <= 0.08


def test_one_seed_makes_the_same_texts_and_another_class_others(books: list[CorpusBook]) -> None:
    part = Slice(2, 0, 5_000)
    first, again, other = (list(class_texts(books, part, number)) for number in (7, 7, 8))
    assert first == again
    assert first[1:] != other[1:]


def test_set_has_as_many_derivatives_as_asked_for_and_begins_as_a_larger_one(made: WholeBooks) -> None:
    assert np.count_nonzero(made.is_derivative) == 24
    assert made.is_derivative[-1]
    fewer = whole_books.whole_books(10)
    rows = fewer.texts.size
    assert np.array_equal(fewer.texts.gap, made.texts.gap[:rows])
    assert np.array_equal(fewer.texts.sample, made.texts.sample[: fewer.texts.sample_ends[-1]])


def test_set_that_is_made_again_has_the_same_signatures(
    made: WholeBooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOKPRINT_BENCH_CACHE", str(tmp_path))
    assert equal(whole_books.whole_books(24).texts, made.texts)


def test_classes_take_turns_at_the_stretches(made: WholeBooks) -> None:
    assert made.lengths.tolist() == [50_000, 41_000, 45_000, 45_000]
    assert made.texts.books[0] == 0
    assert (np.diff(made.texts.books) <= 1).all()
    assert np.array_equal(made.stretches, made.texts.books % 4)
    assert np.array_equal(made.texts.works, np.array([0, 1, 2, 2])[made.stretches])


def test_samples_of_joined_blocks_stay_with_their_texts(made: WholeBooks) -> None:
    row = made.texts.size - 1
    cut = first_derivatives(made.texts, 24)
    start, end = made.texts.sample_ends[row - 1 : row + 1]
    assert made.texts.sample_ends[-1] == made.texts.sample.size
    assert 0 < end - start <= 256
    assert equal(cut, made.texts)


def test_classes_of_one_work_are_not_compared(made: WholeBooks) -> None:
    rows = [int(np.flatnonzero(made.texts.books == number)[0]) for number in (2, 3, 0, 1)]
    query = np.array([rows[0], rows[0], rows[0], rows[0]])
    other = np.array([rows[0] + 1, rows[1], rows[2], rows[3]])
    assert made.compared(query, other).tolist() == [True, False, True, True]


def test_tables_count_the_set_and_what_the_rule_finds_of_it(made: WholeBooks) -> None:
    sizes = dict(zip(set_table(made).headers, set_table(made).rows[1], strict=True))
    assert (sizes["derivatives"], sizes["canonical texts"], sizes["works"]) == (24, 4, 3)
    table = verified_table(made)
    found = dict(zip(table.headers, table.rows[0], strict=True))
    assert found["precision"] == 1
    assert found["recall"] == pytest.approx(1, abs=0.05)
    assert found["false pairs of two works"] == 0
