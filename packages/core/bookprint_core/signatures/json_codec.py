"""Signatures as JSON, which `bookprint sign` prints and a client may post instead of the text.

{"fingerprint": {"recipe": "gap-simhash128-v1", "hex": "<32 hex digits>"} | null,
 "minhash": {"recipe": "word5-minhash128-v1", "values": "<base64 of 128 little-endian uint32>",
             "shingle_count": 94012} | null,
 "sample": {"recipe": "char20-sample256-v2", "level": 220,
            "hashes": "<base64 of little-endian uint64, ascending>",  left out if there is no sample
            "places": "<base64 of little-endian uint16>"},  of each hash, left out if they are not known
 "pages": {"recipe": "char6-page128-v2", "unit": "page" | "window",
           "values": "<base64 of 130 bytes for each>"} | null,
 "digests": {"md5-text": "<32 hex digits>"},  by recipe, left out if there are none
 "word_count": 95012, "character_count": 512044, "page_count": 330 | null,
 "single_words": 4123,  words that occur once, left out if they were not counted
 "identifier": "bp2:…"}  for a book known only by its identifier
"""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar

from bookprint_core.errors import InvalidInput, UnknownRecipe
from bookprint_core.model import Digest, Fingerprint, FracMinHash, MinHashSignature, PageSignatures, Sketch
from bookprint_core.recipe import DIGESTS, fingerprint_recipe, minhash_recipe, page_recipe, sample_recipe
from bookprint_core.signatures.digests import decode_digest
from bookprint_core.signatures.fracminhash import limit_of
from bookprint_core.signatures.identifier import identified, of_signatures, written
from bookprint_core.signatures.page_minhash import from_records, record_bytes, to_records

_BYTES_IN_BASE64 = (("minhash", "values"), ("sample", "hashes"), ("sample", "places"), ("pages", "values"))

MAX_COUNT = (1 << 31) - 1
"""Highest count accepted."""

_Recipe = TypeVar("_Recipe")
_Part = TypeVar("_Part")


def encode(sketch: Sketch, pages: bool = True) -> dict[str, Any]:
    """Encode the sketch as plain JSON values, without the page signatures if `pages` is false."""
    document = encode_binary(sketch if pages else replace(sketch, pages=None))
    for part, name in _BYTES_IN_BASE64:
        if name in (document.get(part) or ()):
            document[part][name] = b64encode(document[part][name]).decode()
    if sketch.fingerprint is not None:
        document["fingerprint"]["hex"] = sketch.fingerprint.hex
    if sketch.digests:
        document["digests"] = {digest.recipe: digest.hex for digest in sketch.digests}
    return document


def encode_binary(sketch: Sketch) -> dict[str, Any]:
    """Encode the sketch with the names of `encode`, but with bytes for hexadecimal digits and base64."""
    fingerprint, minhash, sample, pages = sketch.fingerprint, sketch.minhash, sketch.sample, sketch.pages
    document: dict[str, Any] = {
        "fingerprint": fingerprint and {"recipe": fingerprint.recipe, "hex": fingerprint.bits},
        "minhash": minhash
        and {"recipe": minhash.recipe, "values": minhash.to_bytes(), "shingle_count": minhash.shingle_count},
        "pages": pages and {"recipe": pages.recipe, "unit": pages.unit, "values": to_records(pages)},
        "word_count": sketch.word_count,
        "character_count": sketch.character_count,
        "page_count": sketch.page_count,
    }
    # A missing sample has no name, so that the key of signatures made without samples does not change.
    if sample is not None:
        document["sample"] = {"recipe": sample.recipe, "level": sample.level, "hashes": sample.to_bytes()}
        if sample.places is not None:
            document["sample"]["places"] = sample.places_to_bytes()
    if sketch.digests:
        document["digests"] = {digest.recipe: digest.value for digest in sketch.digests}
    if sketch.single_words is not None:
        document["single_words"] = sketch.single_words
    if sketch.identified is not None and (identifier := of_signatures(sketch, sketch.word_count)) is not None:
        document["identifier"] = written(identifier)
    return document


def decode(document: Mapping[str, Any], field: str = "signatures") -> Sketch:
    """Read a sketch from the values of `encode` or `encode_binary`.

    Raises InvalidInput, or UnknownRecipe, whose `field` names the wrong part, below `field`.
    """
    counts = ("word_count", "character_count", "page_count", "single_words")
    parts = ("fingerprint", "minhash", "sample", "pages", "digests", "identifier")
    require_names(document, field, *parts, *counts)
    identifier = document.get("identifier")
    page_count, single_words = document.get("page_count"), document.get("single_words")
    sketch = Sketch(
        fingerprint=_part(document, "fingerprint", field, decode_fingerprint, "recipe", "hex"),
        minhash=_part(document, "minhash", field, _minhash, "recipe", "values", "shingle_count"),
        pages=_part(document, "pages", field, _pages, "recipe", "unit", "values"),
        word_count=decoded_count(document.get("word_count"), f"{field}.word_count"),
        character_count=decoded_count(document.get("character_count"), f"{field}.character_count"),
        page_count=None if page_count is None else decoded_count(page_count, f"{field}.page_count"),
        sample=_part(document, "sample", field, _sample, "recipe", "level", "hashes", "places"),
        digests=_part(document, "digests", field, _digests, *DIGESTS) or (),
        single_words=None
        if single_words is None
        else decoded_count(single_words, f"{field}.single_words", 0),
        identified=None if identifier is None else identified(_text(identifier, f"{field}.identifier")),
    )
    _check(sketch, field)
    return sketch


def decode_fingerprint(document: Mapping[str, Any], field: str = "fingerprint") -> Fingerprint:
    """Read the fingerprint in `{"recipe": …, "hex": …}`; raise the errors of `decode`."""
    recipe = _recipe(fingerprint_recipe, document, field)
    digits = _hexadecimal(document.get("hex"), f"{field}.hex")
    if len(digits) != recipe.bits // 4 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        raise InvalidInput(f"{recipe.bits // 4} hexadecimal digits were expected here.", field=f"{field}.hex")
    return Fingerprint(recipe.name, bytes.fromhex(digits))


def _check(sketch: Sketch, field: str) -> None:
    minhash, sample, pages = sketch.minhash, sketch.sample, sketch.pages
    if sketch.fingerprint is None and minhash is None and pages is None:
        raise InvalidInput("No signature at all. Send fingerprint, minhash or pages.", field=field)
    if sketch.word_count > sketch.character_count:
        raise InvalidInput("More words than characters.", field=f"{field}.word_count")
    if (sketch.single_words or 0) > sketch.word_count:
        raise InvalidInput("More words that occur once than words.", field=f"{field}.single_words")
    if minhash is not None and minhash.shingle_count > sketch.word_count:
        raise InvalidInput("More shingles than words.", field=f"{field}.minhash.shingle_count")
    if sample is not None and minhash is None:
        raise InvalidInput("A sample needs the MinHash of its book.", f"{field}.sample")
    if pages is None:
        return
    if (pages.unit == "page") != (sketch.page_count is not None):
        raise InvalidInput(
            'The unit must be "page" with a page_count, and "window" without.', field=f"{field}.pages.unit"
        )
    if sketch.page_count is not None and len(pages.values) != sketch.page_count:
        raise InvalidInput(
            f"{len(pages.values)} page signatures, but page_count is {sketch.page_count}.",
            field=f"{field}.page_count",
        )


def _part(
    document: Mapping[str, Any],
    name: str,
    field: str,
    decoded: Callable[[Mapping[str, Any], str], _Part],
    *names: str,
) -> _Part | None:
    value, field = document.get(name), f"{field}.{name}"
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InvalidInput("An object was expected here, or null.", field=field)
    require_names(value, field, *names)
    return decoded(value, field)


def require_names(value: Mapping[str, Any], field: str, *names: str) -> None:
    """Raise InvalidInput for any other name."""
    for name in value:
        if name not in names:
            raise InvalidInput(f"Unknown name. Known: {', '.join(names)}.", field=f"{field}.{name}")


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput("A string was expected here.", field=field)
    return value


def decoded_count(value: Any, field: str, least: int = 1, most: int = MAX_COUNT) -> int:
    """Check that a value is a whole number in bounds and return it; raise InvalidInput."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidInput(f"A whole number from {least} to {most} was expected here.", field=field)
    return value


def _hexadecimal(value: Any, field: str) -> str:
    return value.hex() if isinstance(value, bytes) else _text(value, field)


def decoded_bytes(value: Any, field: str, row: int, rows: int | None = None) -> bytes:
    """Decode base64 into `rows` rows of `row` bytes, or into any number of rows; raise InvalidInput."""
    try:
        data = value if isinstance(value, bytes) else b64decode(_text(value, field), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput(f"Not base64: {error}.", field=field) from None
    if rows is not None and len(data) != row * rows:
        raise InvalidInput(f"{row * rows} bytes in base64 were expected, {len(data)} came.", field=field)
    if len(data) % row:
        raise InvalidInput(
            f"A multiple of {row} bytes in base64 was expected, {len(data)} came.", field=field
        )
    return data


def _recipe(named: Callable[[str], _Recipe], document: Mapping[str, Any], field: str) -> _Recipe:
    name = _text(document.get("recipe"), f"{field}.recipe")
    try:
        return named(name)
    except UnknownRecipe as error:
        raise UnknownRecipe(str(error), field=f"{field}.recipe") from None


def _minhash(document: Mapping[str, Any], field: str) -> MinHashSignature:
    recipe = _recipe(minhash_recipe, document, field)
    data = decoded_bytes(document.get("values"), f"{field}.values", 4, recipe.permutations)
    count = decoded_count(document.get("shingle_count"), f"{field}.shingle_count")
    return MinHashSignature.from_bytes(recipe.name, data, count)


def _sample(document: Mapping[str, Any], field: str) -> FracMinHash:
    recipe = _recipe(sample_recipe, document, field)
    level = decoded_count(document.get("level"), f"{field}.level", 0, recipe.top_level)
    data, places = decoded_bytes(document.get("hashes"), f"{field}.hashes", 8), document.get("places")
    if places is not None:
        places = decoded_bytes(places, f"{field}.places", 2, len(data) // 8)
    sample = FracMinHash.from_bytes(recipe.name, data, level, places)
    hashes = sample.hashes
    if hashes.size > recipe.most:
        raise InvalidInput(f"At most {recipe.most} hashes were expected.", field=f"{field}.hashes")
    if (hashes[1:] <= hashes[:-1]).any():
        raise InvalidInput("Hashes must ascend, without repeats.", field=f"{field}.hashes")
    limit = limit_of(level, recipe)
    if hashes.size and int(hashes[-1]) >= limit:
        raise InvalidInput(f"Hashes must be below {limit}, the limit of level {level}.", f"{field}.hashes")
    return sample


def _digests(document: Mapping[str, Any], field: str) -> tuple[Digest, ...]:
    given = {name: document[name] for name in DIGESTS if document.get(name) is not None}
    return tuple(
        decode_digest(name, _hexadecimal(value, f"{field}.{name}"), f"{field}.{name}")
        for name, value in given.items()
    )


def _pages(document: Mapping[str, Any], field: str) -> PageSignatures:
    recipe = _recipe(page_recipe, document, field)
    unit: Literal["page", "window"] = "page" if document.get("unit") == "page" else "window"
    if document.get("unit") != unit:
        raise InvalidInput('"page" or "window" was expected here.', field=f"{field}.unit")
    data = decoded_bytes(document.get("values"), f"{field}.values", record_bytes(recipe))
    if not data:
        raise InvalidInput("At least one page signature was expected here.", field=f"{field}.values")
    return from_records(recipe, unit, data)
