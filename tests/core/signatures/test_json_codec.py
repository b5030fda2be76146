"""Signatures as JSON."""

import copy
import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from bookprint_core.errors import InvalidInput
from bookprint_core.model import Fingerprint, Metadata, MinHashBits
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH
from bookprint_core.signatures.digests import digests
from bookprint_core.signatures.identifier import Identifier, known_by
from bookprint_core.signatures.json_codec import decode, encode
from bookprint_core.signatures.sketch import signature_key, sketch
from bookprint_core.text.content import content_from_pages, content_from_text
from tests.vectors import texts

PAGED = sketch(content_from_pages(texts.pages("latin", 4, 300, 1)))
UNPAGED = sketch(content_from_text(texts.text("latin", 700, 2)))
TINY = sketch(content_from_text("word"))
DIGESTED = replace(TINY, digests=digests("one two"))


def document() -> dict[str, Any]:
    encoded: dict[str, Any] = json.loads(json.dumps(encode(PAGED)))
    return encoded


@pytest.mark.parametrize(
    "made", [PAGED, UNPAGED, TINY, DIGESTED], ids=["pages", "windows", "one word", "digests"]
)
def test_sketch_survives_the_way_through_json(made: Any) -> None:
    back = decode(json.loads(json.dumps(encode(made))))
    assert encode(back) == encode(made)
    assert signature_key(back) == signature_key(made)
    assert back.digests == made.digests


def test_digests_are_no_part_of_the_key() -> None:
    assert signature_key(DIGESTED) == signature_key(TINY)


@pytest.mark.parametrize("single_words", [None, 0, 1])
def test_single_words_are_counted_or_not_and_are_no_part_of_the_key(single_words: int | None) -> None:
    counted = replace(TINY, single_words=single_words)
    assert ("single_words" in encode(counted)) == (single_words is not None)
    assert decode(encode(counted)).single_words == single_words
    assert signature_key(counted) == signature_key(TINY)


def test_page_signatures_may_be_left_out() -> None:
    back = decode(encode(PAGED, pages=False))
    assert back.pages is None
    assert back.page_count == 4
    assert back.fingerprint == PAGED.fingerprint


def test_sketch_may_have_a_fingerprint_alone() -> None:
    back = decode({"fingerprint": document()["fingerprint"], "word_count": 9, "character_count": 90})
    assert back.fingerprint == PAGED.fingerprint
    assert back.minhash is None


def _with(path: str, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document())
    *parents, last = path.split(".")
    place = changed
    for name in parents:
        place = place[name]
    place[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("fingerprint", "ff"),
        ("fingerprint.recipe", 5),
        ("fingerprint.hex", "ff"),
        ("fingerprint.hex", "é" * 32),
        ("fingerprint.extra", 1),
        ("minhash", []),
        ("minhash.values", "AAAA"),
        ("minhash.values", "é"),
        ("minhash.shingle_count", 0),
        ("minhash.shingle_count", True),
        ("minhash.shingle_count", 10**6),
        ("pages.unit", "leaf"),
        ("pages.unit", "window"),
        ("pages.values", "AAAA"),
        ("page_count", 3),
        ("word_count", None),
        ("word_count", 10**6),
        ("character_count", 0),
        ("single_words", -1),
        ("text", "and the text too"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(path: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        decode(_with(path, value))
    assert refusal.value.field.startswith("signatures")
    if path != "character_count" and (path, value) != ("pages.unit", "window"):
        assert refusal.value.field in (f"signatures.{path}", "signatures.word_count")


def test_no_signature_at_all_is_refused() -> None:
    with pytest.raises(InvalidInput, match="No signature at all"):
        decode({"word_count": 9, "character_count": 90})


def test_field_is_named_below_the_name_given() -> None:
    with pytest.raises(InvalidInput) as refusal:
        decode(_with("fingerprint.hex", ""), field="body")
    assert refusal.value.field == "body.fingerprint.hex"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(["fingerprint", "minhash", "pages", "word_count", "page_count"]), JSON)
def test_any_json_is_taken_or_refused(name: str, value: Any) -> None:
    changed = document()
    changed[name] = value
    with suppress(InvalidInput):
        decode(changed)


def test_an_identifier_alone_comes_back_as_it_was() -> None:
    fingerprint = Fingerprint(DEFAULT_FINGERPRINT, bytes(range(16)))
    for minhash in (None, MinHashBits(DEFAULT_MINHASH, bytes(range(16)), 898)):
        known = known_by(Identifier(fingerprint, 1024, minhash), Metadata()).sketch
        assert decode(encode(known)).identified == known.identified
