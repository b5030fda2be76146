"""Compiling every kernel, or loading it from its cache, before the first book comes."""

import numpy as np

from app.core.index.fingerprints import rows_within, words
from app.core.index.records import entries_sharing
from app.core.relations.alignment import align
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_pages, content_from_text
from app.core.text.normal_form import normalise
from app.core.vectors import BYTES, cosine, word_counts


def warm_up() -> None:
    """Calls every kernel once, on a text of alphabets, one of mixed scripts, and a little of an index."""
    text = " ".join(f"word{number} of many" for number in range(100)) * 3
    sketch(content_from_text(text + "漢字かな交じり文"))
    pages = sketch(content_from_pages([text, text])).pages
    if pages is not None:
        align(pages, pages)
    word_counts(normalise(content_from_text(text)))
    cosine(np.zeros(BYTES, dtype=np.uint8), np.zeros(BYTES, dtype=np.uint8))
    query, rows = bytes(16), np.zeros((1, 16), dtype=np.uint8)
    rows_within(query, words(rows), 0)
    entries_sharing([bytes(6)], np.zeros(1, dtype=np.uint64))
