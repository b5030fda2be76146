"""Signatures as JSON, as `bookprint sign` prints them and a client may post them instead of the text.

{"fingerprint": {"recipe": "gap-simhash128-v1", "hex": "<32 hex digits>"} | null,
 "minhash": {"recipe": "word5-minhash128-v1", "values": "<base64 of 128 little-endian uint32>",
             "shingle_count": 94012} | null,
 "sample": {"recipe": "word5-sample128-v1", "level": 57,
            "hashes": "<base64 of little-endian uint64, ascending>"},  left out where there is none
 "pages": {"recipe": "char6-page128-v2", "unit": "page" | "window",
           "values": "<base64 of 130 bytes for each>"} | null,
 "word_count": 95012, "character_count": 512044, "page_count": 330 | null}
"""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import numpy as np

from app.core.errors import InvalidInput, UnknownRecipe
from app.core.model import Fingerprint, FracMinHash, MinHashSignature, PageSignatures, Sketch
from app.core.recipe import fingerprint_recipe, minhash_recipe, page_recipe, sample_recipe
from app.core.signatures.page_minhash import from_records, record_bytes, to_records

MAX_COUNT = (1 << 31) - 1
"""Higher counts are refused."""

_Recipe = TypeVar("_Recipe")


def encode(sketch: Sketch, pages: bool = True) -> dict[str, Any]:
    """The sketch as plain JSON values, without the page signatures if `pages` is false."""
    fingerprint, minhash, page_signatures = (
        sketch.fingerprint,
        sketch.minhash,
        sketch.pages if pages else None,
    )
    document: dict[str, Any] = {
        "fingerprint": fingerprint and {"recipe": fingerprint.recipe, "hex": fingerprint.hex},
        "minhash": minhash
        and {
            "recipe": minhash.recipe,
            "values": b64encode(minhash.values.astype("<u4").tobytes()).decode(),
            "shingle_count": minhash.shingle_count,
        },
        "pages": page_signatures
        and {
            "recipe": page_signatures.recipe,
            "unit": page_signatures.unit,
            "values": b64encode(to_records(page_signatures)).decode(),
        },
        "word_count": sketch.word_count,
        "character_count": sketch.character_count,
        "page_count": sketch.page_count,
    }
    # Left out if there is none, so that signatures made without one keep their content key.
    if sketch.sample is not None:
        document["sample"] = {
            "recipe": sketch.sample.recipe,
            "level": sketch.sample.level,
            "hashes": b64encode(sketch.sample.hashes.astype("<u8").tobytes()).decode(),
        }
    return document


def decode(document: Mapping[str, Any], field: str = "signatures") -> Sketch:
    """The sketch in plain JSON values; the reverse of `encode`.

    Raises InvalidInput, or UnknownRecipe, whose `field` names the part that is wrong, below `field`.
    """
    _only(
        document,
        field,
        "fingerprint",
        "minhash",
        "sample",
        "pages",
        "word_count",
        "character_count",
        "page_count",
    )
    page_count = document.get("page_count")
    sketch = Sketch(
        fingerprint=_fingerprint(document.get("fingerprint"), f"{field}.fingerprint"),
        minhash=_minhash(document.get("minhash"), f"{field}.minhash"),
        pages=_pages(document.get("pages"), f"{field}.pages"),
        word_count=_count(document.get("word_count"), f"{field}.word_count"),
        character_count=_count(document.get("character_count"), f"{field}.character_count"),
        page_count=None if page_count is None else _count(page_count, f"{field}.page_count"),
        sample=_sample(document.get("sample"), f"{field}.sample"),
    )
    _check(sketch, field)
    return sketch


def decode_fingerprint(document: Mapping[str, Any], field: str = "fingerprint") -> Fingerprint:
    """The fingerprint in `{"recipe": …, "hex": …}`; raises as `decode` does."""
    recipe = _recipe(fingerprint_recipe, document, field)
    digits = _text(document.get("hex"), f"{field}.hex")
    if len(digits) != recipe.bits // 4 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        raise InvalidInput(f"{recipe.bits // 4} hexadecimal digits were expected here.", field=f"{field}.hex")
    return Fingerprint(recipe.name, bytes.fromhex(digits))


def _check(sketch: Sketch, field: str) -> None:
    if sketch.fingerprint is None and sketch.minhash is None and sketch.pages is None:
        raise InvalidInput("No signature at all. Send fingerprint, minhash or pages.", field=field)
    if sketch.word_count > sketch.character_count:
        raise InvalidInput("More words than characters.", field=f"{field}.word_count")
    if sketch.minhash is not None and sketch.minhash.shingle_count > sketch.word_count:
        raise InvalidInput("More shingles than words.", field=f"{field}.minhash.shingle_count")
    if sketch.sample is not None and sketch.minhash is None:
        raise InvalidInput(
            "A sample tells nothing without the MinHash of the same shingles.", f"{field}.sample"
        )
    if (
        sketch.sample is not None
        and sketch.minhash is not None
        and sketch.sample.hashes.size > sketch.minhash.shingle_count
    ):
        raise InvalidInput("More hashes than shingles.", field=f"{field}.sample.hashes")
    pages = sketch.pages
    if pages is None:
        return
    if (pages.unit == "page") != (sketch.page_count is not None):
        raise InvalidInput(
            'The unit must be "page" where page_count is given, "window" where it is not.',
            field=f"{field}.pages.unit",
        )
    if sketch.page_count is not None and len(pages.values) != sketch.page_count:
        raise InvalidInput(
            f"{len(pages.values)} page signatures, but page_count is {sketch.page_count}.",
            field=f"{field}.page_count",
        )


def _mapping(value: Any, field: str, *names: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput("An object was expected here, or null.", field=field)
    _only(value, field, *names)
    return value


def _only(value: Mapping[str, Any], field: str, *names: str) -> None:
    for name in value:
        if name not in names:
            raise InvalidInput(f"Unknown name. Known: {', '.join(names)}.", field=f"{field}.{name}")


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput("A string was expected here.", field=field)
    return value


def _count(value: Any, field: str, least: int = 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MAX_COUNT:
        raise InvalidInput(f"A whole number from {least} to {MAX_COUNT} was expected here.", field=field)
    return value


def _bytes(value: Any, field: str, row: int, rows: int | None = None) -> bytes:
    try:
        data = b64decode(_text(value, field), validate=True)
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


def _fingerprint(value: Any, field: str) -> Fingerprint | None:
    return None if value is None else decode_fingerprint(_mapping(value, field, "recipe", "hex"), field)


def _minhash(value: Any, field: str) -> MinHashSignature | None:
    if value is None:
        return None
    document = _mapping(value, field, "recipe", "values", "shingle_count")
    recipe = _recipe(minhash_recipe, document, field)
    data = _bytes(document.get("values"), f"{field}.values", 4, recipe.permutations)
    count = _count(document.get("shingle_count"), f"{field}.shingle_count")
    return MinHashSignature(recipe.name, np.frombuffer(data, dtype="<u4").astype(np.uint32), count)


def _sample(value: Any, field: str) -> FracMinHash | None:
    if value is None:
        return None
    document = _mapping(value, field, "recipe", "level", "hashes")
    recipe = _recipe(sample_recipe, document, field)
    level = document.get("level")
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= 64:
        raise InvalidInput("A whole number from 0 to 64 was expected here.", field=f"{field}.level")
    hashes = np.frombuffer(_bytes(document.get("hashes"), f"{field}.hashes", 8), dtype="<u8").astype(
        np.uint64
    )
    if hashes.size > recipe.most:
        raise InvalidInput(f"At most {recipe.most} hashes were expected.", field=f"{field}.hashes")
    if (hashes[1:] <= hashes[:-1]).any():
        raise InvalidInput("Hashes must ascend, each one once.", field=f"{field}.hashes")
    if hashes.size and int(hashes[-1]) >> level:
        raise InvalidInput(f"Hashes must be below 2^{level}.", field=f"{field}.hashes")
    return FracMinHash(recipe.name, hashes, level)


def _pages(value: Any, field: str) -> PageSignatures | None:
    if value is None:
        return None
    document = _mapping(value, field, "recipe", "unit", "values")
    recipe = _recipe(page_recipe, document, field)
    unit: Literal["page", "window"]
    match document.get("unit"):
        case "page":
            unit = "page"
        case "window":
            unit = "window"
        case _:
            raise InvalidInput('"page" or "window" was expected here.', field=f"{field}.unit")
    data = _bytes(document.get("values"), f"{field}.values", record_bytes(recipe))
    if not data:
        raise InvalidInput("At least one page signature was expected here.", field=f"{field}.values")
    return from_records(recipe, unit, data)
