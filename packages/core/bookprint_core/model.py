"""Value classes: the content, metadata and signatures of a book, and its state in the catalogue."""

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
"""Separator of pages in a text: U+000C."""

PageLabels = tuple[str | None, ...]
"""Label of each page of a book, None for a page without a label; empty if no label is known."""


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a book in Unicode NFC, its pages (if known) joined by U+000C."""

    text: str
    page_count: int | None  # blank pages included; None: the page breaks are not known


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A simhash. Fingerprints of one recipe are compared by Hamming distance."""

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
        """Return the values as stored and sent: little-endian, 4 bytes each."""
        return self.values.astype("<u4", copy=False).tobytes()

    @staticmethod
    def from_bytes(recipe: str, data: bytes, shingle_count: int) -> "MinHashSignature":
        """Reverse `to_bytes`; the length of `data` must be a multiple of 4 bytes."""
        values = np.frombuffer(data, dtype="<u4").astype(np.uint32, copy=False)
        return MinHashSignature(recipe, values, shingle_count)


@dataclass(frozen=True, slots=True)
class MinHashBits:
    """One bit of each value of a MinHash signature."""

    recipe: str  # of the signature
    bits: bytes  # 16 bytes; the lowest bit of each value, in order, most significant bit first
    shingle_count: int  # distinct shingles of the book; within 0.4 % in an identifier


@dataclass(frozen=True, slots=True)
class Identified:
    """The data of an identifier beside its fingerprint, for a book known only by its identifier."""

    word_count: int  # within 4 %
    minhash: MinHashBits | None  # None: a short identifier

    @property
    def length(self) -> int:
        """Length of the book in the band index: distinct shingles, or words if shingles are not known."""
        return self.word_count if self.minhash is None else self.minhash.shingle_count


@dataclass(frozen=True, slots=True, eq=False)
class FracMinHash:
    """All hashes of a book below a limit. Two samples are compared below the lower of their limits."""

    recipe: str
    hashes: NDArray[np.uint64]  # (n,), ascending and distinct
    level: int  # 0 to 254; the recipe defines the limit at each level
    places: NDArray[np.uint16] | None = None  # (n,) first place of each hash, in 1/65,536 of the book

    def to_bytes(self) -> bytes:
        """Return the hashes as stored and sent: little-endian, 8 bytes each."""
        return self.hashes.astype("<u8", copy=False).tobytes()

    def places_to_bytes(self) -> bytes | None:
        """Return the places as stored and sent: little-endian, 2 bytes each."""
        return None if self.places is None else self.places.astype("<u2", copy=False).tobytes()

    @staticmethod
    def from_bytes(recipe: str, data: bytes, level: int, places: bytes | None = None) -> "FracMinHash":
        """Reverse `to_bytes` and, if the places are known, `places_to_bytes`."""
        found = None if places is None else np.frombuffer(places, dtype="<u2").astype(np.uint16, copy=False)
        return FracMinHash(recipe, np.frombuffer(data, dtype="<u8").astype(np.uint64), level, found)

    def packed(self) -> bytes:
        """Return the level as one byte, then the hashes: the format of the catalogue."""
        return bytes([self.level]) + self.to_bytes()

    @staticmethod
    def unpacked(recipe: str, data: bytes, places: bytes | None = None) -> "FracMinHash":
        """Reverse `packed` and, if the places are known, `places_to_bytes`."""
        return FracMinHash.from_bytes(recipe, data[1:], data[0], places)


@dataclass(frozen=True, slots=True, eq=False)
class PageSignatures:
    """One small MinHash per page, or per window of words if the pages are not known."""

    recipe: str
    unit: Literal["page", "window"]
    values: NDArray[np.uint8]  # (pages, 128); 0 marks an empty bin
    lengths: NDArray[np.uint16]  # (pages,) length of each page's normal form in code points, at most 65,535


@dataclass(frozen=True, slots=True)
class Digest:
    """A hash of a text that other systems compute too. Only equality of digests means anything."""

    recipe: str
    value: bytes  # 16 bytes

    @property
    def hex(self) -> str:
        return self.value.hex()

    def __str__(self) -> str:
        return f"{self.recipe}:{self.hex}"


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """All signatures of one book."""

    fingerprint: Fingerprint | None  # None: the text is too short or too even
    minhash: MinHashSignature | None  # None: the text is shorter than one shingle
    pages: PageSignatures | None  # None: the sender left them out
    word_count: int
    character_count: int  # length of the normalised text; for an identifier, the word count
    page_count: int | None
    sample: FracMinHash | None = None  # None: the sender's signatures have none
    digests: tuple[Digest, ...] = ()  # of the text, if requested
    single_words: int | None = None  # words that occur once; None: the sender did not say
    identified: Identified | None = None  # None: more than an identifier is known

    def to_entry(self, entry_id: int) -> "Entry":
        return Entry(entry_id, self.fingerprint, self.minhash, self.sample, self.word_count, self.identified)


RecordFormat = Literal["marc", "marcxml", "marc-json"]
"""MARC 21 in binary form (ISO 2709), as MARCXML or as MARC-in-JSON."""


@dataclass(frozen=True, slots=True)
class CatalogRecord:
    """A library catalogue's MARC record of one book, as it was sent."""

    format: RecordFormat
    data: bytes
    changed: tuple[str, ...] = ()  # metadata fields that a client has changed afterwards


@dataclass(frozen=True, slots=True)
class Submission:
    """A book as a client posts it, with its content or with a sketch alone."""

    metadata: Metadata = field(default_factory=Metadata)
    content: Content | None = None
    sketch: Sketch | None = None
    page_labels: PageLabels = ()
    record: CatalogRecord | None = None  # source of the metadata
    format: str | None = None  # of the uploaded file, as the API names it
    warnings: Sequence[str] = ()  # sentences about parts of the file that were left out or guessed


@dataclass(frozen=True, slots=True)
class Book:
    """A book in the catalogue."""

    id: UUID
    entry_id: int  # of its present content; new content gets a new number, and no number is used twice
    version: int  # counts every change of content or metadata, from 1
    metadata: Metadata
    page_count: int | None
    word_count: int
    fingerprint: Fingerprint | None
    minhash: MinHashBits | None
    iscc: str | None  # Text-Code of the present content, ISCC:EAA…; None: not computed
    digests: tuple[Digest, ...]  # stored digests of the present content
    has_vector: bool  # whether a vector of the present content is stored
    indexed: bool  # False: durable and found by every lookup, but not yet in the band index
    founder_id: UUID  # first book of its cluster of the same text; its own id if it is alone


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """The signatures that lookups compare, for one version of a book's content."""

    entry_id: int
    fingerprint: Fingerprint | None
    minhash: MinHashSignature | None
    sample: FracMinHash | None = None
    word_count: int = 0  # 0: not known
    identified: Identified | None = None  # None: more than an identifier is known


@dataclass(frozen=True, slots=True, eq=False)
class BookSummary:
    """A book in the answer to a lookup."""

    book_id: UUID
    title: str | None
    word_count: int
    indexed: bool
    entry: Entry


@dataclass(frozen=True, slots=True, eq=False)
class NewContent:
    """Content ready to be stored: its key, its sketch and, if texts are stored, the compressed text."""

    key: bytes  # 32 bytes
    sketch: Sketch
    compressed_text: bytes | None  # None: the text is not stored
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
    created: bool  # False: the catalogue already contained exactly this book
    replaced: Entry | None = None  # entry to remove from the band index

    def as_indexed(self) -> "StoredBook":
        return replace(self, book=replace(self.book, indexed=True))


def require_same_recipe(this: str, other: str) -> None:
    """Raise `RecipeMismatch` unless both signatures have one recipe, folded or plain.

    Fingerprints of the two normal forms are comparable: a text in which nothing folds has equal bits in both.
    """
    if plain_name(this) != plain_name(other):
        raise RecipeMismatch(
            f"Signatures of {this} and {other} cannot be compared; compute one of them anew.", "recipe"
        )
