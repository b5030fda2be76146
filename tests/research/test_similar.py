"""The arithmetic of the benchmarks of similar books, on cases worked out by hand."""

import numpy as np
import pytest

from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_text
from app.core.text.normal_form import normalise
from app.core.vectors import RAREST, word_counts
from bench.harness.corpus import CorpusBook, Pair
from research.similar.gutenberg_duplicates import compared, counts, parts_of
from research.similar.learn_vectors import word_rarity
from research.similar.measures import Pairs, crossed_f1, neighbour_recall
from research.similar.methods import singular_directions
from research.similar.similar_series import series_pairs, split
from research.similar.works import Book
from tests.api.library import prose


def book(name: str, text: str = "sea", *, work: str = "", language: str = "en", author: str = "") -> Book:
    normal = normalise(content_from_text(text))
    return Book(name, work or name, name, author, language, normal, word_counts(normal))


def pair(a: str, b: str, relation: str) -> Pair:
    return Pair(a, b, relation, 0.0)  # type: ignore[arg-type]


def test_cut_off_comes_from_the_other_half() -> None:
    pairs = Pairs(
        a=np.array([0, 0, 2, 2]),
        b=np.array([1, 4, 3, 5]),
        series=np.array([True, False, True, False]),
        same_author=np.zeros(4, bool),
        half=np.array([0, 0, 1, 1]),
    )
    # half 0 is best at .9, where half 1 has nothing; half 1 is best at .5, where half 0 has both
    assert crossed_f1(np.array([0.9, 0.6, 0.5, 0.4]), pairs, np.ones(4)) == pytest.approx(2 * 1 / (2 + 2))
    assert neighbour_recall(np.array([0.1, 0.6, 0.5, 0.4]), pairs, 1) == pytest.approx((0 + 1 + 1 + 1) / 4)


def test_series_stay_in_one_half_and_translations_are_no_pairs() -> None:
    books = [book(name) for name in "abcdefgh"]
    labelled = [pair("a", "b", "series"), pair("b", "c", "series"), pair("d", "e", "translation")]
    for seed in range(5):
        halves = split(books, labelled, seed)
        assert halves[0] == halves[1] == halves[2]
        assert halves[3] == halves[4]
        assert set(halves) == {0, 1}
        found = series_pairs(books, labelled, halves)
        assert found.series.sum() == 2
        assert (3, 4) not in set(zip(found.a.tolist(), found.b.tolist(), strict=True))
        assert np.all(halves[found.a] == halves[found.b])


def test_rarity_is_that_of_the_language_where_a_word_is_most_common() -> None:
    books = [book(f"en{n}", "the sea") for n in range(4)] + [book("fr", "the mer", language="fr")]
    books += [book("fr2", "mer", language="fr")]
    hashes, rarity = word_rarity(books)
    the, sea, mer = (
        word_counts(normalise(content_from_text(word))).hashes[0] for word in ("the", "sea", "mer")
    )
    found = dict(zip(hashes.tolist(), rarity.tolist(), strict=True))
    assert found[the] == found[sea] == round(RAREST * np.log(4 / 5) / np.log(1 / 60))
    assert found[mer] == round(RAREST * np.log(2 / 3) / np.log(1 / 60))
    alone, _ = word_rarity([book("a", "sea"), book("b", "land")])
    assert alone.size == 0  # known are words of two books


def test_singular_directions_keep_products() -> None:
    rows = np.random.default_rng(3).normal(size=(6, 40)).astype(np.float32)
    projected = rows @ singular_directions(rows, 10)
    assert projected.shape == (6, 6)
    assert projected @ projected.T == pytest.approx(rows @ rows.T, abs=1e-3)


def test_parts_of_a_work_are_near_duplicates_of_it_and_are_counted_by_kind() -> None:
    whole, other = (
        CorpusBook(f"{work}", f"{work}", "", "", None, "en", prose(work, 9_000), None) for work in (1, 2)
    )
    third, rest = parts_of(whole, 3)[0], parts_of(whole, 3)[1:]
    assert third.text + "".join(part.text for part in rest) == whole.text
    sketches = [sketch(book.content) for book in (third, whole, other)]
    found = [
        compared("part", (third, whole), *sketches[:2]),
        compared("stranger", (whole, other), *sketches[1:]),
    ]
    [part, stranger] = counts(found, ["part", "stranger"])
    assert part[:3] == ["part", 1, 1]
    assert "contained_in" in str(part[4])
    assert (stranger[:4], stranger[5]) == (["stranger", 1, 0, 0], 0)
