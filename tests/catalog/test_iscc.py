"""ISCC Text-Codes against the vectors of the standard's reference implementation."""

import pytest

from app.catalog.identifiers import is_valid, normalised
from app.catalog.iscc import normal_code, text_code

# From data.json of iscc-core, gen_text_code_v0.
VECTORS = {
    "": "EAASL4F2WZY7KBXB",
    "Hello World": "EAASKDNZNYGUUF5A",
    "Iñtërnâtiônàlizætiøn☃    Iñtërnâtiônàlizætiøn☃": (
        "EADTJCW2DT555KK6DEQAR5DQT7VYJGZM6CXHG3BM56WOMQDDVS7754I"
    ),
    "Their most significant and usefull property of similarity-preserving fingerprints gets lost in the "
    "fragmentation of individual, propietary and use case specific implementations. The real benefit lies in "
    "similarity preservation beyond your local data archive on a global scale accross vendors.\n": (
        "EABZHFKU6PNI7UVWYEEIQLOYHYLX6"
    ),
}


@pytest.mark.parametrize("text", VECTORS)
def test_text_code_is_that_of_the_standard(text: str) -> None:
    pytest.importorskip("iscc_lib")
    # Vectors of 128 and 256 bits are cut to the 64 that a book gets.
    assert text_code(text) == f"ISCC:{normal_code(VECTORS[text])}"


def test_breaks_of_pages_and_lines_change_no_text_code() -> None:
    pytest.importorskip("iscc_lib")
    text = "a few words of a book that is long enough to have some features"
    assert text_code(text) == text_code(text.replace(" ", "\n")) == text_code(text.replace(" ", "\f"))


def test_long_text_codes_are_cut_and_other_codes_are_kept() -> None:
    assert normal_code("EADSKDNZNYGUUF5AMFEJLZ5P66CP5YKCOA3X7F36RWE4CIRCBTUWXYY") == "EAASKDNZNYGUUF5A"
    assert normal_code(" iscc:eaas-kdnz-nygu-uf5a ") == "EAASKDNZNYGUUF5A"
    assert normalised("ISCC:EADSKDNZNYGUUF5AMFEJLZ5P66CP5YKCOA3X7F36RWE4CIRCBTUWXYY") == (
        "iscc:EAASKDNZNYGUUF5A"
    )
    title = "AAAZXZ6OU74YAZIM"  # a Meta-Code
    assert normal_code(title) == title


@pytest.mark.parametrize("wrong", ["", "ISCC:", "EAAS", "EAASKDNZNYGUUF5", "0AASKDNZNYGUUF5A", "é" * 16])
def test_other_strings_are_no_codes(wrong: str) -> None:
    assert normal_code(wrong) is None
    assert not is_valid(f"iscc:{wrong}")
