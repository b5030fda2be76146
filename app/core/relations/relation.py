"""The relation of two books, from their signatures to a class (Spasojević and Poncin 2011, section IV)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.core.model import Metadata, MinHashSignature, PageSignatures
from app.core.relations.alignment import Alignment, align
from app.core.relations.classification import Classification, Direction, Kind
from app.core.relations.filters_v1 import filters_v1
from app.core.relations.shares_v1 import shares_v1
from app.core.relations.signals import Signals, measure
from app.core.signatures.minhash import jaccard

__all__ = [
    "CLASSIFIERS",
    "DEFAULT_CLASSIFIER",
    "Classification",
    "ComparedBook",
    "Direction",
    "Kind",
    "Relation",
    "relate",
]

Classifier = Callable[[Signals, Metadata, Metadata], Classification]

DEFAULT_CLASSIFIER = "shares-v1"

CLASSIFIERS: Mapping[str, Classifier] = {DEFAULT_CLASSIFIER: shares_v1, "filters-v1": filters_v1}

LEAST_TEXT = 300
"""Code points without which a book has too little text to be compared."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedBook:
    """A book's signatures and metadata, from which relations are computed."""

    pages: PageSignatures | None
    minhash: MinHashSignature | None
    metadata: Metadata


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """The relation of the left book to the right one."""

    classification: Classification
    mirrored: Classification  # from the right book's point of view
    classifier: str
    signals: Signals | None  # None: too little text to align
    alignment: Alignment | None


def relate(left: ComparedBook, right: ComparedBook, classifier: str = DEFAULT_CLASSIFIER) -> Relation:
    """The relation of two books, by one of `CLASSIFIERS`.

    Raises `RecipeMismatch` where signatures of two recipes meet.
    """
    if left.pages is None or right.pages is None:
        missing = _insufficient("The page signatures of at least one book are missing.")
        return Relation(missing, missing, classifier, None, None)
    alignment = align(left.pages, right.pages)
    similarity = 0.0
    if left.minhash is not None and right.minhash is not None:
        similarity = jaccard(left.minhash, right.minhash)
    signals = measure(alignment, similarity)
    if min(alignment.left_lengths.sum(), alignment.right_lengths.sum()) < LEAST_TEXT:
        classification = mirrored = _insufficient("At least one book has too little readable text.")
    else:
        classify = CLASSIFIERS[classifier]
        classification = classify(signals, left.metadata, right.metadata)
        mirrored = classify(signals.swapped(), right.metadata, left.metadata)
    return Relation(classification, mirrored, classifier, signals, alignment)


def _insufficient(because: str) -> Classification:
    return Classification("INSUFFICIENT_TEXT", None, 1.0, {"INSUFFICIENT_TEXT": 1.0}, because)
