"""The relation of two books, from their signatures to a class (Spasojević and Poncin 2011, section IV)."""

from dataclasses import dataclass, replace

from bookprint_core.model import Metadata, MinHashSignature, PageSignatures
from bookprint_core.relations.alignment import Alignment, align
from bookprint_core.relations.classification import RELATED, REVISED_LINES, Classification, shares_v1
from bookprint_core.relations.doubt import doubt
from bookprint_core.relations.signals import Sides, Signals, measure
from bookprint_core.signatures.minhash import jaccard

CLASSIFIER = "shares-v1"
"""Name of the classifier in use, which is stored with each relation."""

LEAST_TEXT = 300
"""Minimum number of code points of a book with enough text for a comparison."""

LEAST_LINK = 0.2
"""Minimum share of either book with which overlapping text joins two books in a cluster."""

LEAST_WORDS = 2_000
"""Minimum number of common words: more than a privilege, a preface or a quotation."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedBook:
    """A book's signatures and metadata, from which relations are computed."""

    pages: PageSignatures | None
    minhash: MinHashSignature | None
    metadata: Metadata


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """The relation of the left book to the right book."""

    classification: Classification
    mirrored: Classification  # from the right book's point of view
    classifier: str
    signals: Signals | None  # None: too little text to align
    alignment: Alignment | None
    link: float | None  # share of text that joins the books in a cluster, 0 to 1; None: they are not joined
    doubt: float  # 0 to 1
    revised: float | None = None  # share of lines with other words or numbers; None: texts were not compared


@dataclass(frozen=True, slots=True, eq=False)
class TextComparison:
    """The comparison of two books by their signatures; books with equal signatures share it."""

    signals: Signals | None  # None: too little text to align
    alignment: Alignment | None
    words: Sides  # distinct shingles, about as many as words; 0 for a book without MinHash
    too_little: str | None  # reason why the books cannot be classified; None: they can


def relate(left: ComparedBook, right: ComparedBook) -> Relation:
    """Compute the relation of two books; raise `RecipeMismatch` for signatures of two recipes."""
    return relation_of(compare(left, right), left.metadata, right.metadata)


def compare(left: ComparedBook, right: ComparedBook) -> TextComparison:
    """Compare two books, the slow part of `relate`; raise `RecipeMismatch` for signatures of two recipes."""
    if left.pages is None or right.pages is None:
        missing = (
            "The page signatures of at least one book are missing, as of a book known by its identifier."
        )
        return TextComparison(None, None, Sides(0, 0), missing)
    alignment = align(left.pages, right.pages)
    similarity = 0.0
    if left.minhash is not None and right.minhash is not None:
        similarity = jaccard(left.minhash, right.minhash)
    too_little = None
    if min(length.sum() for length in alignment.lengths) < LEAST_TEXT:
        too_little = "At least one book has too little readable text."
    words = Sides(*(0 if book.minhash is None else book.minhash.shingle_count for book in (left, right)))
    return TextComparison(measure(alignment, similarity, words), alignment, words, too_little)


def relation_of(
    comparison: TextComparison, left: Metadata, right: Metadata, revised: float | None = None
) -> Relation:
    """Compute the relation of two compared books with these metadata.

    `revised` is the share of lines with other words or numbers; None: not known.
    """
    signals = comparison.signals
    link = None
    if comparison.too_little is not None:
        classification = mirrored = Classification(
            "INSUFFICIENT_TEXT", None, 1.0, {"INSUFFICIENT_TEXT": 1.0}, comparison.too_little
        )
    else:
        assert signals is not None
        classification = shares_v1(signals, left, right)
        mirrored = shares_v1(signals.swapped(), right, left)
        if revised is not None and revised >= REVISED_LINES and classification.kind == "SAME_PAGINATION":
            classification, mirrored = _revised(classification, revised), _revised(mirrored, revised)
        if signals.common_matter is None or classification.direction is not None:
            link = _link(classification, signals.text_shared, comparison.words)
    doubted = doubt(classification, signals, comparison.words, revised)
    return Relation(
        classification, mirrored, CLASSIFIER, signals, comparison.alignment, link, doubted, revised
    )


def _revised(copies: Classification, share: float) -> Classification:
    """Return the class of books that would be copies if their lines were not revised."""
    same, overlapping = (copies.confidences[kind] for kind in ("SAME_PAGINATION", "OVERLAPPING_TEXT"))
    confidences = {**copies.confidences, "SAME_PAGINATION": overlapping, "OVERLAPPING_TEXT": same}
    because = (
        f"The pages are the same, but in {share:.0%} of the lines compared the books have other words or "
        "numbers: another issue of the same form, not a copy."
    )
    return replace(copies, kind="OVERLAPPING_TEXT", confidences=confidences, because=because)


def _link(classification: Classification, shared: Sides, words: Sides) -> float | None:
    """Return the larger share of either book in the other if it joins them in a cluster, else None.

    Copies are joined, and parts with their wholes. Overlapping books must share `LEAST_LINK` and
    `LEAST_WORDS`, because many unrelated books share less. Measurements: docs/why/decisions/0037-links.md.
    """
    if classification.kind not in RELATED:
        return None
    if classification.kind == "OVERLAPPING_TEXT" and classification.direction is None:
        shared_words = min(shared.left * words.left, shared.right * words.right)
        if shared.most < LEAST_LINK or shared_words < LEAST_WORDS:
            return None
    return shared.most
