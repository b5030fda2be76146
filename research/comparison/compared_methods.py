"""The methods that are compared; docs/methods.md says what each does and when to use it."""

from typing import Any

from research.comparison.institutional_books import institutional_books
from research.comparison.method import Method
from research.comparison.methods_in_use import (
    EqualBands,
    agreeing_metadata,
    equal_title_and_author,
    text_code_within,
)
from research.comparison.own_methods import (
    fingerprint_alone,
    fingerprint_within,
    long_identifier,
    minhash_values,
    sample_alone,
    vector_of_words,
    verified,
)
from research.comparison.published_methods import (
    learned_references,
    middle_terms_digest,
    multi_reference_cosine,
    profile_digest,
    simhash_of_words,
    text_digest,
)
from research.comparison.unique_words import UniqueWords

METADATA_ALONE = ("title and author equal", "title and author alike")
"""Methods that look at title and author, and not at the text."""


def compared_methods() -> list[Method[Any]]:
    """The methods in the order of the tables: Bookprint's, those in use, those of publications."""
    return [
        verified("lookup (default)"),
        fingerprint_alone("fingerprint alone"),
        long_identifier("identifier `bp2:`"),
        minhash_values("MinHash alone", 128),
        sample_alone("letter sample alone"),
        vector_of_words("vector of words"),
        equal_title_and_author("title and author equal"),
        agreeing_metadata("title and author alike"),
        institutional_books("Institutional Books"),
        text_code_within("ISCC Text-Code, 128 bits", 128),
        text_code_within("ISCC Text-Code, 256 bits", 256),
        EqualBands("datasketch MinHashLSH"),
        text_digest("MD5 of the text"),
        profile_digest("text profile (Nutch)"),
        UniqueWords("unique words in order (DUPNIQ)"),
        minhash_values("100 MinHash values", 100),
        fingerprint_within("simhash, d ≤ 7", "tf-simhash128-v1", 7),
        middle_terms_digest("middle-frequency terms"),
        simhash_of_words("simhash of words"),
        multi_reference_cosine("multi-reference cosine"),
        learned_references("learned references"),
    ]
