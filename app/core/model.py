"""The nouns of Bookprint: what a book says, what is known about it, and what is computed from it."""

from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.errors import RecipeMismatch

PAGE_BREAK = "\f"
"""U+000C separates the pages of a text."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a book says: one text in Unicode NFC, its pages (if known) joined by U+000C."""

    text: str
    page_count: int | None  # blank pages count too; None: the page breaks are not known


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a catalogue knows about a book; nothing of it enters a signature."""

    title: str | None = None
    authors: tuple[str, ...] = ()
    language: str | None = None
    year: int | None = None
    volume: str | None = None
    external_id: str | None = None
    identifiers: tuple[str, ...] = ()  # "scheme:value", as "isbn:9780141439600"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A simhash: two of one recipe are compared by Hamming distance."""

    recipe: str
    bits: bytes  # most significant bit first; 16 bytes for a 128-bit recipe

    @property
    def hex(self) -> str:
        """The bits as lower-case hexadecimal."""
        return self.bits.hex()


@dataclass(frozen=True, slots=True, eq=False)
class MinHashSignature:
    """The MinHash values of a book's shingles: the share of equal values estimates Jaccard similarity."""

    recipe: str
    values: NDArray[np.uint32]  # (128,)
    shingle_count: int  # distinct shingles of the book, at least 1


@dataclass(frozen=True, slots=True, eq=False)
class FracMinHash:
    """All shingle hashes of a book below 2^level: samples are compared below the lower of two levels."""

    recipe: str
    hashes: NDArray[np.uint64]  # (n,), ascending and distinct
    level: int  # 0 to 64


@dataclass(frozen=True, slots=True, eq=False)
class PageSignatures:
    """One small MinHash for each page, or for each window of words where the pages are not known."""

    recipe: str
    unit: Literal["page", "window"]
    values: NDArray[np.uint8]  # (pages, 128); 0 marks an empty bin
    lengths: NDArray[np.uint16]  # (pages,) code points of each page's normal form; 65,535 stands for more too


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """All signatures of one book."""

    fingerprint: Fingerprint | None  # None: too little text, or text too even, to tell books apart
    minhash: MinHashSignature | None  # None: shorter than one shingle
    pages: PageSignatures | None  # None: left out by the sender
    word_count: int
    character_count: int  # of the normalised text
    page_count: int | None
    sample: FracMinHash | None = None  # None: the sender's signatures have none

    def to_entry(self, entry_id: int) -> "Entry":
        """The part that lookups compare, under this id."""
        return Entry(entry_id, self.fingerprint, self.minhash, self.sample)


@dataclass(frozen=True, slots=True)
class Submission:
    """A book as a client hands it in: content, or (without the text) its sketch."""

    metadata: Metadata = field(default_factory=Metadata)
    content: Content | None = None
    sketch: Sketch | None = None


@dataclass(frozen=True, slots=True)
class Book:
    """A book as the catalogue holds it."""

    id: UUID
    entry_id: int  # of its present content; a new content gets a new one, and none is ever used twice
    version: int  # counts every change of content or metadata, from 1
    metadata: Metadata
    page_count: int | None
    word_count: int
    fingerprint: Fingerprint | None
    indexed: bool  # False: durable, found by every look-up, but not yet in the band index


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """The signatures of one content version of one book, as far as lookups compare them."""

    entry_id: int
    fingerprint: Fingerprint | None
    minhash: MinHashSignature | None
    sample: FracMinHash | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BookSummary:
    """What a lookup tells of a book it found."""

    book_id: UUID
    title: str | None
    word_count: int
    indexed: bool
    entry: Entry


def require_same_recipe(one: str, other: str) -> None:
    """Raise `RecipeMismatch` unless both signatures were made by one recipe."""
    if one != other:
        raise RecipeMismatch(
            f"Signatures of {one} and {other} cannot be compared; compute one of them anew.", "recipe"
        )
