"""The arithmetic of the benchmarks of similar books, on cases worked out by hand."""

import numpy as np

from bench.harness.corpus import CorpusBook, Pair
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import normalise
from bookprint_core.vectors import word_counts
from research.similar.gutenberg_duplicates import compared, counts, parts_of
from research.similar.similar_series import series_pairs, split
from research.similar.works import Book
from tests.api.library import prose


def book(name: str, text: str = "sea", *, work: str = "", language: str = "en", author: str = "") -> Book:
    normal = normalise(content_from_text(text))
    return Book(name, work or name, name, author, language, normal, word_counts(normal))


def pair(a: str, b: str, relation: str) -> Pair:
    return Pair(a, b, relation, 0.0)  # type: ignore[arg-type]


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
