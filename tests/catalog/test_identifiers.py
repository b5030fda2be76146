"""Identifiers: one form for each scheme, invalid ones kept as they were given."""

import pytest
from hypothesis import given, strategies as st

from app.catalog.identifiers import is_valid, normalised

VALID = {
    "isbn:0141439602": "isbn:9780141439600",
    "ISBN:978 0-14-143960-0": "isbn:9780141439600",
    "isbn:080442957X": "isbn:9780804429573",
    "issn:03178471": "issn:0317-8471",
    "issn:1050124x": "issn:1050-124X",
    "ismn:M-2306-7118-7": "ismn:9790230671187",
    "lccn:n78-890351": "lccn:n78890351",
    "lccn:85-2 ": "lccn:85000002",
    "lccn:75-425165//r75": "lccn:75425165",
    "lccn:https://lccn.loc.gov/2001000002": "lccn:2001000002",
    "oclc:(OCoLC)ocm00012345": "oclc:12345",
    "oclc:on1234567890": "oclc:1234567890",
    "htid:uc2.ark:/13960/t0000xw9z": "htid:uc2.ark:/13960/t0000xw9z",
    "ark:/13960/t7qn5zx3x": "ark:13960/t7qn5zx3x",
    "ark:https://n2t.net/ark:/13960/t7qn5zx3x": "ark:13960/t7qn5zx3x",
    "gutenberg:pg1342": "gutenberg:1342",
    "gutenberg:https://www.gutenberg.org/ebooks/1342": "gutenberg:1342",
    "doi:https://doi.org/10.1000/ABC": "doi:10.1000/abc",
    "Shelf-Mark: A 3 ": "shelf-mark: A 3 ",
}
INVALID = [
    "isbn:9780141439601",
    "isbn:0-14-143960-X",
    "issn:0317-8472",
    "lccn:85-1234567",
    "oclc:unknown",
    "htid:none",
]


@pytest.mark.parametrize("given", VALID)
def test_valid_identifiers_have_one_form(given: str) -> None:
    assert is_valid(given)
    assert normalised(given) == VALID[given]


@pytest.mark.parametrize("given", INVALID)
def test_invalid_identifiers_are_kept_as_they_were_given(given: str) -> None:
    assert not is_valid(given)
    assert normalised(given) == given


@given(st.sampled_from([each.partition(":")[0] for each in VALID]), st.text(max_size=40))
def test_the_one_form_is_its_own_form(scheme: str, value: str) -> None:
    once = normalised(f"{scheme}:{value}")
    assert normalised(once) == once
