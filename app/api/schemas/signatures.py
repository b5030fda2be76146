"""Signatures in bodies and answers, and the counted overlap of two texts."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict, JsonValue

from app.api.schemas.documents import Body, Count, Document, OneOfBody, Parameters, Share, WholeNumber
from bookprint_core.book_rules import MAX_PAGES
from bookprint_core.model import Fingerprint, Sketch
from bookprint_core.recipe import DIGESTS, FINGERPRINT_RECIPES, MINHASH_RECIPES, PAGE_RECIPES, SAMPLE_RECIPES
from bookprint_core.signatures import json_codec, lean_minhash
from bookprint_core.signatures.exact_overlap import ExactOverlap


class ShingleCounts(Document):
    """Numbers of distinct shingles, that is, runs of five words or eight characters."""

    this: int = Field(description="Shingles of the book in the path.")
    other: int = Field(description="Shingles of the other book.")
    shared: int = Field(description="Shingles that both books contain.")


class ExactContainment(Document):
    """Containment in both directions, counted."""

    this_in_other: Share = Field(description="Share of this book's shingles in the other book, 0 to 1.")
    other_in_this: Share = Field(description="Share of the other book's shingles in this book, 0 to 1.")


class ExactAnswer(Document):
    """Overlap of the two texts, counted instead of estimated."""

    jaccard: Share = Field(description="Shared shingles divided by all shingles, 0 to 1.")
    containment: ExactContainment
    shingles: ShingleCounts

    @classmethod
    def of(cls, overlap: ExactOverlap) -> Self:
        fields = {"jaccard": overlap.jaccard, "containment": overlap, "shingles": overlap}
        return cls.model_validate(fields)


def _base64_length(size: int) -> int:
    """Return the length of Base64 text for this number of bytes."""
    return -(-size // 3) * 4


class FingerprintAnswer(Document):
    """A simhash; simhashes with the same recipe are compared by Hamming distance."""

    recipe: str = Field(description="Name of the recipe.")
    hex: str = Field(description="The bits as hexadecimal digits, four bits each.")


class FingerprintBody(Body):
    """A simhash and the recipe that made it."""

    recipe: str = Field(
        description="Name of the recipe.", json_schema_extra={"enum": list(FINGERPRINT_RECIPES)}
    )
    hex: str = Field(
        description="The bits as hexadecimal digits, four bits each: 32 digits for 128 bits.",
        json_schema_extra={"pattern": "^[0-9A-Fa-f]{16,64}$"},
    )

    def to_fingerprint(self, field: str) -> Fingerprint:
        """Return the fingerprint; raises InvalidInput or UnknownRecipe, which names a part of `field`."""
        return json_codec.decode_fingerprint(self.model_dump(), field)


class MinHashBody(Body):
    """A MinHash signature and the recipe that made it."""

    recipe: str = Field(description="Name of the recipe.", json_schema_extra={"enum": list(MINHASH_RECIPES)})
    values: str = Field(
        description="Base64 of the 128 values, each a little-endian unsigned 32-bit integer.",
        json_schema_extra={"pattern": "^[0-9A-Za-z+/]{683}=$"},
    )
    shingle_count: Count = Field(
        description="Number of distinct shingles of the book; at most its number of words."
    )


class SampleBody(Body):
    """A sample of the hashes of a text and the recipe that made it."""

    recipe: str = Field(description="Name of the recipe.", json_schema_extra={"enum": list(SAMPLE_RECIPES)})
    level: Annotated[int, Field(ge=0, le=254), WholeNumber] = Field(
        description="Sets the limit below which the sample contains every hash of the book: (8 + level mod "
        "8) · 2^(level div 8 + 29)."
    )
    hashes: str = Field(
        max_length=_base64_length(256 * 8),
        description="Base64 of at most 256 hashes, ascending, each a little-endian unsigned 64-bit integer.",
    )
    places: str | None = Field(
        default=None,
        max_length=_base64_length(256 * 2),
        description="Base64 of the first place of each hash in the book, in 1/65,536 of its length, as "
        "little-endian unsigned 16-bit integers. Signatures of old versions have no places.",
    )


class PageSignaturesBody(Body):
    """The signatures of all pages and the recipe that made them."""

    recipe: str = Field(description="Name of the recipe.", json_schema_extra={"enum": list(PAGE_RECIPES)})
    unit: Literal["page", "window"] = Field(
        description="`page` if `page_count` is sent, otherwise `window`: windows of words replace pages."
    )
    values: str = Field(
        max_length=_base64_length(MAX_PAGES * 130),
        description="Base64 of the signatures, 130 bytes per page or window.",
    )


DigestsBody = Annotated[
    dict[
        Annotated[str, Field(json_schema_extra={"enum": list(DIGESTS)})],
        Annotated[str, Field(json_schema_extra={"pattern": "^[0-9A-Fa-f]{32}$"})],
    ],
    Field(max_length=len(DIGESTS)),
]


_Word = Annotated[int, Field(ge=0, lt=1 << 64)]


class DatasketchBody(OneOfBody):
    """A MinHash of datasketch 2: 128 values, seed 1, scheme `affine32`."""

    one_of: ClassVar[dict[str, str]] = {"leanminhash": "string", "hashvalues": "array"}

    leanminhash: str | None = Field(
        default=None, max_length=10_000, description="Base64 of the bytes from `LeanMinHash.serialize`."
    )
    hashvalues: Annotated[list[_Word], Field(max_length=1_024, fail_fast=True)] | None = Field(
        default=None, description="The 128 values, with `seed` and `scheme`, instead of `leanminhash`."
    )
    seed: _Word | None = None
    scheme: Annotated[str, Field(max_length=20)] | None = None
    shingle_count: Count | None = Field(
        default=None, description="Number of distinct members of the set; unset: estimated to about 9 %."
    )

    def to_sketch(self) -> Sketch:
        """Return the signature; raises InvalidInput, which names the wrong part."""
        return lean_minhash.decode(self.model_dump())


def _sent(name: str) -> JsonDict:
    return {"required": [name], "properties": {name: {"type": "object"}}}


_RULES: list[JsonValue] = [
    {"anyOf": [_sent("fingerprint"), _sent("minhash"), _sent("pages")]},
    {"anyOf": [_sent("minhash"), {"properties": {"sample": {"type": "null"}}}]},
]


class SignaturesBody(Body):
    """Signatures of a book, as printed by `bookprint sign`; at least fingerprint, minhash or pages."""

    model_config = ConfigDict(json_schema_extra={"allOf": _RULES})

    fingerprint: FingerprintBody | None = None
    minhash: MinHashBody | None = None
    sample: SampleBody | None = Field(
        default=None,
        description="Sample to find small overlaps; only with `minhash`. Optional.",
    )
    pages: PageSignaturesBody | None = None
    digests: DigestsBody | None = Field(
        default=None, description="Hashes of the text that other systems use. Optional."
    )
    word_count: Count = Field(
        description="Number of words, or of characters in scripts without word spaces; at most "
        "`character_count`."
    )
    character_count: Count = Field(description="Number of characters of the normalised text.")
    page_count: Count | None = Field(
        default=None, description="Number of pages, with blank pages; null: unknown."
    )
    single_words: Annotated[int, Field(ge=0, le=json_codec.MAX_COUNT), WholeNumber] | None = Field(
        default=None,
        description="Number of words that occur once; fewer in the cleaner of two copies. Optional.",
    )

    def to_sketch(self) -> Sketch:
        """Return the signatures; raises InvalidInput or UnknownRecipe, which names the wrong part."""
        return json_codec.decode(self.model_dump())


class SignaturesQuery(Parameters):
    """The format of the returned signatures."""

    format: Literal["datasketch"] = Field(
        default="datasketch", description="datasketch: the MinHash for datasketch 2."
    )


class LeanMinHashAnswer(Document):
    """A MinHash for datasketch 2, with the permutations of seed 1 in the scheme `affine32`."""

    leanminhash: str = Field(description="Base64 of the bytes for `LeanMinHash.deserialize`.")
    shingle_count: int = Field(description="Number of distinct shingles of the book.")


class BookSignatures(Document):
    """Signatures of a book, in the form that posts and lookups accept."""

    datasketch: LeanMinHashAnswer | None = Field(description="Null if the book has no MinHash.")
