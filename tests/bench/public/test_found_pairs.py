"""Drawn pairs: their labels, how they are counted, and how readers agree."""

import csv

from bench.public.found_pairs import CLASSES, LABELS, DrawnPair, answers
from bench.public.manifest import public_books


def test_labels_are_of_known_books_and_classes() -> None:
    with LABELS.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    known = {book.id for book in public_books()}
    assert len({(row["a"], row["b"]) for row in rows}) == 300
    for row in rows:
        assert all(row[side].startswith("corpus/") or row[side] in known for side in "ab")
        assert all(row[reader].split()[0] in CLASSES for reader in ("one", "two") if row[reader])


def test_answers_are_counted_by_class_and_by_what_finds_the_pair() -> None:
    pairs = [
        DrawnPair(("SAME_TEXT other", ""), "SAME_TEXT same", near=True),
        DrawnPair(("PARATEXT_ONLY", ""), "OVERLAPPING_TEXT", near=True),
        DrawnPair(("UNRELATED", ""), "OVERLAPPING_TEXT", near=False),
    ]
    rows = {row[0]: list(row[1:]) for row in answers(pairs, 0).rows}
    assert rows["SAME_TEXT"] == [1, 0, 1, 0, 0, 0]
    assert rows["UNRELATED"] == [0, 1, 0, 0, 1, 0]
    assert [str(cell).split()[0] for cell in rows["related, %"][:2]] == ["100.0", "0.0"]
    assert [str(cell).split()[0] for cell in rows["paratext alone, %"][:2]] == ["50.0", "0.0"]
