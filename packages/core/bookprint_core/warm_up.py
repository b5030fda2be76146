"""Compilation of every kernel, or loading from the cache, before the first book is processed."""

import numpy as np

from bookprint_core import recipe
from bookprint_core.index.fingerprints import rows_within, words
from bookprint_core.index.records import Buckets, entries_sharing
from bookprint_core.index.tables import hash_keys
from bookprint_core.model import PageSignatures
from bookprint_core.relations.alignment import align
from bookprint_core.signatures.fracminhash import gram_sample
from bookprint_core.signatures.minhash import minhash
from bookprint_core.signatures.page_minhash import page_minhash
from bookprint_core.signatures.shingles import Shingles, shingles
from bookprint_core.signatures.simhash import simhash
from bookprint_core.text.content import content_from_pages
from bookprint_core.text.normal_form import PADDING, NormalText, normalise
from bookprint_core.vectors import BYTES, cosine, word_counts

_TEXT = " ".join(f"word{number} of many" for number in range(100)) * 3
_NO_PLACES = np.zeros(0, dtype=np.int64)


def warm_up() -> None:
    """Call every kernel once."""
    for part in PARTS:
        part()


def _characters() -> None:
    """Sign the characters of pages in one script and in two, and search a small index."""
    none = Shingles(np.zeros(0, dtype=np.uint64), 0, 0, _NO_PLACES)
    for page in (_TEXT, _TEXT + "漢字かな交じり文"):
        text = normalise(content_from_pages([page]))
        simhash(text, recipe.fingerprint_recipe(recipe.DEFAULT_FINGERPRINT))
        page_minhash(text, none, recipe.page_recipe(recipe.DEFAULT_PAGES))
    query, rows = bytes(16), np.zeros((1, 16), dtype=np.uint8)
    rows_within(query, words(rows), 0)
    none_yet = Buckets([bytes(4)], np.zeros(1, dtype=np.uint32), np.zeros(1, dtype=np.uint32))
    entries_sharing(none_yet, hash_keys(np.zeros(1, dtype=np.uint64)))


def _words() -> None:
    """Sign the words of a text with one script and of a text with two; compare pages and vectors."""
    for_minhash = recipe.minhash_recipe(recipe.DEFAULT_MINHASH)
    codes = np.array([*map(ord, _TEXT), *[0] * PADDING], dtype=np.uint32)
    for kinds in (np.zeros(0, dtype=np.uint8), np.zeros(len(_TEXT), dtype=np.uint8)):
        text = NormalText(codes, len(_TEXT), kinds, _NO_PLACES, _NO_PLACES)
        minhash(shingles(text, for_minhash, recipe.page_recipe(recipe.DEFAULT_PAGES)).hashes, for_minhash)
        gram_sample(text, recipe.sample_recipe(recipe.DEFAULT_SAMPLE))
        word_counts(text)
    pages = PageSignatures(recipe.DEFAULT_PAGES, "page", np.ones((2, 128), np.uint8), np.ones(2, np.uint16))
    align(pages, pages)
    cosine(np.zeros(BYTES, dtype=np.uint8), np.zeros(BYTES, dtype=np.uint8))


PARTS = (_characters, _words)
"""Functions that together call every kernel; they compile in equal time, one process each."""
