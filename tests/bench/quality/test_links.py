"""Which relations join books in a cluster: copies, parts, and texts that share enough."""

from pathlib import Path

import pytest

from bench.harness.corpus import corpus_books, corpus_pairs
from bookprint_core.model import Content, Metadata
from bookprint_core.relations.relation import ComparedBook, relate
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_text
from tests.api.library import prose

SHARED = prose(1, 8_000).split()
LEFT, RIGHT = prose(2, 20_000).split(), prose(3, 20_000).split()


def compared(content: Content) -> ComparedBook:
    made = sketch(content)
    return ComparedBook(made.pages, made.minhash, Metadata())


def overlapping(shared: int, own: int) -> tuple[str, float | None]:
    """The kind and the link of two texts with so many words in common and so many of their own each."""
    left, right = (
        compared(content_from_text(" ".join(SHARED[:shared] + words[:own]))) for words in (LEFT, RIGHT)
    )
    relation, turned = relate(left, right), relate(right, left)
    assert relation.link == turned.link
    return relation.classification.kind, relation.link


@pytest.mark.parametrize(
    ("shared", "own", "joined"),
    [
        (1_400, 1_400, False),  # half of it, and short
        (3_000, 3_000, True),
        (3_000, 8_000, True),
        (3_000, 17_000, False),  # long, and a small part of it
    ],
)
def test_overlapping_texts_are_joined_by_much_of_the_text_in_words_and_in_share(
    shared: int, own: int, joined: bool
) -> None:
    kind, link = overlapping(shared, own)
    assert kind == "OVERLAPPING_TEXT"
    if joined:
        assert link == pytest.approx(shared / (shared + own), abs=0.05)
    else:
        assert link is None


def test_parts_and_short_copies_are_joined_and_unrelated_books_are_not() -> None:
    whole, part, other = (
        compared(content_from_text(" ".join(words))) for words in (SHARED, SHARED[:2_400], LEFT[:2_400])
    )
    short = compared(content_from_text(" ".join(SHARED[:900])))
    assert relate(short, short).link == 1
    assert relate(whole, part).classification.direction == "contains"
    assert relate(whole, part).link == pytest.approx(1, abs=0.05)
    assert relate(whole, other).link is None


@pytest.mark.corpus
def test_labelled_books_that_overlap_are_joined(corpus: Path) -> None:
    pairs = [pair for pair in corpus_pairs(corpus) if pair.relation == "overlaps"]
    wanted = {name for pair in pairs for name in (pair.a, pair.b)}
    books = {book.id: compared(book.content) for book in corpus_books(corpus) if book.id in wanted}
    links = [relate(books[pair.a], books[pair.b]).link for pair in pairs]
    assert len(links) == 6
    assert all(link is not None and link >= 0.2 for link in links), links
