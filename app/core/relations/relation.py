"""The relation of two books, from their page signatures to a verdict."""

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
"""Code points that a book must have to say anything about it."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedBook:
    """A book as far as its relations depend on it."""

    pages: PageSignatures | None
    minhash: MinHashSignature | None
    metadata: Metadata


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """What one book has to do with another, told of the left one."""

    verdict: Classification
    mirrored: Classification  # the same, told of the right book
    classifier: str
    signals: Signals | None  # None: too little text to align
    alignment: Alignment | None


def relate(left: ComparedBook, right: ComparedBook, classifier: str = DEFAULT_CLASSIFIER) -> Relation:
    """The relation of two books, by one of `CLASSIFIERS`; raises `RecipeMismatch`."""
    if left.pages is None or right.pages is None:
        missing = _insufficient("The page signatures of at least one book are missing.")
        return Relation(missing, missing, classifier, None, None)
    alignment = align(left.pages, right.pages)
    similarity = 0.0
    if left.minhash is not None and right.minhash is not None:
        similarity = jaccard(left.minhash, right.minhash)
    signals = measure(alignment, similarity)
    if min(alignment.left_lengths.sum(), alignment.right_lengths.sum()) < LEAST_TEXT:
        verdict = mirrored = _insufficient("At least one book has too little readable text.")
    else:
        classify = CLASSIFIERS[classifier]
        verdict = classify(signals, left.metadata, right.metadata)
        mirrored = classify(signals.swapped(), right.metadata, left.metadata)
    return Relation(verdict, mirrored, classifier, signals, alignment)


def _insufficient(because: str) -> Classification:
    return Classification("INSUFFICIENT_TEXT", None, 1.0, {"INSUFFICIENT_TEXT": 1.0}, because)
