"""What a volume contains: works and passages with their pages, in order, and the gaps between them."""

from collections.abc import Sequence
from itertools import accumulate, combinations, pairwise
from random import Random
from uuid import UUID

import numpy as np

from bookprint_core.relations.alignment import Alignment, concatenated
from bookprint_core.relations.related import PageMatches
from bookprint_core.relations.volume import SharingBook, Span, VolumePart, parts_of, spans_of
from tests.core.printed_pages import Pages, book, read, related, set_anew

Outline = list[tuple[str, Span, list[int], int]]
A, B, C = (UUID(int=number) for number in (1, 2, 3))


def shared(
    book_id: UUID,
    *runs: tuple[int, int, int],
    contained: bool = False,
    founder: UUID | None = None,
    share: float = 0.5,
) -> SharingBook:
    """A book with runs of pages: the first of the volume, the first of the book, and how many."""
    pairs = np.array(
        [(left + page, right + page) for left, right, count in runs for page in range(count)], dtype=np.int32
    )
    bounds = [((left, left + count), (right, right + count)) for left, right, count in runs]
    matches = PageMatches("page", bounds, pairs, np.ones(len(pairs)), None, None)
    return SharingBook(book_id, founder or book_id, contained, share, matches)


def outline(page_count: int, *sharings: SharingBook) -> Outline:
    parts = parts_of(page_count, sharings)
    return [
        (part.kind, part.pages, [each.book_id.int for each in part.sources], part.level) for part in parts
    ]


def test_parts_come_in_order_with_the_gaps_between_them() -> None:
    work, passage = shared(A, (40, 0, 20), contained=True), shared(B, (10, 70, 15))

    assert outline(100, work, passage) == [
        ("gap", (0, 10), [], 0),
        ("passage", (10, 25), [2], 0),
        ("gap", (25, 40), [], 0),
        ("work", (40, 60), [1], 0),
        ("gap", (60, 100), [], 0),
    ]
    [part] = [part for part in parts_of(100, [passage]) if part.kind == "passage"]
    assert part.sources[0].pages == (70, 85)
    assert spans_of(passage) == [((10, 25), (70, 85))]


def test_volume_of_which_nothing_is_known_has_no_parts() -> None:
    assert outline(100) == []
    assert outline(100, shared(A), shared(B, (5, 9, 2))) == []


def test_copies_of_a_work_are_one_part_that_names_the_fullest_and_other_texts_beside_it() -> None:
    copies = [
        shared(A, (10, 0, 19), contained=True, founder=A, share=0.93),
        shared(B, (10, 2, 20), contained=True, founder=A, share=0.99),
        shared(C, (9, 0, 21), contained=True, share=0.95),
    ]

    assert outline(30, *copies) == [("gap", (0, 10), [], 0), ("work", (10, 30), [2, 3], 0)]


def test_work_within_a_work_is_named_below_it_and_works_may_overlap() -> None:
    tales = shared(A, (0, 0, 60), contained=True)
    tale = shared(B, (20, 0, 15), contained=True)
    selection = shared(C, (50, 0, 30), contained=True)

    assert outline(80, tale, selection, tales) == [
        ("work", (0, 60), [1], 0),
        ("work", (20, 35), [2], 1),
        ("work", (50, 80), [3], 0),
    ]


def test_passage_is_named_only_where_no_work_is() -> None:
    volume, work = shared(A, (0, 30, 50)), shared(B, (20, 0, 15), contained=True)

    assert outline(50, volume, work) == [
        ("passage", (0, 20), [1], 0),
        ("work", (20, 35), [2], 0),
        ("passage", (35, 50), [1], 0),
    ]
    assert outline(50, volume, shared(B, (1, 0, 48), contained=True)) == [("work", (1, 49), [2], 0)]


def test_passages_end_where_another_text_begins_and_near_ends_are_one() -> None:
    passages = [
        shared(A, (0, 10, 40), share=0.9),
        shared(B, (20, 0, 30), share=0.5),
        shared(C, (1, 5, 18), share=0.2),
    ]

    assert outline(50, *passages) == [
        ("passage", (0, 19), [1, 3], 0),
        ("passage", (20, 40), [1, 2], 0),
        ("passage", (40, 50), [2], 0),
    ]
    assert outline(40, shared(A, (0, 0, 36)), shared(B, (0, 5, 40))) == [("passage", (0, 40), [1, 2], 0)]


def test_text_that_does_not_go_on_alike_in_both_books_is_two_passages() -> None:
    inserted = shared(A, (0, 0, 10), (16, 10, 10))
    elsewhere = shared(A, (0, 50, 10), (10, 0, 10))

    assert [pages for _, pages, _, _ in outline(26, inserted)] == [(0, 10), (10, 16), (16, 26)]
    assert [pages for _, pages, _, _ in outline(20, elsewhere)] == [(0, 10), (10, 20)]
    assert [pages for _, pages, _, _ in outline(34, shared(A, (0, 0, 10), (24, 25, 10)))] == [(0, 34)]


def test_pages_with_the_same_quotations_are_no_passage() -> None:
    sharing = shared(A, (0, 0, 10), (20, 50, 10))
    sharing.matches.similarities[10:] = 0.4

    assert outline(30, sharing) == [("passage", (0, 10), [1], 0), ("gap", (10, 30), [], 0)]


def test_contained_book_that_is_scattered_is_no_work() -> None:
    scattered = shared(A, (0, 0, 10), (30, 10, 10), contained=True)

    assert [kind for kind, *_ in outline(40, scattered)] == ["passage", "gap", "passage"]


def test_works_of_volumes_that_are_badly_read_are_named_within_a_page() -> None:
    rng = Random(7)
    works = [book(rng.randint(6, 24), seed) for seed in range(100, 118)]
    chosen = [rng.sample(range(18), rng.randint(2, 7)) for _ in range(8)]
    alone = {work: read(set_anew(works[work], rng.randint(150, 260)), 0.03, work) for work in range(0, 18, 2)}
    volumes, truth = [], []
    for number, inside in enumerate(chosen):
        words = rng.randint(140, 240)
        printed = [set_anew(works[work], words) for work in inside]
        ends = [0, *accumulate(map(len, printed))]
        truth.append(dict(zip(inside, pairwise(ends), strict=True)))
        volumes.append(read([page for pages in printed for page in pages], rng.uniform(0, 0.05), number))
    sharings: list[list[SharingBook]] = [[] for _ in volumes]
    for number, volume in enumerate(volumes):
        for work, pages in alone.items():
            sharings[number] += _sharing(UUID(int=100 + work), volume, pages)
    for one, other in combinations(range(len(volumes)), 2):
        sharings[one] += _sharing(UUID(int=other), volumes[one], volumes[other])
        sharings[other] += _sharing(UUID(int=one), volumes[other], volumes[one])

    known = named = 0
    for number, volume in enumerate(volumes):
        parts = [part for part in parts_of(len(volume), sharings[number]) if part.kind != "gap"]
        for work, place in truth[number].items():
            elsewhere = any(work in inside for other, inside in enumerate(chosen) if other != number)
            if work in alone or elsewhere:
                known += 1
                named += any(_is_of(part, work, place, chosen) for part in parts)
        assert all(any(_is_of(part, *item, chosen) for item in truth[number].items()) for part in parts)
    assert named == known > 25


def _sharing(book_id: UUID, volume: Pages, other: Pages) -> list[SharingBook]:
    relation = related(volume, other)
    found = relation.classification
    if found.kind == "UNRELATED":
        return []
    assert relation.alignment is not None
    assert relation.signals is not None
    matches = _matches(relation.alignment)
    contained = found.direction == "contains"
    return [SharingBook(book_id, book_id, contained, relation.signals.text_shared.right, matches)]


def _matches(alignment: Alignment) -> PageMatches:
    every = concatenated(alignment.runs)
    runs = [(run.left, run.right) for run in alignment.runs]
    return PageMatches("page", runs, every.pairs.astype(np.int32), every.similarities, None, None)


def _is_of(part: VolumePart, work: int, pages: Span, chosen: Sequence[Sequence[int]]) -> bool:
    """Whether a part is at most a page away from these, and all its books have the work."""
    near = all(abs(page - true) <= 1 for page, true in zip(part.pages, pages, strict=True))
    ids = [source.book_id.int for source in part.sources]
    return near and all(each == 100 + work if each >= 100 else work in chosen[each] for each in ids)
