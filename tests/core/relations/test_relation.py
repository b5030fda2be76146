"""The relation of two books: one of the classes by its definition, the same from either book."""

from dataclasses import replace

import pytest

from bookprint_core.model import Metadata
from bookprint_core.relations.classification import Kind, opposite
from bookprint_core.relations.relation import Relation, relate
from tests.core.printed_pages import BLANK, PLATE, Pages, book, candidate, read, related, set_anew, unpaged

WHOLE = book(100, 21)
OTHER = book(100, 22)
REVISED = [OTHER[page] if page % 7 == 1 else WHOLE[page] for page in range(100)]


def relation_of(left: Pages, right: Pages, rate: float = 0.02) -> Relation:
    """The relation, after a check that the other order gives the same."""
    first, second = read(left, rate, 7), read(right, rate, 8)
    relation, turned = related(first, second), related(second, first)
    assert relation.classification.kind == relation.mirrored.kind == turned.classification.kind
    assert relation.classification.direction == opposite(relation.mirrored.direction)
    assert turned.classification.direction == relation.mirrored.direction
    assert sum(relation.classification.confidences.values()) == pytest.approx(1)
    assert relation.classification.confidence == max(relation.classification.confidences.values())
    return relation


def kind(left: Pages, right: Pages, rate: float = 0.02) -> Kind:
    return relation_of(left, right, rate).classification.kind


@pytest.mark.parametrize("rate", [0.0, 0.02, 0.05, 0.10, 0.15])
def test_classes_are_the_same_at_every_rate_of_errors(rate: float) -> None:
    assert kind(WHOLE, WHOLE, rate) == "SAME_PAGINATION"
    assert kind(WHOLE, set_anew(WHOLE, 130), rate) == "DIFFERENT_PAGINATION"
    assert kind(WHOLE, WHOLE[30:80], rate) == "CONTIGUOUS_SUBSET"
    assert kind(WHOLE[:60] + OTHER[:40], WHOLE[20:60] + OTHER[60:], rate) == "OVERLAPPING_TEXT"
    assert kind(WHOLE, OTHER, rate) == "UNRELATED"


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        (OTHER[:8] + WHOLE, "SAME_PAGINATION"),
        ([PLATE, BLANK, *WHOLE[:50], PLATE, BLANK, *WHOLE[50:]], "SAME_PAGINATION"),
        (WHOLE[6:], "SAME_PAGINATION"),
        (WHOLE[:40] + WHOLE[44:], "SAME_PAGINATION"),
        (WHOLE[:40] + WHOLE[38:], "SAME_PAGINATION"),
        (WHOLE[:82], "SAME_PAGINATION"),
        (WHOLE[:78], "CONTIGUOUS_SUBSET"),
        (OTHER[:22] + WHOLE, "SAME_PAGINATION"),
        (OTHER[:30] + WHOLE, "CONTIGUOUS_SUBSET"),
        (WHOLE[:70] + OTHER[:6], "CONTIGUOUS_SUBSET"),
        (WHOLE[:70] + OTHER[:9], "OVERLAPPING_TEXT"),
        (WHOLE[:30] + WHOLE[50:90], "OVERLAPPING_TEXT"),
        (WHOLE[50:] + WHOLE[:50], "SAME_PAGINATION"),
        (set_anew(WHOLE[:90], 120), "DIFFERENT_PAGINATION"),
        (set_anew(WHOLE[:60], 120), "OVERLAPPING_TEXT"),
        (set_anew(WHOLE, 170), "DIFFERENT_PAGINATION"),
        (WHOLE[:70] + set_anew(WHOLE[70:], 120), "DIFFERENT_PAGINATION"),
        (WHOLE[:90] + set_anew(WHOLE[90:], 120), "SAME_PAGINATION"),
    ],
)
def test_each_class_ends_where_its_definition_says(right: Pages, expected: Kind) -> None:
    assert kind(WHOLE, right) == expected


def test_part_is_contained_in_the_whole_which_contains_it() -> None:
    assert relation_of(WHOLE[30:60], WHOLE).classification.direction == "contained_in"
    assert relation_of(WHOLE, WHOLE[30:60]).classification.direction == "contains"
    assert relation_of(WHOLE, WHOLE).classification.direction is None
    assert relation_of(set_anew(WHOLE[30:60], 130), WHOLE).classification.direction == "contained_in"


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (Metadata(), Metadata(), "SAME_PAGINATION"),
        (Metadata(year=1890), Metadata(year=1890), "SAME_PAGINATION"),
        (Metadata(year=1890), Metadata(year=1891), "OVERLAPPING_TEXT"),
        (Metadata(year=1890), Metadata(), "SAME_PAGINATION"),
        (Metadata(volume="1"), Metadata(volume="2"), "OVERLAPPING_TEXT"),
        (Metadata(volume="1"), Metadata(volume="1"), "SAME_PAGINATION"),
        (Metadata(title="Almanac for 1890"), Metadata(title="Almanac for 1891"), "OVERLAPPING_TEXT"),
        (Metadata(title="Almanac for 1890"), Metadata(title="An almanac, 1891"), "SAME_PAGINATION"),
    ],
)
def test_volumes_and_issues_with_revised_pages_are_not_of_one_pagination(
    left: Metadata, right: Metadata, expected: Kind
) -> None:
    first, second = candidate(read(WHOLE, 0.02, 1), left), candidate(read(REVISED, 0.02, 2), right)
    assert relate(first, second).classification.kind == relate(second, first).classification.kind == expected


def test_reprints_of_other_years_with_lost_leaves_stay_of_one_pagination() -> None:
    lost = [page for number, page in enumerate(WHOLE) if number % 14 not in (4, 5)]
    first, second = candidate(WHOLE, Metadata(year=1890)), candidate(read(lost, 0.02, 2), Metadata(year=1899))
    assert relate(first, second).classification.kind == "SAME_PAGINATION"


@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_front_or_back_matter_alone_joins_no_cluster(rate: float) -> None:
    preface, long = book(5, 23), book(30, 24, 60)
    for left, right, matter, pages in (
        (long + WHOLE[:40], long + OTHER[:50], "front matter", ((0, 30), (0, 30))),
        (preface + WHOLE[:30], [BLANK, *preface, *OTHER[:40]], "front matter", ((0, 5), (1, 6))),
        (WHOLE[:30] + preface, [*OTHER[:40], *preface, BLANK], "back matter", ((30, 35), (40, 45))),
    ):
        relation = relation_of(left, right, rate)
        assert relation.signals is not None
        shared = relation.signals.common_matter
        assert shared is not None
        assert (shared.matter, (shared.left, shared.right)) == (matter, pages)
        assert relation.signals.swapped().common_matter == shared.swapped()
        assert relation.link is None
        assert relation.classification.because.endswith(f"All of it is {matter} of both.")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (WHOLE[:30], WHOLE[:30]),
        (WHOLE[:5] + OTHER[:20], WHOLE[:5]),  # a book as short as a preface
        (WHOLE[:25] + OTHER[:30], WHOLE[:25] + OTHER[40:80]),  # a chapter
        (OTHER[:20] + WHOLE[:5] + OTHER[20:40], WHOLE[:5] + OTHER[50:90]),  # not at the same edge
        (WHOLE[:30], OTHER[:30]),
    ],
)
def test_other_shared_text_is_no_common_matter(left: Pages, right: Pages) -> None:
    signals = relation_of(left, right).signals
    assert signals is not None
    assert signals.common_matter is None


def test_pagination_stays_unknown_without_pages() -> None:
    text = " ".join(WHOLE)
    plain = unpaged(text)
    for left, right in ((plain, candidate(read(WHOLE, 0.02, 2))), (plain, unpaged(text))):
        for relation in (relate(left, right), relate(right, left)):
            assert relation.classification.kind == "SAME_TEXT"
            assert relation.alignment.unit == "window"
    part = relate(unpaged(" ".join(WHOLE[20:50])), candidate(WHOLE))
    assert (part.classification.kind, part.classification.direction) == ("OVERLAPPING_TEXT", "contained_in")
    assert relate(plain, candidate(OTHER)).classification.kind == "UNRELATED"


def test_too_little_text_says_nothing() -> None:
    whole = candidate(WHOLE)
    for scarce in (candidate([PLATE]), candidate(["few words only"] * 40), replace(whole, pages=None)):
        for relation in (relate(scarce, whole), relate(whole, scarce)):
            assert relation.classification.kind == relation.mirrored.kind == "INSUFFICIENT_TEXT"
            assert relation.classification.confidences == {"INSUFFICIENT_TEXT": 1}
    assert relate(scarce, scarce).classification.kind == "INSUFFICIENT_TEXT"


def test_missing_minhash_leaves_the_relation_as_it_is() -> None:
    first, second = candidate(WHOLE), candidate(read(WHOLE, 0.02, 2))
    relation = relate(replace(first, minhash=None), second)
    assert relation.signals.book_similarity == 0
    assert relation.classification.kind == "SAME_PAGINATION"
