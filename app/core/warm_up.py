"""Compiling every kernel, or loading it from its cache, before the first book comes."""

import numpy as np

from app.core.index.fingerprints import rows_within, words
from app.core.index.records import entries_sharing
from app.core.model import PageSignatures
from app.core.recipe import DEFAULT_PAGES
from app.core.relations.alignment import align
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_pages, content_from_text
from app.core.text.normal_form import normalise
from app.core.vectors import BYTES, cosine, word_counts

_TEXT = " ".join(f"word{number} of many" for number in range(100)) * 3


def warm_up() -> None:
    """Calls every kernel once."""
    for part in PARTS:
        part()


def _signatures() -> None:
    """Signs a text of mixed scripts, and one with pages."""
    sketch(content_from_text(_TEXT + "漢字かな交じり文"))
    sketch(content_from_pages([_TEXT, _TEXT]))


def _comparisons() -> None:
    """Compares pages, vectors and a little of an index."""
    pages = PageSignatures(DEFAULT_PAGES, "page", np.ones((2, 128), np.uint8), np.ones(2, np.uint16))
    align(pages, pages)
    word_counts(normalise(content_from_text(_TEXT)))
    cosine(np.zeros(BYTES, dtype=np.uint8), np.zeros(BYTES, dtype=np.uint8))
    query, rows = bytes(16), np.zeros((1, 16), dtype=np.uint8)
    rows_within(query, words(rows), 0)
    entries_sharing([bytes(4)], np.zeros(1, dtype=np.uint32))


PARTS = (_signatures, _comparisons)
"""What calls every kernel, in parts that can be compiled side by side."""
