"""Digests against profiles worked out by hand from the rules of Nutch's `TextProfileSignature`.

The MD5 of each profile was computed apart from Bookprint, from the same texts, by a Java program.
"""

from hashlib import md5, sha256

import pytest

from bookprint_core.errors import InvalidInput, UnknownRecipe
from bookprint_core.model import Digest
from bookprint_core.signatures.digests import (
    _lower_units,
    digests,
    md5_text,
    parse_digest,
    text_profile,
    textprofile_md5,
)


def repeated(**counts: int) -> str:
    return " ".join(f"{token} " * count for token, count in counts.items())


# Name: text, profile, MD5.
VECTORS = {
    "counts are rounded down to even": (
        "The cat and the dog. The end, the END! cat THE",
        "the 4\ncat 2\nend 2",
        "e67510d7a92a0b63ee0948cc0101a6cd",
    ),
    "words that all occur once count": (
        "gamma beta alpha",
        "alpha 1\nbeta 1\ngamma 1",
        "a81b3c7fdf2c63a07996f87da6a1d28a",
    ),
    "equal rounded counts are in order of their words": (
        "two one two one one",
        "one 2\ntwo 2",
        "e73843d1d52bee934b7d7cf2531ab258",
    ),
    "order of UTF-16 units is not that of a dictionary": (
        "zebra Ärger apple",
        "apple 1\nzebra 1\närger 1",
        "06761de71750d857c3a813b47e3d17be",
    ),
    "two units are too few": ("an ox is at it and and", "and 2", "28534675ee0168ba95b5adcc67d279f0"),
    "surrogates separate": (
        "abc\U0001d4b3def \U00020000\U00020001 abc\U0001d4b3def 😀",
        "abc 2\ndef 2",
        "e436a73cddf4a9887cd6bc4b597ea724",
    ),
    "a sigma is final where it is written so": (
        "ΟΔΟΣ οδοσ οδος οδος",
        "οδος 2\nοδοσ 2",
        "9bedcc0bd7a73b5ef6de69db2fe4fad2",
    ),
    "title case is lower case": ("ǅep ǆep", "ǆep 2", "b0eda992292a46386ca8e672f0e4b24b"),
    "only decimal digits are digits": (
        "2011 2011 ٣٤٥ ٣٤٥ ²²² ²²² ½½½ ½½½ ⅧⅧⅧ ⅧⅧⅧ",
        "2011 2\n٣٤٥ 2",
        "e1c99b73350d68d049a5f7ffbb4c0a9b",
    ),
    "Han is cut at punctuation alone": (
        "天地玄黃，宇宙洪荒。天地玄黃，日月盈昃",
        "天地玄黃 2",
        "c0e7c885144132dc348839dfbdc206b4",
    ),
    "1 % of 250 is 2.5 as a float, so 3": (
        repeated(aaa=250, bbb=7, ccc=5, ddd=3, eee=2),
        "aaa 249\nbbb 6\nccc 3\nddd 3",
        "0fca5e137cc54c2a938a0b5e4e417014",
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_profile_is_the_one_worked_out_by_hand(name: str) -> None:
    text, profile, digest = VECTORS[name]
    assert text_profile(text) == profile
    assert textprofile_md5(text) == bytes.fromhex(digest)


@pytest.mark.parametrize("text", ["", "a to of", "हिन्दी हिन्दी", "\U0001d4b3\U0001d4b4\U0001d4b5", "½½½ ²²²"])
def test_text_without_a_token_has_no_digest_of_its_profile(text: str) -> None:
    assert text_profile(text) == ""
    assert textprofile_md5(text) is None
    assert [digest.recipe for digest in digests(text)] == ["md5-text"]


def test_letters_and_digits_are_frozen() -> None:
    # As Java's since Unicode 14; a later table would change what names of digests mean.
    assert (
        sha256(_lower_units().tobytes()).hexdigest()
        == "a3fac664cd5d9133e9259ded32d084cf719a5d9858821b79312afb5213b960ec"
    )


def test_md5_of_a_text_is_that_of_its_utf_8() -> None:
    assert md5_text("").hex() == "d41d8cd98f00b204e9800998ecf8427e"
    assert md5_text("abc").hex() == "900150983cd24fb0d6963f7d28e17f72"  # RFC 1321
    assert md5_text("ä😀") == md5(b"\xc3\xa4\xf0\x9f\x98\x80").digest()


def test_digest_is_read_as_it_is_written() -> None:
    [digest, _] = digests("alpha beta gamma")
    assert parse_digest(str(digest), "digest") == digest
    assert parse_digest("md5-text:" + "aB" * 16, "digest") == Digest("md5-text", b"\xab" * 16)


@pytest.mark.parametrize(
    ("written", "error"),
    [
        ("", UnknownRecipe),
        ("sha1:" + "0" * 32, UnknownRecipe),
        ("md5-text", InvalidInput),
        ("md5-text:" + "0" * 31, InvalidInput),
        ("md5-text:" + "0" * 33, InvalidInput),
        ("md5-text:" + "٣" * 32, InvalidInput),
        ("md5-text: " + "0" * 31, InvalidInput),
    ],
)
def test_what_is_no_digest_is_refused(written: str, error: type[InvalidInput]) -> None:
    with pytest.raises(error) as caught:
        parse_digest(written, "digest")
    assert caught.value.field == "digest"
