"""Books of invented pages for tests that compare pages: printed, read with noise, reset."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from app.synthesis.noise import corrupt_pages
from bookprint_core.model import Metadata, PageSignatures
from bookprint_core.relations.alignment import Alignment
from bookprint_core.relations.relation import ComparedBook, Relation, relate
from bookprint_core.signatures.sketch import page_signatures, sketch
from bookprint_core.text.content import content_from_pages, content_from_text

Pages = list[str]
BLANK = ""
PLATE = "PLATE IX"
UNKNOWN = Metadata()


@cache
def _vocabulary() -> Sequence[str]:
    rng = np.random.default_rng(5)
    letters = np.array(list("eeeaaiioonnttsrrllhdducmpgbfvykw"))
    return ["".join(rng.choice(letters, length)) for length in rng.integers(2, 11, 6_000)]


def book(pages: int, seed: int, words: int = 180) -> Pages:
    """So many pages of about so many words."""
    rng = np.random.default_rng(seed)
    sizes = rng.normal(words, words / 12, pages).astype(int)
    places = np.minimum(rng.zipf(1.3, int(sizes.sum())) - 1, len(_vocabulary()) - 1)
    places = np.where(rng.random(places.size) < 0.5, places, rng.integers(0, len(_vocabulary()), places.size))
    spelt = [_vocabulary()[place] for place in places.tolist()]
    ends = np.cumsum(sizes).tolist()
    return [" ".join(spelt[end - size : end]) for end, size in zip(ends, sizes.tolist(), strict=True)]


def read(pages: Pages, error_rate: float, seed: int) -> Pages:
    """The pages as OCR reads them."""
    return corrupt_pages(pages, error_rate, np.random.default_rng(seed))


def set_anew(pages: Pages, words: int) -> Pages:
    """The same text on pages of so many words."""
    spelt = " ".join(pages).split()
    return [" ".join(spelt[start : start + words]) for start in range(0, len(spelt), words)]


def signed(pages: Pages) -> PageSignatures:
    """The signatures of the pages."""
    return page_signatures(content_from_pages(pages))


def candidate(pages: Pages, metadata: Metadata = UNKNOWN) -> ComparedBook:
    """The book as it is compared."""
    made = sketch(content_from_pages(pages))
    return ComparedBook(made.pages, made.minhash, metadata)


def unpaged(text: str, metadata: Metadata = UNKNOWN) -> ComparedBook:
    """A book whose pages are not known."""
    made = sketch(content_from_text(text))
    return ComparedBook(made.pages, made.minhash, metadata)


def related(left: Pages, right: Pages) -> Relation:
    """The relation of two books."""
    return relate(candidate(left), candidate(right))


def matches(alignment: Alignment) -> list[tuple[int, int]]:
    """All pairs of pages that match, in the order of the runs."""
    return [(i, j) for run in alignment.runs for i, j in run.pairs.tolist()]
