"""Signatures as clients send them, the fingerprint as they are shown it, and what two texts share."""

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
    """Distinct shingles, runs of five words or eight characters."""

    this: int = Field(description="Of the book in the path.")
    other: int = Field(description="Of the other one.")
    shared: int = Field(description="Of both.")


class ExactContainment(Document):
    """Containment both ways, counted."""

    this_in_other: Share = Field(description="Share of this book that the other has, 0 to 1.")
    other_in_this: Share = Field(description="Share of the other book that this one has, 0 to 1.")


class ExactAnswer(Document):
    """Shared parts of the two texts, counted and not estimated."""

    jaccard: Share = Field(description="Shared shingles by all shingles, 0 to 1.")
    containment: ExactContainment
    shingles: ShingleCounts

    @classmethod
    def of(cls, overlap: ExactOverlap) -> Self:
        fields = {"jaccard": overlap.jaccard, "containment": overlap, "shingles": overlap}
        return cls.model_validate(fields)


def _base64_length(size: int) -> int:
    """The number of characters in which this number of bytes is written."""
    return -(-size // 3) * 4


class FingerprintAnswer(Document):
    """A simhash: two of one recipe are compared by Hamming distance."""

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
        """The fingerprint; raises InvalidInput, or UnknownRecipe, naming a part below `field`."""
        return json_codec.decode_fingerprint(self.model_dump(), field)


class MinHashBody(Body):
    """A MinHash signature and the recipe that made it."""

    recipe: str = Field(description="Name of the recipe.", json_schema_extra={"enum": list(MINHASH_RECIPES)})
    values: str = Field(
        description="Base64 of the 128 values, each a little-endian unsigned 32-bit integer.",
        json_schema_extra={"pattern": "^[0-9A-Za-z+/]{683}=$"},
    )
    shingle_count: Count = Field(
        description="How many distinct shingles the book has; not more than its words."
    )


class SampleBody(Body):
    """A sample of the hashes of a text and the recipe that made it."""

    recipe: str = Field(description="Name of the recipe.", json_schema_extra={"enum": list(SAMPLE_RECIPES)})
    level: Annotated[int, Field(ge=0, le=254), WholeNumber] = Field(
        description="The sample holds every hash of the book below a limit: (8 + level mod 8) · 2^(level div "
        "8 + 29)."
    )
    hashes: str = Field(
        max_length=_base64_length(256 * 8),
        description="Base64 of at most 256 hashes, ascending, each a little-endian unsigned 64-bit integer.",
    )
    places: str | None = Field(
        default=None,
        max_length=_base64_length(256 * 2),
        description="Base64 of where each hash first stands in the book, in 1/65,536 of its length: a "
        "little-endian unsigned 16-bit integer each. Signatures of old versions lack them.",
    )


class PageSignaturesBody(Body):
    """The signatures of all pages and the recipe that made them."""

    recipe: str = Field(description="Name of the recipe.", json_schema_extra={"enum": list(PAGE_RECIPES)})
    unit: Literal["page", "window"] = Field(
        description="`page` where `page_count` is given; else `window`: windows of words stand for pages."
    )
    values: str = Field(
        max_length=_base64_length(MAX_PAGES * 130),
        description="Base64 of the signatures, 130 bytes each; `page_count` many, for pages.",
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
        default=None, max_length=10_000, description="Base64 of what `LeanMinHash.serialize` writes."
    )
    hashvalues: Annotated[list[_Word], Field(max_length=1_024, fail_fast=True)] | None = Field(
        default=None, description="The 128 values instead, with `seed` and `scheme`."
    )
    seed: _Word | None = None
    scheme: Annotated[str, Field(max_length=20)] | None = None
    shingle_count: Count | None = Field(
        default=None, description="Distinct members of the set; unset: estimated, within some 9 %."
    )

    def to_sketch(self) -> Sketch:
        """The signature; raises InvalidInput, naming the part that is wrong."""
        return lean_minhash.decode(self.model_dump())


def _sent(name: str) -> JsonDict:
    return {"required": [name], "properties": {name: {"type": "object"}}}


_RULES: list[JsonValue] = [
    {"anyOf": [_sent("fingerprint"), _sent("minhash"), _sent("pages")]},
    {"anyOf": [_sent("minhash"), {"properties": {"sample": {"type": "null"}}}]},
]


class SignaturesBody(Body):
    """All signatures of a book, as `bookprint sign` prints them: fingerprint, minhash or pages at least."""

    model_config = ConfigDict(json_schema_extra={"allOf": _RULES})

    fingerprint: FingerprintBody | None = None
    minhash: MinHashBody | None = None
    sample: SampleBody | None = Field(
        default=None,
        description="Finds small overlaps; only with `minhash`. Signatures of old versions may lack it.",
    )
    pages: PageSignaturesBody | None = None
    digests: DigestsBody | None = Field(
        default=None, description="Hashes of the text that other systems know; they may be left out."
    )
    word_count: Count = Field(
        description="Words of the book; characters, in scripts without spaces. Not more than characters."
    )
    character_count: Count = Field(description="Characters of the normalised text.")
    page_count: Count | None = Field(default=None, description="Pages, blank ones too; null: not known.")
    single_words: Annotated[int, Field(ge=0, le=json_codec.MAX_COUNT), WholeNumber] | None = Field(
        default=None,
        description="Words that occur once, by which the cleaner of two copies is known; may be left out.",
    )

    def to_sketch(self) -> Sketch:
        """The signatures; raises InvalidInput, or UnknownRecipe, naming the part that is wrong."""
        return json_codec.decode(self.model_dump())


class SignaturesQuery(Parameters):
    """The form in which to answer signatures."""

    format: Literal["datasketch"] = Field(
        default="datasketch", description="The MinHash as datasketch 2 reads it."
    )


class LeanMinHashAnswer(Document):
    """A MinHash as datasketch 2 reads it; its permutations are those of seed 1 in the scheme `affine32`."""

    leanminhash: str = Field(description="Base64 of the bytes for `LeanMinHash.deserialize`.")
    shingle_count: int = Field(description="Distinct shingles of the book.")


class BookSignatures(Document):
    """Signatures of a book, as posts and lookups take them."""

    datasketch: LeanMinHashAnswer | None = Field(description="Null where the book has no MinHash.")
