"""The methods that are compared, each with what it does and when to use it, in words for a library."""

from dataclasses import dataclass
from typing import Any

from bench.comparison.institutional_books import institutional_books
from bench.comparison.method import Method
from bench.comparison.methods_in_use import (
    EqualBands,
    agreeing_metadata,
    equal_title_and_author,
    text_code_within,
)
from bench.comparison.own_methods import (
    fingerprint_alone,
    fingerprint_within,
    long_identifier,
    minhash_values,
    sample_alone,
    verified,
)
from bench.comparison.published_methods import (
    learned_references,
    middle_terms_digest,
    multi_reference_cosine,
    profile_digest,
    simhash_of_words,
    text_digest,
)
from bench.comparison.unique_words import UniqueWords


@dataclass(frozen=True, slots=True)
class ComparedMethod:
    """A method, and what a library wants to know of it."""

    method: Method[Any]
    does: str
    index: str
    advice: str
    reads_text: bool = True  # False: it looks at title and author alone


def compared_methods() -> dict[str, list[ComparedMethod]]:
    """The methods by group, in the order of the tables."""
    return {
        "Bookprint": [
            ComparedMethod(verified("lookup (default)"), "", "", ""),
            ComparedMethod(fingerprint_alone("fingerprint alone"), "", "", ""),
            ComparedMethod(long_identifier("identifier `bp2:`"), "", "", ""),
            ComparedMethod(minhash_values("MinHash alone", 128), "", "", ""),
            ComparedMethod(sample_alone("shingle sample alone"), "", "", ""),
        ],
        "In use today": [
            ComparedMethod(equal_title_and_author("title and author equal"), "", "", "", reads_text=False),
            ComparedMethod(agreeing_metadata("title and author alike"), "", "", "", reads_text=False),
            ComparedMethod(institutional_books("Institutional Books"), "", "", ""),
            ComparedMethod(text_code_within("ISCC Text-Code, 128 bits", 128), "", "", ""),
            ComparedMethod(text_code_within("ISCC Text-Code, 256 bits", 256), "", "", ""),
            ComparedMethod(EqualBands("datasketch MinHashLSH"), "", "", ""),
            ComparedMethod(text_digest("MD5 of the text"), "", "", ""),
            ComparedMethod(profile_digest("text profile (Nutch)"), "", "", ""),
        ],
        "From publications": [
            ComparedMethod(UniqueWords("unique words in order (DUPNIQ)"), "", "", ""),
            ComparedMethod(minhash_values("100 MinHash values", 100), "", "", ""),
            ComparedMethod(fingerprint_within("simhash, d ≤ 7", "tf-simhash128-v1", 7), "", "", ""),
            ComparedMethod(middle_terms_digest("middle-frequency terms"), "", "", ""),
            ComparedMethod(simhash_of_words("simhash of words"), "", "", ""),
            ComparedMethod(multi_reference_cosine("multi-reference cosine"), "", "", ""),
            ComparedMethod(learned_references("learned references"), "", "", ""),
        ],
    }
