"""Fingerprints of books from their text, and the relations between books.

    evidence = compare(sign(text), sign(other_text))
    if is_near_duplicate(evidence):
        ...

The names below are the package's interface. The first use of a name loads its module, because
the compiled kernels take a second to load.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookprint_core.books import identifier, relate, sign
    from bookprint_core.errors import BookprintError
    from bookprint_core.matching.verification import (
        Evidence,
        are_joined as is_near_duplicate,
        evidence as compare,
    )
    from bookprint_core.model import Metadata, Sketch
    from bookprint_core.relations.relation import Relation

__all__ = [
    "BookprintError",
    "Evidence",
    "Metadata",
    "Relation",
    "Sketch",
    "compare",
    "identifier",
    "is_near_duplicate",
    "relate",
    "sign",
]

_HOMES = {
    "BookprintError": "errors.BookprintError",
    "Evidence": "matching.verification.Evidence",
    "Metadata": "model.Metadata",
    "Relation": "relations.relation.Relation",
    "Sketch": "model.Sketch",
    "compare": "matching.verification.evidence",
    "identifier": "books.identifier",
    "is_near_duplicate": "matching.verification.are_joined",
    "relate": "books.relate",
    "sign": "books.sign",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOMES[name].rpartition(".")
    return getattr(import_module(f"{__name__}.{module}"), attribute)
