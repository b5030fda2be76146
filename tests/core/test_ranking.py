"""Evidence, and when it makes a near-duplicate."""

import pytest

from app.core.errors import RecipeMismatch
from app.core.model import Fingerprint, MinHashSignature, Sketch
from app.core.ranking import VERIFICATION, Evidence, evidence, is_near_duplicate
from app.core.sketch import sketch
from app.core.text import content_from_text
from tests.vectors import texts

WORDS = texts.text("latin", 12_000, 1).split()
OTHER = texts.text("latin", 12_000, 2).split()


def of(words: list[str]) -> Sketch:
    return sketch(content_from_text(" ".join(words)))


def test_book_is_a_near_duplicate_of_itself() -> None:
    book = of(WORDS)
    found = evidence(book, book)
    assert found == Evidence(0, 128, 1.0, 1.0, 1.0)
    assert is_near_duplicate(found)


def test_book_without_relation_is_none() -> None:
    found = evidence(of(WORDS), of(OTHER))
    assert found.distance is not None
    assert found.distance > VERIFICATION.distance
    assert not is_near_duplicate(found)


def test_part_of_a_book_is_a_near_duplicate_by_containment() -> None:
    found = evidence(of(WORDS[:4000]), of(WORDS))
    assert found.this_in_other is not None
    assert found.other_in_this is not None
    assert found.this_in_other > 0.7 > found.other_in_this
    assert is_near_duplicate(found)


def test_evidence_is_told_from_the_side_of_the_first_book() -> None:
    part, whole = of(WORDS[:4000]), of(WORDS)
    one, other = evidence(part, whole), evidence(whole, part)
    assert (one.this_in_other, one.other_in_this) == (other.other_in_this, other.this_in_other)


def test_missing_signatures_leave_their_evidence_open() -> None:
    book, tiny = of(WORDS), of(["only", "four", "words", "here"])
    assert evidence(book, tiny) == Evidence(None, None, None, None, None)
    assert not is_near_duplicate(evidence(book, tiny))


@pytest.mark.parametrize(
    ("distance", "equal", "containment", "near"),
    [
        (VERIFICATION.distance_alone, 0, 0.0, True),
        (VERIFICATION.distance_alone, None, None, True),
        (VERIFICATION.distance_alone + 1, 0, 0.0, False),
        (VERIFICATION.distance_alone + 1, None, None, False),
        (VERIFICATION.distance, VERIFICATION.kin, 0.0, True),
        (VERIFICATION.distance, VERIFICATION.kin - 1, 0.0, False),
        (VERIFICATION.distance + 1, VERIFICATION.kin, 0.0, False),
        (VERIFICATION.distance + 1, VERIFICATION.kin, VERIFICATION.containment, True),
        (None, VERIFICATION.kin, VERIFICATION.containment, True),
        (None, VERIFICATION.kin - 1, 1.0, False),
        (None, None, None, False),
    ],
)
def test_rule_asks_for_two_witnesses_or_a_close_fingerprint(
    distance: int | None, equal: int | None, containment: float | None, near: bool
) -> None:
    shared = None if equal is None else equal / 128
    assert is_near_duplicate(Evidence(distance, equal, shared, containment, containment)) is near
    one_way = Evidence(distance, equal, shared, 0.0 if containment is not None else None, containment)
    assert is_near_duplicate(one_way) is near


@pytest.mark.parametrize("part", ["fingerprint", "minhash"])
def test_signatures_of_two_recipes_are_not_compared(part: str) -> None:
    book = of(WORDS)
    assert book.fingerprint is not None
    assert book.minhash is not None
    fingerprint, minhash = book.fingerprint, book.minhash
    if part == "fingerprint":
        fingerprint = Fingerprint("tf-simhash128-v1", fingerprint.bits)
    else:
        minhash = MinHashSignature("word5-minhash128-v2", minhash.values, minhash.shingle_count)
    with pytest.raises(RecipeMismatch):
        evidence(book, Sketch(fingerprint, minhash, None, 1, 1, None))
