"""The relations of real pairs: readings of the same scans, and works that are not the same."""

from functools import cache
from pathlib import Path

import pytest

from app.core.model import Metadata
from app.core.relations.relation import REVISED_LINES, ComparedBook, Relation, relate
from app.core.relations.revision import changed_lines
from app.core.signatures.sketch import sketch
from bench.data.book_pairs import RealPair, real_pairs
from bench.harness.corpus import CorpusBook, corpus_books, corpus_pairs

pytestmark = pytest.mark.corpus


@cache
def _pairs(folder: Path) -> list[RealPair]:
    return list(real_pairs(list(corpus_books(folder)), corpus_pairs(folder)))


def _related(pair: RealPair) -> Relation:
    return relate(_candidate(pair.left), _candidate(pair.right))


def _candidate(book: CorpusBook) -> ComparedBook:
    made = sketch(book.content)
    return ComparedBook(made.pages, made.minhash, Metadata(title=book.title, year=book.year))


def test_readings_of_the_same_scans_are_of_one_pagination(corpus: Path) -> None:
    scans = [pair for pair in _pairs(corpus) if pair.label == "same scans"]
    kinds = {(pair.left.id, pair.right.id): _related(pair).classification.kind for pair in scans}
    assert len(kinds) == 19
    assert set(kinds.values()) == {"SAME_PAGINATION"}, kinds


def test_readings_of_the_same_scans_are_no_other_issues(corpus: Path) -> None:
    shares: dict[tuple[str, str], float] = {}
    for pair in (each for each in _pairs(corpus) if each.label == "same scans"):
        alignment = _related(pair).alignment
        assert alignment is not None
        share = changed_lines(pair.left.content, pair.right.content, alignment)
        assert share is not None
        shares[pair.left.id, pair.right.id] = share
    assert len(shares) == 19
    assert max(shares.values()) < REVISED_LINES, shares


@pytest.mark.parametrize("label", ["series", "different", "translation"])
def test_other_works_are_unrelated_unless_they_quote_each_other(corpus: Path, label: str) -> None:
    pairs = [pair for pair in _pairs(corpus) if pair.label == label]
    relations = [(pair, _related(pair)) for pair in pairs]
    wrong = [
        (pair.left.id, pair.right.id, relation.classification.kind)
        for pair, relation in relations
        if relation.classification.kind not in ("UNRELATED", "OVERLAPPING_TEXT")
    ]
    assert pairs
    assert not wrong
    quoting = [pair for pair, relation in relations if relation.classification.kind == "OVERLAPPING_TEXT"]
    assert all((pair.containment or 0) > 0.03 for pair in quoting)
