"""Recipes for pairs of books: each draws two books from a shelf and lays out their leaves.

A recipe aims at a class, and often at its border; what the pair is, `bench.data.pair_truth` counts.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bench.data.paginated_books import Shelf, Source
from bench.data.pair_truth import Leaf

Leaves = list[Leaf]

BODY = (80, 300)
"""Pages of a book's main text, as far as its source has so many."""
BORDER = (0.10, 0.30)
"""Share of extra or missing matter in borderline pairs."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Two books before they are scanned, and what a catalogue says of them."""

    left: Leaves
    right: Leaves
    main: tuple[Source, Source]  # whose title and author each book bears
    years: tuple[int, int]
    volumes: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class _Body:
    """Consecutive pages of a source."""

    source: Source
    first: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.first

    @property
    def leaves(self) -> Leaves:
        return self.source.leaves(self.first, self.end)


class Layouts:
    """Pairs of books from the sources of a shelf."""

    def __init__(self, shelf: Shelf, rng: np.random.Generator) -> None:
        self.shelf, self.rng = shelf, rng

    def reprint(self) -> Draft:
        """From the same plates, with up to 6 % of front matter of its own on each side."""
        body = self._body()
        left, right = (self._fronted(body.source, body.leaves, self.rng.uniform(0, 0.06)) for _ in range(2))
        return self._draft(left, right, body.source)

    def reprint_with_extra_matter(self) -> Draft:
        """From the same plates, with a tenth to three tenths of extra matter in one book or both."""
        body = self._body()
        sides = [body.leaves, body.leaves]
        for side in (0, 1) if self.rng.random() < 0.3 else (0,):
            sides[side] = self._with_extra(body.source, body.leaves, self.rng.uniform(*BORDER))
        return self._draft(sides[0], sides[1], body.source)

    def imperfect_reprint(self) -> Draft:
        """From the same plates; of one copy a tenth to three tenths is missing, at an end or in places."""
        body = self._body()
        copy = body.leaves
        lost = round(len(copy) * self.rng.uniform(*BORDER))
        if self.rng.random() < 0.6:
            copy = copy[lost:] if self.rng.random() < 0.5 else copy[: len(copy) - lost]
        else:
            places = int(self.rng.integers(2, 6))
            for _ in range(places):
                at = int(self.rng.integers(0, len(copy) - lost // places))
                del copy[at : at + lost // places]
        return self._draft(body.leaves, copy, body.source)

    def partly_reset(self) -> Draft:
        """From the same plates, but 5 to 45 % of the pages, in one place, were set again."""
        body = self._body()
        part = self._part(body, self.rng.uniform(0.05, 0.45))
        reset = self._reflowed(part, self._other_size(0.6, 1.6))
        before, after = body.source.leaves(body.first, part.first), body.source.leaves(part.end, body.end)
        return self._draft(body.leaves, before + reset + after, body.source)

    def reflowed(self) -> Draft:
        """Reset with pages of half to twice the size, with up to 8 % of front matter of its own."""
        body = self._body()
        reset = self._reflowed(body, self._other_size(0.5, 2))
        right = self._fronted(body.source, reset, self.rng.uniform(0, 0.08))
        return self._draft(body.leaves, right, body.source)

    def reflowed_at_near_size(self) -> Draft:
        """Reset with pages 0.9 to 1.1 times the size."""
        body = self._body()
        return self._draft(body.leaves, self._reflowed(body, self.rng.uniform(0.9, 1.1)), body.source)

    def shifted(self) -> Draft:
        """Every page break a quarter to three quarters of a page later."""
        body = self._body()
        bounds = body.source.starts[body.first : body.end + 1].astype(float)
        moved = bounds[:-1] + self.rng.uniform(0.25, 0.75) * np.diff(bounds)
        return self._draft(body.leaves, body.source.reflowed([bounds[0], *moved, bounds[-1]]), body.source)

    def drifting(self) -> Draft:
        """Every chapter starts at a page as before; within it the breaks drift by up to 8 % each."""
        body = self._body()
        ratio, first = self._other_size(0.92, 1.08), body.first
        right: Leaves = []
        while first < body.end:
            stop = min(body.end, first + int(self.rng.integers(8, 31)))
            right += self._reflowed(_Body(body.source, first, stop), ratio)
            first = stop
        start = int(np.searchsorted(body.source.starts, right[0].pieces[0].start, side="right")) - 1
        return self._draft(body.source.leaves(start, body.end), right, body.source)

    def reflowed_with_extra_matter(self) -> Draft:
        """Reset, with a tenth to three tenths of extra matter."""
        body = self._body()
        reset = self._reflowed(body, self._other_size(0.5, 2))
        right = self._with_extra(body.source, reset, self.rng.uniform(*BORDER))
        return self._draft(body.leaves, right, body.source)

    def volume_of_a_whole(self) -> Draft:
        """A tenth to 79 % of a book from the same plates, with up to 8 % of front matter of its own."""
        return self._volume(self.rng.uniform(0.10, 0.79), self.rng.uniform(0, 0.08))

    def volume_of_most(self) -> Draft:
        """70 to 90 % of a book, around the line between a part and a copy with leaves missing."""
        return self._volume(self.rng.uniform(0.70, 0.90), self.rng.uniform(0, 0.05))

    def volume_with_own_matter(self) -> Draft:
        """A part with 3 to 17 % of matter of its own, around the tenth that a part may have."""
        return self._volume(self.rng.uniform(0.15, 0.79), self.rng.uniform(0.03, 0.17))

    def shared_story(self) -> Draft:
        """Two collections that share a story of 5 to 60 % of each, half of the time reset."""
        body, rng = self._body(), self.rng
        size = max(6, round(body.size * rng.uniform(0.3, 0.6)))
        at = int(rng.integers(body.first, body.end - size + 1))
        story = _Body(body.source, at, at + size)
        sides = []
        for reset in (False, rng.random() < 0.5):
            shared = self._reflowed(story, self._other_size(0.5, 2)) if reset else story.leaves
            rest = self._foreign(body.source, len(shared) * (1 / rng.uniform(0.05, 0.6) - 1))
            place = int(rng.integers(0, len(rest) + 1))
            sides.append(rest[:place] + shared + rest[place:])
        return self._draft(sides[0], sides[1], body.source)

    def reflowed_part(self) -> Draft:
        """A tenth to 79 % of a book, reset."""
        body = self._body()
        part = self._part(body, self.rng.uniform(0.10, 0.79))
        return self._draft(body.leaves, self._reflowed(part, self._other_size(0.5, 2)), body.source)

    def added_matter(self) -> Draft:
        """Over a fifth of either book is matter of its own; half of the time the common text is reset."""
        body = self._body()
        reset = self.rng.random() < 0.5
        other = self._reflowed(body, self._other_size(0.5, 2)) if reset else body.leaves
        texts = (body.leaves, other)
        left, right = (self._with_extra(body.source, text, self.rng.uniform(0.21, 0.5)) for text in texts)
        return self._draft(left, right, body.source)

    def yearly(self) -> Draft:
        """The next issue of an annual: 22 to 75 % of the pages were revised, to 0 to 60 % of their text."""
        body, rng = self._body(), self.rng
        issue = body.leaves
        written = self._foreign(body.source, len(issue))
        places = rng.permutation(min(len(issue), len(written)))
        for place in places[: round(len(issue) * rng.uniform(0.22, 0.75))].tolist():
            issue[place] = self._revised(issue[place], written[place], rng.uniform(0, 0.6))
        year = body.source.year + int(rng.integers(0, 40))
        years = (year, year + int(rng.integers(1, 4)))
        return Draft(body.leaves, issue, (body.source, body.source), years)

    def anthologies(self) -> Draft:
        """Two anthologies with three to six pieces in common, in another order, 20 to 75 % of each."""
        rng = self.rng
        count = int(rng.integers(3, 7))
        first = self.shelf.any(rng)
        sources = [first, *self.shelf.others(count - 1, [first], rng)]
        pieces = [self._body_of(source, 8, 40).leaves for source in sources]
        pages = sum(map(len, pieces))
        sides = []
        for _ in range(2):
            own = self._foreign(first, pages * (1 / rng.uniform(0.2, 0.75) - 1), sources)
            bounds = np.linspace(0, len(own), count + 1).astype(int).tolist()
            side: Leaves = []
            for place, piece in enumerate(rng.permutation(count).tolist()):
                side += own[bounds[place] : bounds[place + 1]] + pieces[piece]
            sides.append(side)
        return self._draft(sides[0], sides[1], first)

    def other_work(self) -> Draft:
        """Books of two works, of one author or at least of one language where possible; some with the same
        publisher's list."""
        body = self._body()
        source = body.source
        unrelated = self.shelf.others(len(self.shelf.works), [source], self.rng)
        other = next(
            (each for each in unrelated if source.author and each.author == source.author), unrelated[0]
        )
        left, right = body.leaves, self._body_of(other, *BODY).leaves
        self._advertise(left, right, [source, other])
        return Draft(left, right, (source, other), (source.year, other.year))

    def next_volume(self) -> Draft:
        """Two volumes of one work that share no page but, in some, a publisher's list."""
        body = self._body()
        source, cut = body.source, round(body.first + body.size * self.rng.uniform(0.35, 0.65))
        left, right = source.leaves(body.first, cut), source.leaves(cut, body.end)
        self._advertise(left, right, [source])
        return Draft(left, right, (source, source), (source.year, source.year), ("1", "2"))

    def _body(self) -> _Body:
        return self._body_of(self.shelf.any(self.rng), *BODY)

    def _body_of(self, source: Source, least: int, most: int) -> _Body:
        size = min(source.page_count, int(self.rng.integers(least, most + 1)))
        first = int(self.rng.integers(0, source.page_count - size + 1))
        return _Body(source, first, first + size)

    def _part(self, body: _Body, share: float) -> _Body:
        """So much of a body, anywhere in it."""
        count = round(body.size * share)
        at = int(self.rng.integers(body.first, body.end - count + 1))
        return _Body(body.source, at, at + count)

    def _advertise(self, left: Leaves, right: Leaves, sources: list[Source]) -> None:
        """Add the same page to both books, half of the time where that is at most a fiftieth of them."""
        if min(len(left), len(right)) >= 50 and self.rng.random() < 0.5:
            page = self._foreign(min(sources, key=lambda source: source.mean_page), 1, sources)
            left += page
            right += page

    def _draft(self, left: Leaves, right: Leaves, source: Source) -> Draft:
        """Two printings of one work, in the same year or up to 40 years apart."""
        years = source.year + self.rng.integers(0, 41, 2) * self.rng.integers(0, 2, 2)
        return Draft(left, right, (source, source), (int(years[0]), int(years[1])))

    def _volume(self, share: float, own: float) -> Draft:
        """So much of a book from the same plates, `own` of it front matter; volumes have numbers."""
        body, rng = self._body(), self.rng
        count = round(body.size * share)
        at = int(
            rng.choice([body.first, body.end - count, int(rng.integers(body.first, body.end - count + 1))])
        )
        part = self._fronted(body.source, body.source.leaves(at, at + count), own)
        whole = self._fronted(body.source, body.leaves, rng.uniform(0, 0.04))
        draft = self._draft(whole, part, body.source)
        volume = str(rng.integers(1, 5)) if rng.random() < 0.5 else None
        return replace(draft, volumes=(None, volume))

    def _other_size(self, smallest: float, largest: float) -> float:
        """A page size, relative to the source's, on a logarithmic scale."""
        return float(np.exp(self.rng.uniform(np.log(smallest), np.log(largest))))

    def _reflowed(self, body: _Body, ratio: float) -> Leaves:
        """The text on pages `ratio` times as long as they are on the average."""
        start, stop = map(float, body.source.starts[[body.first, body.end]])
        cuts = body.source.even_cuts(start, stop, ratio * (stop - start) / body.size, self.rng)
        return body.source.reflowed(cuts)

    def _fronted(self, source: Source, body: Leaves, share: float) -> Leaves:
        """The body after front matter that makes up `share` of the book."""
        return self._foreign(source, len(body) * share / (1 - share)) + body

    def _with_extra(self, source: Source, body: Leaves, share: float) -> Leaves:
        """The body with extra matter, `share` of the book: in front, behind, both, or within."""
        extra = self._foreign(source, len(body) * share / (1 - share))
        match int(self.rng.integers(4)):
            case 0:
                return extra + body
            case 1:
                return body + extra
            case 2:
                cut = int(self.rng.integers(0, len(extra) + 1))
                return extra[:cut] + body + extra[cut:]
        count = int(self.rng.integers(1, 5))
        places = [0, *sorted(self.rng.integers(0, len(body) + 1, count).tolist()), len(body)]
        cuts = np.linspace(0, len(extra), count + 1).astype(int).tolist()
        mixed = list(body[: places[1]])
        for each in range(count):
            mixed += extra[cuts[each] : cuts[each + 1]] + body[places[each + 1] : places[each + 2]]
        return mixed

    def _foreign(self, like: Source, pages: float, known: list[Source] | None = None) -> Leaves:
        """About so many pages of other works, of one language with `like` if possible, and of its size."""
        characters = like.mean_page
        wanted = round(pages) * characters
        leaves: Leaves = []
        for source in self.shelf.others(8, known or [like], self.rng):
            if wanted < characters / 2:
                break
            length = min(wanted, float(len(source.text)))
            start = self.rng.uniform(0, len(source.text) - length)
            leaves += source.reflowed(source.even_cuts(start, start + length, characters, self.rng))
            wanted -= length
        return leaves

    def _revised(self, page: Leaf, written: Leaf, kept: float) -> Leaf:
        """The page with `kept` (0 to 1) of its text, cut at one place, and other text for the rest."""
        if not page.pieces or not written.pieces:
            return page
        old, fresh = page.pieces[0], written.pieces[0]
        gone = round((1 - kept) * (old.end - old.start))
        at = old.start + int(self.rng.integers(0, old.end - old.start - gone + 1))
        before, after = old._replace(end=at), old._replace(start=at + gone)
        return Leaf((before, fresh._replace(end=min(fresh.end, fresh.start + gone)), after))


Recipe = Callable[[Layouts], Draft]

RECIPES: dict[str, tuple[Recipe, ...]] = {
    "SAME_PAGINATION": (
        *(Layouts.reprint, Layouts.reprint, Layouts.reprint_with_extra_matter),
        *(Layouts.imperfect_reprint, Layouts.partly_reset),
    ),
    "DIFFERENT_PAGINATION": (
        *(Layouts.reflowed, Layouts.reflowed_at_near_size, Layouts.shifted, Layouts.drifting),
        Layouts.reflowed_with_extra_matter,
    ),
    "CONTIGUOUS_SUBSET": (
        *(Layouts.volume_of_a_whole, Layouts.volume_of_a_whole),
        *(Layouts.volume_of_most, Layouts.volume_with_own_matter),
    ),
    "OVERLAPPING_TEXT": (
        *(Layouts.shared_story, Layouts.reflowed_part, Layouts.added_matter, Layouts.yearly),
        Layouts.anthologies,
    ),
    "UNRELATED": (Layouts.other_work, Layouts.next_volume),
}
"""The recipes by the class they aim at."""
