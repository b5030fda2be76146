"""Two implementations against the golden vectors: the compiled kernels, and plain Python."""

import json
import unicodedata
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bookprint_core.errors import InvalidIdentifier
from bookprint_core.index.fingerprints import band_keys
from bookprint_core.model import Fingerprint, MinHashBits, MinHashSignature
from bookprint_core.recipe import DEFAULT_MINHASH, fingerprint_recipe
from bookprint_core.signatures import identifier
from bookprint_core.signatures.minhash import lowest_bits
from bookprint_core.text.unicode_table import UNICODE_VERSION
from tests.core import reference
from tests.vectors import generate

HERE = Path(__file__).parent
BOOKS: dict[str, Any] = json.loads((HERE / "books.json").read_text(encoding="utf-8"))
HASHES: dict[str, Any] = json.loads((HERE / "hashes.json").read_text(encoding="utf-8"))
LONG_IDENTIFIERS: dict[str, Any] = json.loads((HERE / "long_identifiers.json").read_text(encoding="utf-8"))
IDENTIFIERS: dict[str, Any] = json.loads((HERE / "identifiers.json").read_text(encoding="utf-8"))

same_unicode = pytest.mark.skipif(
    unicodedata.unidata_version != UNICODE_VERSION,
    reason=f"the plain implementation takes this Python's Unicode, which is not {UNICODE_VERSION}",
)


@pytest.mark.parametrize("name", generate.FILES)
def test_generator_writes_what_is_there(name: str) -> None:
    """By the compiled kernels."""
    made = json.loads(json.dumps(generate.FILES[name]()))
    assert made == json.loads((HERE / name).read_text(encoding="utf-8"))


QUICK = (
    "two hundred words",
    "japanese, 1400 words",
    "seven Han characters",
    "four words",
    "blank pages around one word",
    "a word across pages",
    "Han across pages",
)
"""Small texts of all kinds of signature; plain Python takes seconds for each of the long ones."""


@same_unicode
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in BOOKS]
)
def test_plain_implementation_finds_the_same_signatures(name: str) -> None:
    book = BOOKS[name]
    text = book["text"]
    assert reference.signatures(text, book["page_count"]) == book["signatures"]
    normal, _, _ = reference.form_of(text)
    assert sha256(normal.encode()).hexdigest() == book["normal_form_sha256"]
    all_bits = reference.simhash(normal, 256, (4, 2, 2, 4), 1000, 1, 16, gap=False)
    for recipe, digits in book["studied_fingerprints"].items():
        assert (all_bits and all_bits[: fingerprint_recipe(recipe).bits // 4]) == digits


def test_plain_building_blocks_agree() -> None:
    for x, h in HASHES["mix32"].items():
        assert reference.mix32(int(x)) == h
    for x, h in HASHES["mix64"].items():
        assert reference.mix64(int(x)) == h
    vector = HASHES["shingles"]
    hashes = reference.shingles(vector["text"])
    assert [f"{h:016x}" for h in hashes] == vector["hashes"]
    assert [h & 0xFFFFFFFF for h in hashes] == vector["low_32_bits"]
    permutations = HASHES["permutations"]
    assert reference.minhash(hashes, permutations["a"], permutations["b"]) == vector["minhash_values"]


def test_datasketch_fed_the_low_32_bits_has_the_same_values() -> None:
    from datasketch import MinHash

    other = MinHash(num_perm=128, scheme="affine32", hashfunc=lambda h: h)
    for h in HASHES["shingles"]["low_32_bits"]:
        other.update(h)
    assert other.hashvalues.tolist() == HASHES["shingles"]["minhash_values"]


@pytest.mark.parametrize("vector", IDENTIFIERS["valid"], ids=lambda vector: vector["identifier"])
def test_identifier_says_what_it_should(vector: Any) -> None:
    decoded = identifier.decode(vector["identifier"])
    assert (decoded.fingerprint.recipe, decoded.fingerprint.hex) == (vector["recipe"], vector["hex"])
    assert decoded.word_count == vector["decoded_word_count"]
    assert identifier.encode(decoded.fingerprint, vector["word_count"]) == vector["identifier"]
    assert band_keys(decoded.fingerprint.bits) == vector["bands"]


@pytest.mark.parametrize("same", IDENTIFIERS["same_as_second"])
def test_identifier_written_otherwise_is_the_same(same: str) -> None:
    assert identifier.decode(same) == identifier.decode(IDENTIFIERS["valid"][1]["identifier"])


@pytest.mark.parametrize("damaged", [*IDENTIFIERS["invalid"], *LONG_IDENTIFIERS["invalid"]])
def test_damaged_identifier_is_refused(damaged: str) -> None:
    with pytest.raises(InvalidIdentifier):
        identifier.decode(damaged)


@pytest.mark.parametrize("vector", LONG_IDENTIFIERS["valid"], ids=lambda vector: vector["identifier"])
def test_long_identifier_says_what_it_should(vector: Any) -> None:
    decoded = identifier.decode(vector["identifier"])
    assert decoded.fingerprint == Fingerprint("gap-simhash128-v1", bytes.fromhex(vector["hex"]))
    assert decoded.word_count == vector["decoded_word_count"]
    bits = MinHashBits(
        DEFAULT_MINHASH, bytes.fromhex(vector["minhash_bits"]), vector["decoded_shingle_count"]
    )
    assert decoded.minhash == bits
    given = replace(bits, shingle_count=vector["shingle_count"])
    assert identifier.encode_long(decoded.fingerprint, given, vector["word_count"]) == vector["identifier"]


def test_minhash_bits_are_the_lowest_of_the_values() -> None:
    values = LONG_IDENTIFIERS["minhash"]["values"]
    digits = "".join(str(value % 2) for value in values)
    assert f"{int(digits, 2):032x}" == LONG_IDENTIFIERS["minhash"]["bits"]
    signature = MinHashSignature(DEFAULT_MINHASH, np.array(values, dtype=np.uint32), 1)
    assert lowest_bits(signature).bits.hex() == LONG_IDENTIFIERS["minhash"]["bits"]
