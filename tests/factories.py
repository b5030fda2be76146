"""Made-up signatures, for tests that need many books and no text."""

from contextlib import suppress
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.minhash_bands import MinHashBands
from bookprint_core.model import (
    Entry,
    Fingerprint,
    FracMinHash,
    MinHashSignature,
    NewContent,
    PageSignatures,
    Sketch,
)
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_PAGES, DEFAULT_SAMPLE

with suppress(ImportError):  # tests of the packages run without the service
    from app.stores.postgres.audit import Actor

    ACTOR = Actor("command", "tester", address="test.example")
    """Who writes where a test does not ask who did."""

BANDS = MinHashBands(25, 5)
"""What datasketch holds best for a similarity of .5."""

LEVEL = 224
"""Of made samples: their hashes lie below 2^60."""


def flipped(bits: bytes, *positions: int) -> bytes:
    """The bits with those at these positions (0 is the most significant) turned over."""
    value = int.from_bytes(bits, "big")
    for position in positions:
        value ^= 1 << (127 - position)
    return value.to_bytes(16, "big")


def an_entry(rng: np.random.Generator, entry_id: int, bits: bytes | None = None) -> Entry:
    """An entry with random signatures, or with the given fingerprint."""
    return Entry(
        entry_id,
        Fingerprint(DEFAULT_FINGERPRINT, rng.bytes(16) if bits is None else bits),
        MinHashSignature(
            DEFAULT_MINHASH, rng.integers(0, 2**32, 128, dtype=np.uint32), int(rng.integers(1, 100_000))
        ),
        FracMinHash(DEFAULT_SAMPLE, np.unique(rng.integers(0, 2**60, 240, dtype=np.uint64)), LEVEL),
    )


def similar_values(
    rng: np.random.Generator, values: NDArray[np.uint32], similarity: float, n: int
) -> NDArray[np.uint32]:
    """MinHash values of n books (n, permutations), each with this Jaccard similarity to one with `values`."""
    others = rng.integers(0, 1 << 32, (n, values.size), dtype=np.uint32)
    return np.where(rng.random(others.shape) < similarity, values, others)


def a_sketch(rng: np.random.Generator, bits: bytes | None = None) -> Sketch:
    """A sketch with random signatures, or with the given fingerprint."""
    entry = an_entry(rng, 0, bits)
    return Sketch(
        fingerprint=entry.fingerprint,
        minhash=entry.minhash,
        pages=PageSignatures(
            DEFAULT_PAGES, "page", rng.integers(0, 256, (3, 128), dtype=np.uint8), np.full(3, 1800, np.uint16)
        ),
        word_count=1000,
        character_count=6000,
        page_count=3,
        sample=entry.sample,
    )


def new_content(sketch: Sketch, text: str | None = None) -> NewContent:
    """Content with this sketch; its key is made from the fingerprint or the text."""
    bits = sketch.fingerprint.bits if sketch.fingerprint else b""
    return NewContent(sha256(bits + (text or "").encode()).digest(), sketch, text and text.encode())


WORDS = 300
"""Words of a page."""


def pages_of(text: str, words: int = WORDS) -> list[str]:
    """The text in pages of so many words."""
    all_words = text.split(" ")
    return [" ".join(all_words[start : start + words]) for start in range(0, len(all_words), words)]
