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
    vector_of_words,
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
    return {"Bookprint": _own(), "In use today": _in_use(), "From publications": _published()}


def _own() -> list[ComparedMethod]:
    return [
        ComparedMethod(
            verified("lookup (default)"),
            does="Weighs the three signatures below together. Ours.",
            index="Yes: the service answers in milliseconds.",
            advice="To know which books are copies, other editions or parts of each other. Start here.",
        ),
        ComparedMethod(
            fingerprint_alone("fingerprint alone"),
            does="128 bits from groups of letters and how they bunch in the book. A simhash (Charikar 2002), "
            "weighted in our own way.",
            index="Yes, with complete answers.",
            advice="To keep or send no more than 16 bytes of a book, and for lists that must be complete "
            "within a distance. It does not see parts.",
        ),
        ComparedMethod(
            long_identifier("identifier `bp2:`"),
            does="The fingerprint, one bit of each MinHash value and the length, in 64 letters. Ours.",
            index="By the fingerprint in it.",
            advice="To compare the holdings of two libraries without exchanging texts and without a service.",
        ),
        ComparedMethod(
            minhash_values("MinHash alone", 128),
            does="128 numbers from the runs of five words in a book. As many are equal in two books as these "
            "share of their runs (Broder 1997).",
            index="Yes: a list of books for each number.",
            advice="To say how much of their text two books share, and to exchange signatures with programs "
            "that have MinHash. It needs a threshold of your own.",
        ),
        ComparedMethod(
            sample_alone("shingle sample alone"),
            does="About a hundred runs of five words, chosen so that two books choose the same ones. "
            "FracMinHash (Irber et al. 2022).",
            index="Yes: a list of books for each run.",
            advice="To find a part in a larger book. Many OCR errors leave it little, so it does not stand "
            "alone.",
        ),
        ComparedMethod(
            vector_of_words("vector of words"),
            does="1,024 bits from which words a book has more often than others do. Ours; "
            "[decision 30](decisions/0030-vectors.md).",
            index="No: every book is compared, which takes about a millisecond for 100,000.",
            advice="To find books that are like one: volumes of a series, one subject. OCR errors move it "
            "farther than a fingerprint, so it does not judge copies.",
        ),
    ]


def _in_use() -> list[ComparedMethod]:
    return [
        ComparedMethod(
            equal_title_and_author("title and author equal"),
            does="Compares what the catalogue says, letter by letter, but for case, accents and punctuation.",
            index="Yes, as any catalogue does.",
            advice="Where one agency has written all records. It knows nothing of the text.",
            reads_text=False,
        ),
        ComparedMethod(
            agreeing_metadata("title and author alike"),
            does="The same, but names may be in any order and short, and a title may lack its subtitle. "
            "Ours, for finding errors of a catalogue.",
            index="Yes, by words and names.",
            advice="To propose pairs that a comparison of texts then confirms, and for books without a text. "
            "It misses what is catalogued otherwise, and parts.",
            reads_text=False,
        ),
        ComparedMethod(
            institutional_books("Institutional Books"),
            does="64 bits from runs of seven letters; copies have all 64 alike, one language and about one "
            "length. So Harvard Library set duplicates aside among a million volumes (arXiv 2506.08300, "
            "2025).",
            index="Yes: equal values.",
            advice="To drop files of one transcription before another use. Where one letter in a hundred is "
            "read otherwise, the bits are seldom all alike.",
        ),
        ComparedMethod(
            text_code_within("ISCC Text-Code, 128 bits", 128),
            does="Bits from runs of 13 characters. The International Standard Content Code (ISO 24138), "
            "compared as iscc-search does.",
            index="Yes; its search server's index may miss some.",
            advice="Where partners ask for the standard's code, and texts are clean. With OCR errors on "
            "every line it fails.",
        ),
        ComparedMethod(
            text_code_within("ISCC Text-Code, 256 bits", 256),
            does="The same, twice as long.",
            index="As above.",
            advice="As above. At the same share of bits it finds no more than the shorter one.",
        ),
        ComparedMethod(
            EqualBands("datasketch MinHashLSH"),
            does="128 numbers as in MinHash, in 25 groups of five. One equal group makes two books "
            "candidates. The Python library that most programs take, as in its first example.",
            index="It is an index.",
            advice="To find nearly equal texts in a program of your own. Candidates have to be compared "
            "after it; OCR errors and other editions fall below its threshold.",
        ),
        ComparedMethod(
            text_digest("MD5 of the text"),
            does="A checksum: equal texts have equal ones, and one other letter changes it.",
            index="Yes: equal values.",
            advice="To recognise the same file again, and nothing else.",
        ),
        ComparedMethod(
            profile_digest("text profile (Nutch)"),
            does="A checksum of the frequent words with rounded counts, as Apache Nutch and Solr have it.",
            index="Yes: equal values.",
            advice="To join with a crawl by Nutch or Solr ([how](howto/digests.md)). Two scans of a book "
            "differ.",
        ),
    ]


def _published() -> list[ComparedMethod]:
    return [
        ComparedMethod(
            UniqueWords("unique words in order (DUPNIQ)"),
            does="The words that occur once in a book, and how many of them stand in the same order in the "
            "other (Yalniz, Can and Manmatha 2011).",
            index="The words can be; the order is compared pair by pair.",
            advice="To confirm pairs that something else has proposed, also with OCR errors, where some "
            "twenty kilobytes for each book do not matter.",
        ),
        ComparedMethod(
            minhash_values("100 MinHash values", 100),
            does="MinHash as Google Books had it (Spasojević and Poncin 2011), without its pages. There it "
            "chose the books whose pages were then compared. The threshold is ours, as they print none.",
            index="Yes: a list of books for each number.",
            advice="As MinHash alone.",
        ),
        ComparedMethod(
            fingerprint_within("simhash, d ≤ 7", "tf-simhash128-v1", 7),
            does="128 bits from groups of four letters, weighted by their count (Vladimir et al. 2015). The "
            "distance is theirs, for their books; it was not fitted to these.",
            index="Yes.",
            advice="To repeat that publication. Unlike books of one kind come as close as copies.",
        ),
        ComparedMethod(
            middle_terms_digest("middle-frequency terms"),
            does="A checksum of all words but the most frequent and the rarest twentieth, after a remark by "
            "Carpenter (2011). That it is a twentieth is our choice; fewer words would bear more errors.",
            index="Yes: equal values.",
            advice="To find equal texts. With these words one that is read otherwise changes it.",
        ),
        ComparedMethod(
            simhash_of_words("simhash of words"),
            does="Bits from the words; what Mohammadi and Nikoukaran (2018) compare theirs with, here in 64 "
            "bits.",
            index="Yes.",
            advice="Not for books: all books in a language look alike. Latin script alone.",
        ),
        ComparedMethod(
            multi_reference_cosine("multi-reference cosine"),
            does="How alike a book is to each of 60 parts of a list of rare triples of letters (Mohammadi "
            "and Nikoukaran 2018). Read [in our way](sources.md), it has more error than they print.",
            index="No: every book is compared.",
            advice="Not for copies of books: it tells how alike the language is. Latin script alone.",
        ),
        ComparedMethod(
            learned_references("learned references"),
            does="The same aim in 30 bytes, with directions learnt from other texts. Ours.",
            index="No: every book is compared.",
            advice="To estimate cosines of letters cheaply. As above for copies.",
        ),
    ]
