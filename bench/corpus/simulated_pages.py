"""Simulated page signatures: works, and copies of them with OCR errors, other page breaks or pages lost.

A bin of a page of a new work has the value that a page of made-up prose has there, a new one for each bin.
So unrelated pages are as alike as pages of one language are, and no two of them are equal. A bin of a copy
keeps the value of a page that it overlaps with the probability that MinHash says: their Jaccard similarity.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from app.core.recipe import DEFAULT_PAGES, page_recipe
from app.core.signatures.page_minhash import record_bytes
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_pages
from app.synthesis.language import language
from app.synthesis.library import paginate
from app.synthesis.prose import prose, world

PAGES = 330
"""Of a work: the mean of Spasojević and Poncin."""
CHARACTERS = 1_800
"""Of a page: 600 KB a book."""

_SEED = 20261123
_MODELS = 3  # works whose pages lend their values
_MEAN_ERRORS, _MOST_ERRORS = 0.015, 0.06  # character error rate of a copy
_SHORTEST_PART, _LONGEST_PART = 0.2, 0.8
_MOST_STRETCHED = 1.25  # pages of another edition are so much longer or shorter
_SAME_PAGES, _OTHER_PAGES = 0.55, 0.9  # shares of copies, cumulative; the rest are parts
_OVERLAPPED = 3  # pages of a work that one page of a copy overlaps at most

Values = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedPages:
    """The page signatures of one simulated book."""

    values: Values  # (pages, bins)
    lengths: NDArray[np.uint16]  # (pages,)

    def to_records(self) -> bytes:
        """As `app.core.signatures.page_minhash.to_records` has them."""
        records = np.empty((len(self.values), record_bytes(page_recipe(DEFAULT_PAGES))), dtype=np.uint8)
        records[:, :-2] = self.values
        records[:, -2:] = self.lengths.astype("<u2").view(np.uint8).reshape(-1, 2)
        return records.tobytes()


def simulated_work(rng: np.random.Generator) -> SimulatedPages:
    """The pages of a new work."""
    lengths = rng.normal(CHARACTERS, CHARACTERS / 10, PAGES).clip(CHARACTERS / 2, 2 * CHARACTERS)
    return SimulatedPages(_drawn(rng, PAGES), lengths.astype(np.uint16))


def simulated_copy(work: SimulatedPages, rng: np.random.Generator) -> SimulatedPages:
    """A copy with errors: page by page the same, with other page breaks, or a part of the work."""
    errors = min(rng.exponential(_MEAN_ERRORS), _MOST_ERRORS)
    first, end, stretch = 0, PAGES, 1.0
    sort = rng.random()
    if sort > _OTHER_PAGES:
        pages = round(PAGES * rng.uniform(_SHORTEST_PART, _LONGEST_PART))
        first = int(rng.integers(0, PAGES - pages))
        end = first + pages
    elif sort > _SAME_PAGES:
        stretch = _MOST_STRETCHED ** rng.uniform(-1, 1)
    return _copied(work, np.arange(first, end - stretch + 1e-9, stretch), stretch, errors, rng)


def _copied(
    work: SimulatedPages,
    starts: NDArray[np.float64],
    stretch: float,
    errors: float,
    rng: np.random.Generator,
) -> SimulatedPages:
    """Pages of a copy that begin at these places of the work, in its pages, and are so many of them long."""
    overlapped = np.floor(starts)[:, None].astype(np.int64) + np.arange(_OVERLAPPED)
    ends = np.minimum(overlapped + 1, starts[:, None] + stretch)
    overlaps = (ends - np.maximum(overlapped, starts[:, None])).clip(min=0)
    kept = (1 - errors) ** page_recipe(DEFAULT_PAGES).lengths.alphabetic
    similar = overlaps * kept / (1 + stretch - overlaps * kept)
    cumulative = similar.cumsum(axis=1)[:, :, None]
    drawn = rng.random((len(starts), 1, work.values.shape[1]), dtype=np.float32)
    chosen = (drawn >= cumulative).sum(axis=1)  # which of the overlapped pages, or none
    rows = np.minimum(overlapped[:, :1] + chosen, PAGES - 1)
    values = np.take_along_axis(work.values, rows, axis=0)
    lost = chosen == _OVERLAPPED
    values[lost] = _drawn(rng, len(starts))[lost]
    lengths = work.lengths[np.minimum(overlapped[:, 0], PAGES - 1)] * stretch
    return SimulatedPages(values, lengths.astype(np.uint16))


def _drawn(rng: np.random.Generator, pages: int) -> Values:
    """Values for so many pages, each bin's own."""
    models = _models()
    rows = rng.integers(0, len(models), (pages, models.shape[1]), dtype=np.uint16)
    return np.take_along_axis(models, rows, axis=0)


@cache
def _models() -> Values:
    """The signatures of pages of made-up prose, (pages, bins)."""
    tongue = language(_SEED)
    signed = []
    for number in range(_MODELS):
        rng = np.random.default_rng([_SEED, number])
        text = prose(world(tongue, rng, rng), PAGES * CHARACTERS, rng)
        pages = sketch(content_from_pages(paginate(text, CHARACTERS))).pages
        assert pages is not None
        signed.append(pages.values[pages.lengths > CHARACTERS // 2])
    return np.concatenate(signed)
