"""The stage of relations: the rows that comparing each pair of books by itself gives."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from bookprint_core.matching.verification import evidence, verdict
from bookprint_core.model import Metadata
from bookprint_core.relations.relation import relate
from bookprint_core.text.content import content_from_pages, content_from_text
from bookprint_corpus import pair_buckets as buckets, storage
from bookprint_corpus.corpus import Corpus
from bookprint_corpus.pair_buckets import Pairs, pair_buckets, placement
from bookprint_corpus.stages import relations
from tests.core.printed_pages import book, read, set_anew
from tests.corpus.written_corpus import MadeBook, signed, write_candidates, write_sketches
from tests.made_corpus import mapped_cells, related_cells

pytestmark = pytest.mark.engine

NUMBER = 1 << 32
"""The numbers of books are large, with gaps."""

WHOLE, OTHER, PREFACE = book(24, 61), book(24, 62), book(5, 63)
SHELF = [
    MadeBook(content_from_pages(read(WHOLE, 0.02, 1)), Metadata(title="Annals 1", year=1880, volume="1")),
    MadeBook(content_from_pages(read(WHOLE, 0.02, 2)), Metadata(title="Annals 2", year=1881, volume="2")),
    MadeBook(content_from_pages(set_anew(WHOLE, 120)), Metadata(title="Annals")),
    MadeBook(content_from_pages(WHOLE[4:18])),
    MadeBook(content_from_text(" ".join(WHOLE))),
    MadeBook(content_from_pages(OTHER)),
    MadeBook(content_from_pages(read(OTHER, 0.02, 3)), has_pages=False),
    MadeBook(content_from_pages(["A word."])),
    MadeBook(content_from_pages(PREFACE + WHOLE)),
    MadeBook(content_from_pages(PREFACE + OTHER)),
]


def numbered(shelf: list[MadeBook]) -> dict[int, MadeBook]:
    return {NUMBER * (1 + number % 3) + number: each for number, each in enumerate(shelf)}


def rows_of(corpus: Corpus) -> list[dict[str, Any]]:
    """The rows of both tables, joined, by the numbers of the books."""
    found, maps = (
        storage.read(corpus.out, name).sort_by([("left", "ascending"), ("right", "ascending")]).to_pylist()
        for name in ("relations", "page_maps")
    )
    return [row | each for row, each in zip(found, maps, strict=True)]


def expected(left: int, right: int, books: dict[int, MadeBook]) -> dict[str, Any]:
    relation = relate(books[left].compared(), books[right].compared())
    mapped = {"runs": [], "pages": None} if relation.alignment is None else mapped_cells(relation)
    judged = {"verdict": verdict(evidence(signed(books[left].content), signed(books[right].content)))}
    return {"left": left, "right": right} | related_cells(relation) | mapped | judged


def test_each_pair_has_the_row_that_comparing_it_gives(corpus: Corpus) -> None:
    books = numbered(SHELF)
    pairs = list(combinations(sorted(books), 2))
    write_sketches(corpus, books)
    write_candidates(corpus, pairs)

    relations.run(corpus)

    rows = rows_of(corpus)
    assert rows == [expected(left, right, books) for left, right in pairs]
    kinds = {row["kind"] for row in rows}
    assert kinds >= {"SAME_PAGINATION", "DIFFERENT_PAGINATION", "CONTIGUOUS_SUBSET", "SAME_TEXT"}
    assert kinds >= {"UNRELATED", "INSUFFICIENT_TEXT"}
    assert {row["verdict"]: row["link"] for row in rows}["common_matter"] is None
    assert {row["verdict"] for row in rows} >= {"near_duplicate", "none"}
    left_over = storage.files(corpus.out, "work")
    assert all(file.startswith("work/tasks/") for file in left_over)


def test_a_family_of_equal_books_is_aligned_once(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_PAIRS", 50)
    described = [Metadata(title=f"Almanac {number % 3}", year=1900 + number % 2) for number in range(25)]
    content = SHELF[0].content
    books = numbered([*(MadeBook(content, each) for each in described), SHELF[1], SHELF[2]])
    pairs = list(combinations(sorted(books), 2))
    write_sketches(corpus, books)
    write_candidates(corpus, pairs)
    relations.run(corpus)
    assert rows_of(corpus) == [expected(left, right, books) for left, right in pairs]


def test_no_candidates_give_empty_tables(corpus: Corpus) -> None:
    write_sketches(corpus, numbered(SHELF[:2]))
    write_candidates(corpus, [])
    relations.run(corpus)
    assert rows_of(corpus) == []


def random_pairs(books: int, pairs: int, seed: int) -> Pairs:
    rng = np.random.default_rng(seed)
    ends = np.unique(np.sort(rng.integers(1, books, (pairs, 2)), axis=1), axis=0)
    left, right = ends[ends[:, 0] < ends[:, 1]].T
    return Pairs(left, right, left - left % 3, right - right % 3)  # three follow each other with one text


@pytest.mark.parametrize(("books", "most"), [(20_000, 64), (4_000, 64), (4_000, 1), (300, 64)])
def test_buckets_hold_each_pair_once_and_the_books_of_it(
    books: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "_COMPARISONS", 40)
    pairs = random_pairs(books, 1_200, books)
    made = pair_buckets(pairs, most)
    wanted = {*zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)}
    got = [*zip(made.pairs.left.tolist(), made.pairs.right.tolist(), strict=True)]
    assert len(got) == len(wanted)
    assert {*got} == wanted
    assert (np.diff(made.ends, prepend=0) > 0).all()
    assert made.ends[-1] == len(got)
    placed = placement(made)
    held = {*zip(placed.buckets.tolist(), placed.books.tolist(), placed.texts.tolist(), strict=True)}
    assert len(held) == placed.books.size
    start, needed = 0, set()
    for bucket, end in enumerate(made.ends.tolist()):
        part = made.pairs.take(np.arange(start, end))
        assert part.starts().sum() <= 2 * 40 * max(1, len(got) / most)
        for side, texts in ((part.left, part.left_text), (part.right, part.right_text)):
            needed |= {(bucket, *both) for both in zip(side.tolist(), texts.tolist(), strict=True)}
            needed |= {(bucket, text, text) for text in texts.tolist()}
        start = end
    assert held == needed
    if books == 20_000:  # all components are small
        assert made.ends.size > 5
        assert np.unique(placed.books).size == placed.books.size
