"""Texts of which is known which are copies, and how a deduplication is judged by them."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.corpus.copied_texts import LONGEST, SHORTEST, copied_texts, write_files
from bench.corpus.found_copies import found_copies
from bench.harness.corpus import CorpusBook
from bench.harness.report import CannotMeasure
from tests.api.library import prose


def book(number: int) -> CorpusBook:
    text = prose(number, 20_000)
    return CorpusBook(f"b{number}", f"w{number}", "", "", None, "en", text, None)


def test_pairs_are_counted_by_cluster_and_by_original() -> None:
    found = found_copies("aaabbc", [1, 1, 2, 3, 2, 4], [True, False, True, False, False, True])
    assert (found.true_pairs, found.found_pairs, found.right_pairs) == (4, 2, 1)
    assert (found.recall, found.precision) == (0.25, 0.5)
    # Both of b are left out; two of a are kept.
    assert (found.kept, found.originals_lost, found.copies_kept) == (3, 1, 1)


def test_made_texts_know_their_originals(tmp_path: Path) -> None:
    books = [book(1), book(2)]
    texts = copied_texts(books, "en", 60, seed=1)
    assert texts == copied_texts(books, "en", 60, seed=1)
    assert len({text.id for text in texts}) == len(texts) == 60
    originals = {text.original: text.text for text in texts if text.error_rate is None}
    for text in texts:
        assert SHORTEST * 0.9 <= len(text.text) <= LONGEST * 1.1
        if text.error_rate == 0.0 and text.original in originals:
            assert text.text == originals[text.original]
    # The tenth stretch begins in the middle of the ninth.
    assert originals[9][:500] in originals[8]
    assert originals[8][:500] not in originals[7]
    paths = write_files(texts, tmp_path, 2)
    ids = [id_ for path in paths for id_ in pq.read_table(path).column("id").to_pylist()]
    assert ids == [text.id for text in texts]


def test_too_few_books_cannot_be_measured() -> None:
    with pytest.raises(CannotMeasure, match="have no more than"):
        copied_texts([book(1)], "en", 10_000, seed=1)
