"""What two texts share, against sets of words made by plain Python."""

from bookprint_core.signatures.exact_overlap import ExactOverlap, exact_overlap
from bookprint_core.text.content import content_from_text
from tests.api.library import prose, scanned


def runs(text: str) -> set[tuple[str, ...]]:
    words = text.lower().replace(".", "").replace(",", "").split()
    return {tuple(words[start : start + 5]) for start in range(len(words) - 4)}


def test_counts_are_those_of_the_sets_of_runs_of_five_words() -> None:
    this = "A wet wind came over the hills and a wet wind came over the sea and the hills"
    other = "Over the hills and a wet wind came over the sea, they said"
    sets = runs(this), runs(other)

    overlap = exact_overlap(content_from_text(this), content_from_text(other))

    assert (overlap.this, overlap.other, overlap.shared) == (*map(len, sets), len(sets[0] & sets[1]))
    assert overlap.jaccard == len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_it_is_the_same_from_the_other_side() -> None:
    this, other = (content_from_text(text) for text in (prose(1, 800), scanned(prose(1, 400), 1)))
    overlap, reverse = exact_overlap(this, other), exact_overlap(other, this)

    assert (overlap.this, overlap.this_in_other) == (reverse.other, reverse.other_in_this)
    assert 0 < overlap.jaccard == reverse.jaccard < overlap.other_in_this < 1


def test_texts_too_short_for_a_shingle_share_nothing() -> None:
    short = content_from_text("too short")
    overlap = exact_overlap(short, short)

    assert overlap == ExactOverlap(0, 0, 0)
    assert overlap.jaccard == overlap.this_in_other == overlap.other_in_this == 0
