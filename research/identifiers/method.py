"""The interface of all methods, and the common ways to compare books.

A method makes a signature of each book. Two signatures have a score; books with at least the method's least
score are called copies. One loop measures all methods, and one call compares all pairs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bench.harness.corpus import CorpusBook

Signature = TypeVar("Signature")
Vector = NDArray[np.float32]
Scores = NDArray[np.float64]
"""Scores, (books, other books); similar books have higher scores."""


class Method(Protocol[Signature]):
    """A way to distinguish copies of a book from other books."""

    @property
    def name(self) -> str: ...
    @property
    def least(self) -> float | None: ...  # minimum score of copies; None: to be fitted
    def sign(self, book: CorpusBook, /) -> Signature | None: ...
    def size(self, signature: Signature, /) -> int: ...  # stored bytes per book
    def scores(self, these: Sequence[Signature], others: Sequence[Signature], /) -> Scores: ...
    def rule(self, least: float, /) -> str: ...  # the condition for copies, in words


@dataclass(frozen=True, slots=True)
class BitDistance:
    """A comparison of bit strings by Hamming distance; the score is the negative distance."""

    name: str
    bits: int
    sign: Callable[[CorpusBook], bytes | None]
    most: int | None  # bits in which copies may differ; None: to be fitted

    @property
    def least(self) -> float | None:
        return None if self.most is None else -self.most

    def size(self, signature: bytes) -> int:
        return len(signature)

    def scores(self, these: Sequence[bytes], others: Sequence[bytes]) -> Scores:
        signs = [_signs(each, self.bits) for each in (these, others)]
        return np.asarray((signs[0] @ signs[1].T - self.bits) / 2, dtype=np.float64)

    def rule(self, least: float) -> str:
        return f"≤ {math.floor(-least)} of {self.bits} bits"


@dataclass(frozen=True, slots=True)
class EqualKeys:
    """A comparison of keys for equality; the score is 1 or 0."""

    name: str
    sign: Callable[[CorpusBook], bytes | None]
    least: float = 1.0

    def size(self, signature: bytes) -> int:
        return len(signature)

    def scores(self, these: Sequence[bytes], others: Sequence[bytes]) -> Scores:
        numbers = {key: number for number, key in enumerate({*these, *others})}
        rows, columns = (np.array([numbers[key] for key in each]) for each in (these, others))
        return np.asarray(rows[:, None] == columns, dtype=np.float64)

    def rule(self, least: float) -> str:
        return "equal"


@dataclass(frozen=True, slots=True)
class EqualValues:
    """A comparison of MinHash values by position; the score is the share of equal values."""

    name: str
    sign: Callable[[CorpusBook], NDArray[np.uint32] | None]
    least: float | None = None

    def size(self, signature: NDArray[np.uint32]) -> int:
        return signature.nbytes

    def scores(self, these: Sequence[NDArray[np.uint32]], others: Sequence[NDArray[np.uint32]]) -> Scores:
        columns = np.stack(others)
        return np.stack([(columns == each).mean(axis=1) for each in these])

    def rule(self, least: float) -> str:
        return f"≥ {least:.1%} of the values equal"


@dataclass(frozen=True, slots=True)
class CosineOfVectors:
    """A comparison of vectors; the score is the cosine of their angle."""

    name: str
    sign: Callable[[CorpusBook], Vector | None]
    bytes_kept: int
    least: float | None = None

    def size(self, signature: Vector) -> int:
        return self.bytes_kept

    def scores(self, these: Sequence[Vector], others: Sequence[Vector]) -> Scores:
        rows, columns = (np.stack(each) for each in (these, others))
        lengths = [np.linalg.norm(each, axis=1) for each in (rows, columns)]
        products = np.maximum(np.outer(*lengths), np.finfo(np.float32).tiny)
        return np.asarray(rows @ columns.T / products, dtype=np.float64)

    def rule(self, least: float) -> str:
        return f"cosine ≥ {least:.3f}"


@dataclass(frozen=True, slots=True)
class PairRule(Generic[Signature]):
    """A rule that accepts or rejects two signatures; the score is 1 or 0."""

    name: str
    sign: Callable[[CorpusBook], Signature | None]
    bytes_of: Callable[[Signature], int]
    says_same: Callable[[Signature, Signature], bool]
    words: str
    least: float = 1.0

    def size(self, signature: Signature) -> int:
        return self.bytes_of(signature)

    def scores(self, these: Sequence[Signature], others: Sequence[Signature]) -> Scores:
        return np.array([[self.says_same(each, other) for other in others] for each in these], np.float64)

    def rule(self, least: float) -> str:
        return self.words


def _signs(signatures: Sequence[bytes], bits: int) -> NDArray[np.float32]:
    """Return the bits as +1 and −1, (signatures, bits)."""
    rows = np.frombuffer(b"".join(signatures), np.uint8).reshape(len(signatures), bits // 8)
    return np.unpackbits(rows, axis=1).astype(np.float32) * 2 - 1
