"""The values of Bookprint: a book's content, metadata and signatures, and its state in the catalogue."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from bookprint_core.errors import RecipeMismatch
from bookprint_core.metadata import Metadata as Metadata
from bookprint_core.recipe import plain_name

PAGE_BREAK = "\f"
"""U+000C separates the pages of a text."""

PageLabels = tuple[str | None, ...]
"""The label that each page of a book has, None where it has none; empty: none is known."""


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a book in Unicode NFC, its pages (if known) joined by U+000C."""

    text: str
    page_count: int | None  # blank pages count too; None: the page breaks are not known


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A simhash; two of one recipe are compared by Hamming distance."""

    recipe: str
    bits: bytes  # most significant bit first; 16 bytes for a 128-bit recipe

    @property
    def hex(self) -> str:
        return self.bits.hex()


@dataclass(frozen=True, slots=True, eq=False)
class MinHashSignature:
    """The MinHash of a book's shingles; the share of equal values estimates Jaccard similarity."""

    recipe: str
    values: NDArray[np.uint32]  # (128,)
    shingle_count: int  # distinct shingles of the book, at least 1

    def to_bytes(self) -> bytes:
        """The values as stored and sent: little-endian, 4 bytes each."""
        return self.values.astype("<u4", copy=False).tobytes()

    @staticmethod
    def from_bytes(recipe: str, data: bytes, shingle_count: int) -> "MinHashSignature":
        """The reverse of `to_bytes`; `data` is a multiple of 4 bytes long."""
        values = np.frombuffer(data, dtype="<u4").astype(np.uint32, copy=False)
        return MinHashSignature(recipe, values, shingle_count)


@dataclass(frozen=True, slots=True)
class MinHashBits:
    """One bit of each value of a MinHash signature."""

    recipe: str  # of the signature
    bits: bytes  # 16; the lowest bit of each value, in order, most significant bit first
    shingle_count: int  # distinct shingles of the book; within 0.4 % in an identifier


@dataclass(frozen=True, slots=True)
class Identified:
    """What an identifier says beside the fingerprint of a book that is known by it alone."""

    word_count: int  # within 4 %
    minhash: MinHashBits | None  # None: a short identifier

    @property
    def length(self) -> int:
        """Distinct shingles, or words where those are not known: by it the band index knows its length."""
        return self.word_count if self.minhash is None else self.minhash.shingle_count


@dataclass(frozen=True, slots=True, eq=False)
class FracMinHash:
    """All hashes of a book below a limit; two samples are compared below the lower of their limits."""

    recipe: str
    hashes: NDArray[np.uint64]  # (n,), ascending and distinct
    level: int  # of the limit, as the recipe counts levels; 0 to 254
    places: NDArray[np.uint16] | None = None  # (n,) where each first stands, in 1/65,536 of the book's length

    def to_bytes(self) -> bytes:
        """The hashes as stored and sent: little-endian, 8 bytes each."""
        return self.hashes.astype("<u8", copy=False).tobytes()

    def places_to_bytes(self) -> bytes | None:
        """The places as stored and sent: little-endian, 2 bytes each."""
        return None if self.places is None else self.places.astype("<u2", copy=False).tobytes()

    @staticmethod
    def from_bytes(recipe: str, data: bytes, level: int, places: bytes | None = None) -> "FracMinHash":
        """The reverse of `to_bytes`, and of `places_to_bytes` where they are known."""
        found = None if places is None else np.frombuffer(places, dtype="<u2").astype(np.uint16, copy=False)
        return FracMinHash(recipe, np.frombuffer(data, dtype="<u8").astype(np.uint64), level, found)

    def packed(self) -> bytes:
        """A byte for the level, then the hashes: as the catalogue keeps them."""
        return bytes([self.level]) + self.to_bytes()

    @staticmethod
    def unpacked(recipe: str, data: bytes, places: bytes | None = None) -> "FracMinHash":
        """The reverse of `packed`, and of `places_to_bytes` where they are known."""
        return FracMinHash.from_bytes(recipe, data[1:], data[0], places)


@dataclass(frozen=True, slots=True, eq=False)
class PageSignatures:
    """One small MinHash for each page, or for each window of words if the pages are not known."""

    recipe: str
    unit: Literal["page", "window"]
    values: NDArray[np.uint8]  # (pages, 128); 0 marks an empty bin
    lengths: NDArray[np.uint16]  # (pages,) code points of each page's normal form, at most 65,535


@dataclass(frozen=True, slots=True)
class Digest:
    """A hash of a text as other systems compute it; two of one recipe are equal, or say nothing."""

    recipe: str
    value: bytes  # 16

    @property
    def hex(self) -> str:
        return self.value.hex()

    def __str__(self) -> str:
        return f"{self.recipe}:{self.hex}"


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """All signatures of one book."""

    fingerprint: Fingerprint | None  # None: the text is too short or too even
    minhash: MinHashSignature | None  # None: shorter than one shingle
    pages: PageSignatures | None  # None: left out by the sender
    word_count: int
    character_count: int  # of the normalised text; of an identifier as many as words
    page_count: int | None
    sample: FracMinHash | None = None  # None: the sender's signatures have none
    digests: tuple[Digest, ...] = ()  # of the text, where they were asked for
    single_words: int | None = None  # words that occur once; None: the sender's signatures do not say
    identified: Identified | None = None  # None: it is more than an identifier

    def to_entry(self, entry_id: int) -> "Entry":
        return Entry(entry_id, self.fingerprint, self.minhash, self.sample, self.word_count, self.identified)


RecordFormat = Literal["marc", "marcxml", "marc-json"]
"""MARC 21 in binary form (ISO 2709), as MARCXML or as MARC-in-JSON."""


@dataclass(frozen=True, slots=True)
class CatalogRecord:
    """A catalogue's own MARC record of one book, as it was sent."""

    format: RecordFormat
    data: bytes
    changed: tuple[str, ...] = ()  # fields of the metadata that a client has said otherwise


@dataclass(frozen=True, slots=True)
class Submission:
    """A book as a client posts it: content, or its sketch without the text."""

    metadata: Metadata = field(default_factory=Metadata)
    content: Content | None = None
    sketch: Sketch | None = None
    page_labels: PageLabels = ()
    record: CatalogRecord | None = None  # that the metadata were taken from
    format: str | None = None  # of the file that it came in, as the API names it
    warnings: Sequence[str] = ()  # what was left out of the file or guessed, as sentences


@dataclass(frozen=True, slots=True)
class Book:
    """A book as the catalogue holds it."""

    id: UUID
    entry_id: int  # of its present content; new content gets a new one, and no number is used twice
    version: int  # counts every change of content or metadata, from 1
    metadata: Metadata
    page_count: int | None
    word_count: int
    fingerprint: Fingerprint | None
    minhash: MinHashBits | None
    iscc: str | None  # Text-Code of the present content, ISCC:EAA…; None: not computed
    digests: tuple[Digest, ...]  # of the present content, as far as they are stored
    has_vector: bool  # of the present content
    indexed: bool  # False: durable and found by every lookup, but not yet in the band index
    founder_id: UUID  # of the cluster of the same text that it is in; its own id where it is alone


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """The signatures of one version of a book's content that lookups compare."""

    entry_id: int
    fingerprint: Fingerprint | None
    minhash: MinHashSignature | None
    sample: FracMinHash | None = None
    word_count: int = 0  # 0: not known
    identified: Identified | None = None  # None: it is more than an identifier


@dataclass(frozen=True, slots=True, eq=False)
class BookSummary:
    """A book as a lookup shows it."""

    book_id: UUID
    title: str | None
    word_count: int
    indexed: bool
    entry: Entry


@dataclass(frozen=True, slots=True, eq=False)
class NewContent:
    """Content ready to be stored: its key, its sketch, and the compressed text where texts are kept."""

    key: bytes  # 32 bytes
    sketch: Sketch
    compressed_text: bytes | None  # None: the text is not kept
    iscc: str | None = None  # ISCC:EAA…; None: not computed
    vector: NDArray[np.uint8] | None = None  # (128,); None: not computed, or the text is too short
    page_labels: PageLabels = ()


@dataclass(frozen=True, slots=True, eq=False)
class NewBook:
    """A book ready to be stored."""

    metadata: Metadata
    content: NewContent
    record: CatalogRecord | None = None


@dataclass(frozen=True, slots=True)
class StoredBook:
    """The outcome of storing content."""

    book: Book
    created: bool  # False: exactly this book was in the catalogue already
    replaced: Entry | None = None  # to remove from the band index

    def as_indexed(self) -> "StoredBook":
        return replace(self, book=replace(self.book, indexed=True))


def require_same_recipe(this: str, other: str) -> None:
    """Raise `RecipeMismatch` unless both signatures were made by one recipe, folded or not.

    Fingerprints of both normal forms are compared: of a text in which nothing folds they are the same bits.
    """
    if plain_name(this) != plain_name(other):
        raise RecipeMismatch(
            f"Signatures of {this} and {other} cannot be compared; compute one of them anew.", "recipe"
        )
