"""MinHash signatures as datasketch 2 writes and reads them."""

from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import pytest
from datasketch import LeanMinHash, MinHash

from bookprint_core.errors import InvalidInput
from bookprint_core.signatures.lean_minhash import decode, encode


def signed(members: int = 1_000, **options: Any) -> MinHash:
    made = MinHash(**options)
    made.update_batch([number.to_bytes(4) for number in range(members)])
    return made


def lean(minhash: MinHash, order: str = "@") -> dict[str, Any]:
    written = LeanMinHash(minhash)
    data = bytearray(written.bytesize(order))
    written.serialize(data, order)
    return {"leanminhash": b64encode(data).decode()}


def test_a_minhash_made_by_default_comes_and_goes_bit_for_bit() -> None:
    made = signed()
    values = {"seed": made.seed, "scheme": made.scheme, "hashvalues": made.hashvalues.tolist()}
    for document in (lean(made), lean(made, "<"), values):
        sketch = decode(document)
        assert sketch.minhash is not None
        assert sketch.minhash.values.tolist() == made.hashvalues.tolist()
        assert sketch.word_count == sketch.minhash.shingle_count == round(made.count())
        back = LeanMinHash.deserialize(b64decode(encode(sketch.minhash)["leanminhash"]))
        assert back == LeanMinHash(made)
    assert decode({**values, "shingle_count": 990}).word_count == 990


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (lean(signed(seed=2)), r"seed 2, the scheme affine32 and 128 values, .*seed=1, scheme=\"affine32\""),
        (lean(signed(scheme="legacy")), "seed 1, the scheme legacy and 128"),
        (lean(signed(scheme="affine64")), "seed 1, the scheme affine64 and 128"),
        (lean(signed(num_perm=64)), r"seed 1, the scheme affine32 and 64 values, .*num_perm=128"),
        (lean(signed(), ">"), "little-endian|compares with none"),
        (lean(signed(0)), "empty"),
        ({"leanminhash": b64encode(bytes(11)).decode()}, "not the bytes"),
        ({"leanminhash": lean(signed())["leanminhash"][:-8]}, "little-endian"),
        ({"leanminhash": "?"}, "base64"),
        ({"seed": 1, "scheme": "affine32", "hashvalues": [1 << 32] * 128}, "below 2\\^32"),
        ({"hashvalues": np.arange(128).tolist()}, "seed None, the scheme None and 128"),
        ({"minhash": "x"}, "Unknown name"),
    ],
)
def test_any_other_is_refused_with_what_to_compute(document: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        decode(document)
    assert str(refused.value.field).startswith("datasketch.")
