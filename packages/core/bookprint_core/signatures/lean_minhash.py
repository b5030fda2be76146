"""MinHash signatures in the formats of datasketch 2.

`LeanMinHash.serialize` writes in little-endian order the seed (8 bytes), the number of values (4), a byte for
the scheme (1 is `affine32`), and the values. The number is negative, except for the scheme "legacy". The
native form, its default, has three bytes before the values, so that they begin at a multiple of four.

{"leanminhash": "<base64>"} | {"seed": 1, "scheme": "affine32", "hashvalues": [128 whole numbers]},
with "shingle_count" if the number of distinct members is known
"""

from base64 import b64encode
from collections.abc import Mapping
from struct import Struct
from typing import Any

import numpy as np

from bookprint_core.errors import InvalidInput
from bookprint_core.model import MinHashSignature, Sketch
from bookprint_core.recipe import DEFAULT_MINHASH, minhash_recipe
from bookprint_core.signatures.json_codec import decoded_bytes, decoded_count, require_names

_RECIPE = minhash_recipe(DEFAULT_MINHASH)
_SCHEME_CODES = {1: "affine32", 2: "affine64"}
_START, _HEAD = Struct("<qi"), Struct("<qiB3x")
_LARGEST = 0xFFFFFFFF
_WANTED = f'MinHash(num_perm={_RECIPE.permutations}, seed={_RECIPE.seed}, scheme="{_RECIPE.scheme}")'


def encode(minhash: MinHashSignature) -> dict[str, Any]:
    """Encode the signature for `decode` and, without base64, for `LeanMinHash.deserialize`."""
    code = next(code for code, name in _SCHEME_CODES.items() if name == _RECIPE.scheme)
    data = _HEAD.pack(_RECIPE.seed, -minhash.values.size, code) + minhash.to_bytes()
    return {"leanminhash": b64encode(data).decode(), "shingle_count": minhash.shingle_count}


def decode(document: Mapping[str, Any], field: str = "datasketch") -> Sketch:
    """Read the sketch of a book of which only this MinHash is known.

    A missing shingle count is estimated from the values as datasketch does (Cohen 1997), within about 9 %.
    Raises InvalidInput, whose `field` names the wrong part, for a MinHash that cannot be compared with ours.
    """
    require_names(document, field, "leanminhash", "seed", "scheme", "hashvalues", "shingle_count")
    if document.get("leanminhash") is not None:
        field = f"{field}.leanminhash"
        seed, scheme, size, sent = _unpacked(decoded_bytes(document["leanminhash"], field, 1), field)
    else:
        given, field = document.get("hashvalues"), f"{field}.hashvalues"
        if not isinstance(given, list) or not all(_is_value(each) for each in given):
            raise InvalidInput("A list of whole numbers below 2^32 was expected here.", field=field)
        seed, scheme, size, sent = document.get("seed"), document.get("scheme"), len(given), given
    if (seed, scheme, size) != (_RECIPE.seed, _RECIPE.scheme, _RECIPE.permutations):
        raise InvalidInput(
            f"This MinHash has the seed {seed}, the scheme {scheme} and {size} values, so it cannot be "
            f"compared with others here. Compute it with datasketch 2 as {_WANTED}.",
            field=field,
        )
    values = np.array(sent, dtype=np.uint32)
    if (values == _LARGEST).all():
        raise InvalidInput("The MinHash is empty: no shingle was added to it.", field=field)
    count = document.get("shingle_count")
    if count is None:
        count = max(1, round(values.size / (values / _LARGEST).sum() - 1))
    count = decoded_count(count, f"{field.partition('.')[0]}.shingle_count")
    return Sketch(
        fingerprint=None,
        minhash=MinHashSignature(_RECIPE.name, values, count),
        pages=None,
        word_count=count,
        character_count=count,
        page_count=None,
    )


def _is_value(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _unpacked(data: bytes, field: str) -> tuple[Any, Any, int, object]:
    """Unpack seed, scheme, size and values of a serialised LeanMinHash; other schemes give wrong values."""
    if len(data) < _START.size + 1:
        raise InvalidInput("These are not the bytes of a LeanMinHash.", field=field)
    seed, size = _START.unpack_from(data)
    if size >= 0:
        return seed, "legacy", size, None
    scheme = _SCHEME_CODES.get(data[_START.size], "unknown")
    values = data[_START.size + 1 :] if len(data) == _START.size + 1 - 4 * size else data[_HEAD.size :]
    if scheme == _RECIPE.scheme and len(values) != -4 * size:
        raise InvalidInput(
            "These are not the bytes of a LeanMinHash in its little-endian form: serialize(buffer, '<').",
            field=field,
        )
    return seed, scheme, -size, np.frombuffer(values[: len(values) // 4 * 4], dtype="<u4")
