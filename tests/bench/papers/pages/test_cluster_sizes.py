"""Sizes of clusters by relation: counted by hand, and found in a small library."""

from pathlib import Path

from app.core.model import Metadata
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_pages
from app.synthesis.library import synthetic_library
from bench.papers.pages.cluster_sizes import Library, measure, sizes
from bench.papers.pages.found_relations import FoundRelation, clusters, found_relations, kinds_within

RELATIONS = [
    FoundRelation(0, 1, "SAME_PAGINATION", 0.9),
    FoundRelation(1, 2, "DIFFERENT_PAGINATION", 0.8),
    FoundRelation(0, 2, "DIFFERENT_PAGINATION", 0.7),
    FoundRelation(3, 4, "SAME_PAGINATION", 0.9),
    FoundRelation(4, 5, "OVERLAPPING_TEXT", 0.9),
    FoundRelation(2, 6, "UNRELATED", 1.0),
]


def test_clusters_are_joined_by_the_kinds_named() -> None:
    assert set(clusters(RELATIONS, ["SAME_PAGINATION"])) == {frozenset({0, 1}), frozenset({3, 4})}
    assert set(clusters(RELATIONS, ["DIFFERENT_PAGINATION"])) == {frozenset({0, 1, 2})}
    assert clusters(RELATIONS, ["SAME_TEXT"]) == []


def test_relations_within_a_cluster_are_counted_by_kind() -> None:
    counts = kinds_within(frozenset({0, 1, 2}), RELATIONS)
    assert counts == {"SAME_PAGINATION": 1, "DIFFERENT_PAGINATION": 2}


def test_tables_count_clusters_by_size(tmp_path: Path) -> None:
    library = Library("shelf", 10, RELATIONS)
    assert sizes(library, ["SAME_PAGINATION"]) == {2: 2}
    by_size, mixture, recovered = measure(tmp_path, [library], [0, 0, 0, 1, 1, 2, 3, 4, 5, 6]).tables
    rows = {row[0]: row[1:] for row in by_size.rows}
    assert rows["2"] == [2, 0, 1, 0]
    assert rows["3 to 5"] == [0, 1, 1, 2]
    assert rows["largest"] == [2, 3, 3, 3]
    assert rows["clusters of two per 100 books"] == [20, 0, 10, 0]
    assert rows["books in any, %"] == [40, 30, 50, 60]
    # One cluster of two of one pagination; the one of three has both, mostly of other pagination.
    assert [row[:2] + row[-2:] for row in mixture.rows[:2]] == [["2", 1, 1, 0], ["3 to 5", 1, 0, 1]]
    assert recovered.rows == [[2, 2, 2, 100]]
    assert (tmp_path / "cluster_sizes_shelf.svg").exists()


def test_copies_are_found_and_joined() -> None:
    books = list(synthetic_library(5, 2, (1, 1), (6_000, 6_000), sharing=0))
    signed = [
        (sketch(content_from_pages(book.pages)), Metadata(title=book.title, year=book.year)) for book in books
    ]
    found = clusters(found_relations(signed), ["SAME_PAGINATION", "DIFFERENT_PAGINATION"])
    true = {frozenset(n for n, book in enumerate(books) if book.work == work) for work in range(2)}
    assert set(found) == true
