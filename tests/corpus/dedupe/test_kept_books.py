"""What is kept of a corpus whose tables were written by hand."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bookprint_corpus.dedupe.kept_books import kept_books, refused_rows, table_of
from bookprint_corpus.dedupe.sections import Keep, Same
from bookprint_corpus.tables import schema
from tests.corpus.dedupe.hand_made import write_books, write_relations

RELATIONS = (
    (1, 2, "DIFFERENT_PAGINATION", None, 0.6),
    (1, 3, "SAME_PAGINATION", None, 0.9),
    (2, 3, "OVERLAPPING_TEXT", None, 0.5),
    (3, 4, "CONTIGUOUS_SUBSET", "contains", 0.9),
    (4, 5, "UNRELATED", None, 0.0),
)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Three copies, of which two are of one printing; their first half; a book alone."""
    write_books(tmp_path, 100, 102, 101, 50, 70, external_id=["a", None, "c", "d", "e"])
    write_relations(tmp_path, *RELATIONS)
    return tmp_path


def decided(out: Path, same: Same, keep: Keep) -> list[dict[str, Any]]:
    return table_of(kept_books(str(out), same, keep), keep).to_pylist()


def kept(out: Path, same: Same, keep: Keep) -> list[bool]:
    return [row["keep"] for row in decided(out, same, keep)]


def test_one_book_of_each_text_is_kept(out: Path) -> None:
    rows = decided(out, "same-text", "best")
    assert [row["keep"] for row in rows] == [True, False, False, True, True]
    assert [row["cluster"] for row in rows] == ["a", "a", "a", "d", "e"]
    assert [row["size"] for row in rows] == [3, 3, 3, 1, 1]
    assert rows[0]["because"] == (
        "It is the best of 3 complete copies: its pages agree best with the other copies (75%). "
        "It has 100 characters, and the longest copy 102."
    )
    assert rows[1]["because"] == "It is a copy of a, which is kept."
    assert rows[3]["because"] is None


@pytest.mark.parametrize(
    ("same", "keep", "expected"),
    [
        ("same-text", "first", [True, False, False, True, True]),
        ("same-text", "longest", [False, True, False, True, True]),
        ("same-pagination", "first", [True, True, False, True, True]),
        ("same-pagination", "longest", [False, True, True, True, True]),
        ("same-pagination", "best", [True, True, False, True, True]),
        ("contained", "best", [True, False, False, False, True]),
        ("contained", "longest", [False, True, False, False, True]),
    ],
)
def test_thresholds_and_the_copy_to_keep(out: Path, same: Same, keep: Keep, expected: list[bool]) -> None:
    assert kept(out, same, keep) == expected


def test_a_part_goes_with_its_whole(out: Path) -> None:
    rows = decided(out, "contained", "longest")
    assert rows[3]["because"] == "Its text is part of shelf/1.txt, which is kept."
    assert [(row["cluster"], row["size"]) for row in rows] == [("a", 4)] * 4 + [("e", 1)]
    assert rows[1]["because"] == "It is the longest of 3 copies: 102 words."


def test_a_book_with_parts_and_no_copies_says_so(tmp_path: Path) -> None:
    write_books(tmp_path, 100, 50)
    write_relations(tmp_path, (1, 2, "OVERLAPPING_TEXT", "contains", 0.9))
    rows = decided(tmp_path, "contained", "first")
    assert [row["because"] for row in rows] == [
        "It contains the texts of all books left out for it.",
        "Its text is part of shelf/0.txt, which is kept.",
    ]


def test_a_corpus_without_relations_is_kept_as_it_is(tmp_path: Path) -> None:
    write_books(tmp_path, 10, 20)
    write_relations(tmp_path)
    assert kept(tmp_path, "contained", "best") == [True, True]


def test_what_was_refused_is_kept_with_the_reason() -> None:
    row = {"place": "a.pdf", "reason": "Damaged.", "problem": "broken-file"}
    [cells] = refused_rows(pa.Table.from_pylist([row], schema=schema("refused"))).to_pylist()
    assert (cells["place"], cells["keep"], cells["cluster"]) == ("a.pdf", True, None)
    assert cells["because"] == "It could not be compared. Damaged."


def test_a_relation_counts_where_signatures_join_the_books(out: Path) -> None:
    write_relations(out, *RELATIONS, verdicts={(1, 2): "overlap", (1, 3): "common_matter", (3, 4): "none"})
    assert kept(out, "contained", "first") == [True, False, True, True, True]
