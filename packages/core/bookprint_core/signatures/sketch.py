"""Computation of all signatures of a book from its content."""

import json
from dataclasses import replace
from hashlib import sha256

from bookprint_core import recipe as recipes
from bookprint_core.model import Content, PageSignatures, Sketch
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_PAGES, DEFAULT_SAMPLE
from bookprint_core.signatures.fracminhash import gram_sample
from bookprint_core.signatures.json_codec import encode
from bookprint_core.signatures.minhash import minhash
from bookprint_core.signatures.page_minhash import page_minhash
from bookprint_core.signatures.shingles import shingles
from bookprint_core.signatures.simhash import simhash
from bookprint_core.text.normal_form import NormalText, normalise


def sketch(
    content: Content, fingerprint_recipe: str = DEFAULT_FINGERPRINT, text: NormalText | None = None
) -> Sketch:
    """Compute the sketch of a book with the fingerprint recipe of this name; raise UnknownRecipe.

    `text` is its normal form, if already computed. The kernels release the GIL. A book of 600 KB takes some
    milliseconds and 10 MB; both grow with its length.
    """
    for_fingerprint = recipes.fingerprint_recipe(fingerprint_recipe)
    for_minhash, for_pages = recipes.minhash_recipe(DEFAULT_MINHASH), recipes.page_recipe(DEFAULT_PAGES)
    text = normalise(content) if text is None else text
    words = shingles(text, for_minhash, for_pages)
    return Sketch(
        fingerprint=simhash(text, for_fingerprint),
        minhash=minhash(words.hashes, for_minhash),
        pages=page_minhash(text, words, for_pages),
        word_count=words.token_count,
        character_count=text.size,
        page_count=content.page_count,
        # A book without shingles has no MinHash, and lookups do not use a sample alone.
        sample=gram_sample(text, recipes.sample_recipe(DEFAULT_SAMPLE)) if words.hashes.size else None,
        single_words=words.single_count,
    )


def page_signatures(content: Content) -> PageSignatures:
    """Compute the page signatures of a book."""
    text, for_pages = normalise(content), recipes.page_recipe(DEFAULT_PAGES)
    words = shingles(text, recipes.minhash_recipe(DEFAULT_MINHASH), for_pages)
    return page_minhash(text, words, for_pages)


def signature_key(sketch: Sketch) -> bytes:
    """Compute the SHA-256 of the sketch's signatures in canonical JSON (sorted keys, no blanks); 32 bytes.

    It replaces the content key of a book sent without its text. Digests, places and the count of single words
    are left out, because signatures of one book may lack them.
    """
    sample = sketch.sample and replace(sketch.sample, places=None)
    document = encode(replace(sketch, digests=(), single_words=None, sample=sample))
    return sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode()).digest()
