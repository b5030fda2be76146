"""Recipes for pairs of books: each draws two books from a shelf and lays out their leaves.

A recipe aims at a class, and often at its border; what the pair is, `bench.data.pair_truth` counts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.data.paginated_books import Shelf, Source
from bench.data.pair_truth import Leaf

BODY = (80, 300)
"""Pages of a book's main text, as far as its source has so many."""
BORDER = (0.10, 0.30)
"""Share of extra or missing matter in borderline pairs."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Two books before they are scanned, and what a catalogue says of them."""

    left: list[Leaf]
    right: list[Leaf]
    main: tuple[Source, Source]  # whose title and author each book bears
    years: tuple[int, int]
    volumes: tuple[str | None, str | None] = (None, None)


Recipe = Callable[[Shelf, np.random.Generator], Draft]


def reprint(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """From the same plates, with up to 6 % of front matter of its own on each side."""
    source, first, end = _body(shelf, rng)
    body = source.leaves(first, end)
    left, right = (_fronted(shelf, source, body, rng.uniform(0, 0.06), rng) for _ in range(2))
    return _draft(left, right, source, rng)


def reprint_with_extra_matter(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """From the same plates, with a tenth to three tenths of extra matter in one book or both."""
    source, first, end = _body(shelf, rng)
    body = source.leaves(first, end)
    sides = [body, body]
    for side in (0, 1) if rng.random() < 0.3 else (0,):
        sides[side] = _with_extra(shelf, source, body, rng.uniform(*BORDER), rng)
    left, right = sides
    return _draft(left, right, source, rng)


def imperfect_reprint(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """From the same plates; of one copy a tenth to three tenths is missing, at an end or in some places."""
    source, first, end = _body(shelf, rng)
    body = source.leaves(first, end)
    lost = round(len(body) * rng.uniform(*BORDER))
    if rng.random() < 0.6:
        copy = body[lost:] if rng.random() < 0.5 else body[: len(body) - lost]
    else:
        copy = list(body)
        places = int(rng.integers(2, 6))
        for _ in range(places):
            at = int(rng.integers(0, len(copy) - lost // places))
            del copy[at : at + lost // places]
    return _draft(body, copy, source, rng)


def partly_reset(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """From the same plates, but 5 to 45 % of the pages, in one place, were set again."""
    source, first, end = _body(shelf, rng)
    count = round((end - first) * rng.uniform(0.05, 0.45))
    at = int(rng.integers(first, end - count + 1))
    reset = _reflowed(source, at, at + count, _other_size(rng, 0.6, 1.6), rng)
    body = source.leaves(first, at) + reset + source.leaves(at + count, end)
    return _draft(source.leaves(first, end), body, source, rng)


def reflowed(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """Reset with pages of half to twice the size, with up to 8 % of front matter of its own."""
    source, first, end = _body(shelf, rng)
    body = _reflowed(source, first, end, _other_size(rng, 0.5, 2), rng)
    right = _fronted(shelf, source, body, rng.uniform(0, 0.08), rng)
    return _draft(source.leaves(first, end), right, source, rng)


def reflowed_at_near_size(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """Reset with pages 0.9 to 1.1 times the size."""
    source, first, end = _body(shelf, rng)
    body = _reflowed(source, first, end, rng.uniform(0.9, 1.1), rng)
    return _draft(source.leaves(first, end), body, source, rng)


def shifted(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """Every page break a quarter to three quarters of a page later."""
    source, first, end = _body(shelf, rng)
    bounds = source.starts[first : end + 1].astype(float)
    shift = rng.uniform(0.25, 0.75)
    cuts = [bounds[0], *(bounds[:-1] + shift * np.diff(bounds)), bounds[-1]]
    return _draft(source.leaves(first, end), source.reflowed(cuts), source, rng)


def drifting(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """Every chapter starts at a page as before; within it the breaks drift by up to 8 % of a page each."""
    source, first, end = _body(shelf, rng)
    ratio = _other_size(rng, 0.92, 1.08)
    body: list[Leaf] = []
    while first < end:
        stop = min(end, first + int(rng.integers(8, 31)))
        body += _reflowed(source, first, stop, ratio, rng)
        first = stop
    start = int(np.searchsorted(source.starts, body[0].pieces[0].start, side="right")) - 1
    return _draft(source.leaves(start, end), body, source, rng)


def reflowed_with_extra_matter(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """Reset, with a tenth to three tenths of extra matter."""
    source, first, end = _body(shelf, rng)
    body = _reflowed(source, first, end, _other_size(rng, 0.5, 2), rng)
    right = _with_extra(shelf, source, body, rng.uniform(*BORDER), rng)
    return _draft(source.leaves(first, end), right, source, rng)


def volume_of_a_whole(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """A tenth to 79 % of a book from the same plates, with up to 8 % of front matter of its own."""
    return _volume(shelf, rng, rng.uniform(0.10, 0.79), rng.uniform(0, 0.08))


def volume_of_most(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """70 to 90 % of a book, around the line between a part and a copy with leaves missing."""
    return _volume(shelf, rng, rng.uniform(0.70, 0.90), rng.uniform(0, 0.05))


def volume_with_own_matter(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """A part with 3 to 17 % of matter of its own, around the tenth that a part may have."""
    return _volume(shelf, rng, rng.uniform(0.15, 0.79), rng.uniform(0.03, 0.17))


def shared_story(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """Two collections that share a story of 5 to 60 % of each, half of the time reset."""
    source, first, end = _body(shelf, rng)
    story = max(6, round((end - first) * rng.uniform(0.3, 0.6)))
    at = int(rng.integers(first, end - story + 1))
    collections = []
    for reset in (False, rng.random() < 0.5):
        if reset:
            shared = _reflowed(source, at, at + story, _other_size(rng, 0.5, 2), rng)
        else:
            shared = source.leaves(at, at + story)
        rest = _foreign(shelf, source, len(shared) * (1 / rng.uniform(0.05, 0.6) - 1), rng)
        place = int(rng.integers(0, len(rest) + 1))
        collections.append(rest[:place] + shared + rest[place:])
    left, right = collections
    return _draft(left, right, source, rng)


def reflowed_part(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """A tenth to 79 % of a book, reset."""
    source, first, end = _body(shelf, rng)
    count = round((end - first) * rng.uniform(0.10, 0.79))
    at = int(rng.integers(first, end - count + 1))
    part = _reflowed(source, at, at + count, _other_size(rng, 0.5, 2), rng)
    return _draft(source.leaves(first, end), part, source, rng)


def added_matter(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """Over a fifth of either book is matter of its own; half of the time the common text is reset."""
    source, first, end = _body(shelf, rng)
    body = source.leaves(first, end)
    other = _reflowed(source, first, end, _other_size(rng, 0.5, 2), rng) if rng.random() < 0.5 else body
    left, right = (_with_extra(shelf, source, text, rng.uniform(0.21, 0.5), rng) for text in (body, other))
    return _draft(left, right, source, rng)


def yearly(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """The next issue of an annual: 22 to 75 % of the pages were revised and keep 0 to 60 % of their text."""
    source, first, end = _body(shelf, rng)
    body = source.leaves(first, end)
    written = _foreign(shelf, source, len(body), rng)
    revised = rng.permutation(min(len(body), len(written)))[: round(len(body) * rng.uniform(0.22, 0.75))]
    issue = list(body)
    for place in revised.tolist():
        issue[place] = _revised(body[place], written[place], rng.uniform(0, 0.6), rng)
    year = source.year + int(rng.integers(0, 40))
    return Draft(body, issue, (source, source), (year, year + int(rng.integers(1, 4))))


def anthologies(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """Two anthologies with three to six pieces in common, in another order, 20 to 75 % of each."""
    count = int(rng.integers(3, 7))
    first = shelf.any(rng)
    sources = [first, *shelf.others(count - 1, [first], rng)]
    pieces = []
    for source in sources:
        size = min(source.page_count, int(rng.integers(8, 41)))
        at = int(rng.integers(0, source.page_count - size + 1))
        pieces.append(source.leaves(at, at + size))
    pages = sum(map(len, pieces))
    sides = []
    for _ in range(2):
        own = _foreign(shelf, first, pages * (1 / rng.uniform(0.2, 0.75) - 1), rng, sources)
        bounds = np.linspace(0, len(own), count + 1).astype(int).tolist()
        order = rng.permutation(count).tolist()
        sides.append(
            [
                leaf
                for place, piece in enumerate(order)
                for leaf in own[bounds[place] : bounds[place + 1]] + pieces[piece]
            ]
        )
    left, right = sides
    return _draft(left, right, first, rng)


def other_work(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """Books of two works, of one author or at least of one language where possible; some with the same
    publisher's list."""
    source, first, end = _body(shelf, rng)
    unrelated = shelf.others(len(shelf.works), [source], rng)
    other = next((each for each in unrelated if source.author and each.author == source.author), unrelated[0])
    size = min(other.page_count, int(rng.integers(BODY[0], BODY[1] + 1)))
    at = int(rng.integers(0, other.page_count - size + 1))
    left, right = source.leaves(first, end), other.leaves(at, at + size)
    _advertise(shelf, left, right, [source, other], rng)
    return Draft(left, right, (source, other), (source.year, other.year))


def next_volume(shelf: Shelf, rng: np.random.Generator) -> Draft:
    """Two volumes of one work that share no page but, in some, a publisher's list."""
    source, first, end = _body(shelf, rng)
    cut = round(first + (end - first) * rng.uniform(0.35, 0.65))
    left, right = source.leaves(first, cut), source.leaves(cut, end)
    _advertise(shelf, left, right, [source], rng)
    return Draft(left, right, (source, source), (source.year, source.year), ("1", "2"))


def _body(shelf: Shelf, rng: np.random.Generator) -> tuple[Source, int, int]:
    """A source and consecutive pages of it."""
    source = shelf.any(rng)
    size = min(source.page_count, int(rng.integers(BODY[0], BODY[1] + 1)))
    first = int(rng.integers(0, source.page_count - size + 1))
    return source, first, first + size


def _advertise(
    shelf: Shelf, left: list[Leaf], right: list[Leaf], sources: list[Source], rng: np.random.Generator
) -> None:
    """Adds the same page to both books, half of the time where that is at most a fiftieth of them."""
    if min(len(left), len(right)) >= 50 and rng.random() < 0.5:
        smaller = min(sources, key=lambda source: len(source.text) / source.page_count)
        page = _foreign(shelf, smaller, 1, rng, sources)
        left += page
        right += page


def _draft(left: list[Leaf], right: list[Leaf], source: Source, rng: np.random.Generator) -> Draft:
    """Two printings of one work, in the same year or up to 40 years apart."""
    years = source.year + rng.integers(0, 41, 2) * rng.integers(0, 2, 2)
    return Draft(left, right, (source, source), (int(years[0]), int(years[1])))


def _volume(shelf: Shelf, rng: np.random.Generator, share: float, own: float) -> Draft:
    """So much of a book from the same plates, `own` of it front matter of its own; volumes have numbers."""
    source, first, end = _body(shelf, rng)
    count = round((end - first) * share)
    at = int(rng.choice([first, end - count, int(rng.integers(first, end - count + 1))]))
    part = _fronted(shelf, source, source.leaves(at, at + count), own, rng)
    whole = _fronted(shelf, source, source.leaves(first, end), rng.uniform(0, 0.04), rng)
    draft = _draft(whole, part, source, rng)
    volume = str(rng.integers(1, 5)) if rng.random() < 0.5 else None
    return Draft(draft.left, draft.right, draft.main, draft.years, (None, volume))


def _other_size(rng: np.random.Generator, smallest: float, largest: float) -> float:
    """A page size, relative to the source's, on a logarithmic scale."""
    return float(np.exp(rng.uniform(np.log(smallest), np.log(largest))))


def _reflowed(source: Source, first: int, end: int, ratio: float, rng: np.random.Generator) -> list[Leaf]:
    """These pages' text on pages `ratio` times as long as they are on the average."""
    start, stop = float(source.starts[first]), float(source.starts[end])
    return source.reflowed(source.even_cuts(start, stop, ratio * (stop - start) / (end - first), rng))


def _fronted(
    shelf: Shelf, source: Source, body: list[Leaf], share: float, rng: np.random.Generator
) -> list[Leaf]:
    """The body after front matter that makes up `share` of the book."""
    return _foreign(shelf, source, len(body) * share / (1 - share), rng) + body


def _with_extra(
    shelf: Shelf, source: Source, body: list[Leaf], share: float, rng: np.random.Generator
) -> list[Leaf]:
    """The body with extra matter, `share` of the book: in front, behind, both, or in some places within."""
    extra = _foreign(shelf, source, len(body) * share / (1 - share), rng)
    match int(rng.integers(4)):
        case 0:
            return extra + body
        case 1:
            return body + extra
        case 2:
            cut = int(rng.integers(0, len(extra) + 1))
            return extra[:cut] + body + extra[cut:]
    count = int(rng.integers(1, 5))
    places = [0, *sorted(rng.integers(0, len(body) + 1, count).tolist()), len(body)]
    cuts = np.linspace(0, len(extra), count + 1).astype(int).tolist()
    mixed = list(body[: places[1]])
    for each in range(count):
        mixed += extra[cuts[each] : cuts[each + 1]] + body[places[each + 1] : places[each + 2]]
    return mixed


def _foreign(
    shelf: Shelf,
    like: Source,
    pages: float,
    rng: np.random.Generator,
    known: list[Source] | None = None,
) -> list[Leaf]:
    """About so many pages of other works, of one language with `like` if possible, and of its size."""
    characters = len(like.text) / like.page_count
    wanted = round(pages) * characters
    leaves: list[Leaf] = []
    for source in shelf.others(8, known or [like], rng):
        if wanted < characters / 2:
            break
        length = min(wanted, float(len(source.text)))
        start = rng.uniform(0, len(source.text) - length)
        leaves += source.reflowed(source.even_cuts(start, start + length, characters, rng))
        wanted -= length
    return leaves


def _revised(page: Leaf, written: Leaf, kept: float, rng: np.random.Generator) -> Leaf:
    """The page with `kept` (0 to 1) of its text, cut at one place, and other text in place of the rest."""
    if not page.pieces or not written.pieces:
        return page
    old, fresh = page.pieces[0], written.pieces[0]
    gone = round((1 - kept) * (old.end - old.start))
    at = old.start + int(rng.integers(0, old.end - old.start - gone + 1))
    before, after = old._replace(end=at), old._replace(start=at + gone)
    return Leaf((before, fresh._replace(end=min(fresh.end, fresh.start + gone)), after))


RECIPES: dict[str, tuple[Recipe, ...]] = {
    "SAME_PAGINATION": (reprint, reprint, reprint_with_extra_matter, imperfect_reprint, partly_reset),
    "DIFFERENT_PAGINATION": (
        reflowed,
        reflowed_at_near_size,
        shifted,
        drifting,
        reflowed_with_extra_matter,
    ),
    "CONTIGUOUS_SUBSET": (volume_of_a_whole, volume_of_a_whole, volume_of_most, volume_with_own_matter),
    "OVERLAPPING_TEXT": (shared_story, reflowed_part, added_matter, yearly, anthologies),
    "UNRELATED": (other_work, next_volume),
}
"""The recipes by the class they aim at."""
