"""Signatures of a few bytes that estimate the cosine: references by singular value decomposition.

The right singular vectors of unit 3-gram counts keep inner products best (Eckart and Young 1936). Each
projection gets as many bits as it is worth in those products, in a quantiser of Lloyd (1982) for the texts
learnt from. Our own, in the place of the reference strings of Mohammadi and Nikoukaran (2018).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from research.cosine.letter_grams import Rows

MOST_BITS = 8
"""Of one projection."""
MOST_DIRECTIONS = 400
ROUNDS = 40
"""Of Lloyd's iteration; it has come to rest long before."""
DISTORTIONS = np.array([1, 0.363, 0.1175, 0.0345, 0.0095, 0.0025, 0.00065, 0.00016, 0.00004])
"""Error left by the best quantiser of 0 to 8 bits, a share of the variance of normal values (Max 1960)."""

Signatures = NDArray[np.uint8]
"""(texts, bytes)."""


@dataclass(frozen=True, slots=True, eq=False)
class LearnedReferences:
    """Directions, and the quantiser of each: its values in ascending order, two to the power of its bits."""

    directions: Rows  # (3-grams, directions)
    values: Sequence[Rows]

    @property
    def bits(self) -> int:
        """Of a signature."""
        return sum(levels.size.bit_length() - 1 for levels in self.values)

    def sign(self, units: Rows) -> Signatures:
        """The signatures of texts given as 3-gram counts at length 1."""
        projections = units @ self.directions
        bits = [
            _as_bits(_nearest(column, levels), levels.size.bit_length() - 1)
            for column, levels in zip(projections.T, self.values, strict=True)
        ]
        return np.packbits(np.concatenate(bits, axis=1), axis=1)

    def vectors(self, signatures: Signatures) -> Rows:
        """The projections that the signatures stand for, (texts, directions)."""
        bits = np.unpackbits(signatures, axis=1)
        columns: list[Rows] = []
        start = 0
        for levels in self.values:
            width = levels.size.bit_length() - 1
            places = bits[:, start : start + width] @ (1 << np.arange(width)[::-1])
            columns.append(levels[places])
            start += width
        return np.stack(columns, axis=1)

    def similarities(self, signatures: Signatures) -> Rows:
        """The estimated cosine of every two texts, 0 to 1, (texts, texts)."""
        vectors = self.vectors(signatures)
        return np.asarray(np.clip(vectors @ vectors.T, 0, 1))


def learn(units: Rows, sizes: Sequence[int]) -> Sequence[LearnedReferences]:
    """For each size, in bits, the references that suit these texts, 3-gram counts at length 1."""
    directions = singular_directions(units, MOST_DIRECTIONS)
    projections = units @ directions
    return [_quantised(directions, projections, bits) for bits in sizes]


def _quantised(directions: Rows, projections: Rows, bits: int) -> LearnedReferences:
    widths = shared_out(projections, bits)
    kept = np.flatnonzero(widths)
    values = [_levels(projections[:, column], 1 << int(widths[column])) for column in kept]
    return LearnedReferences(directions[:, kept], values)


def singular_directions(units: Rows, most: int) -> Rows:
    """The first right singular vectors, (3-grams, directions); fewer than `most` for few texts."""
    squares, left = np.linalg.eigh(units @ units.T)
    sound = np.flatnonzero(squares > 1e-6 * squares[-1])[::-1][:most]
    return np.asarray(units.T @ (left[:, sound] / np.sqrt(squares[sound])))


def shared_out(projections: Rows, bits: int) -> NDArray[np.int64]:
    """The bits of each projection, (directions,); each goes where it lowers the error of products most.

    A projection with second moment m, quantised with error d, adds 2dm - d² to the squared error of a product
    of two texts, when the quantiser's values are the means of what they stand for.
    """
    moments = (projections**2).mean(axis=0)
    left = projections.var(axis=0)[:, None] * DISTORTIONS
    gains = -np.diff(2 * left * moments[:, None] - left**2, axis=1)
    widths = np.zeros(len(moments), np.int64)
    for _ in range(bits):
        next_gains = np.where(
            widths < MOST_BITS,
            gains[np.arange(len(widths)), np.minimum(widths, MOST_BITS - 1)],
            -np.inf,
        )
        widths[np.argmax(next_gains)] += 1
    return widths


def _levels(values: Rows, count: int) -> Rows:
    """Lloyd's quantiser: each level the mean of the values nearest to it."""
    levels = np.quantile(values, (np.arange(count) + 0.5) / count)
    for _ in range(ROUNDS):
        nearest = _nearest(values, levels)
        members = np.bincount(nearest, minlength=count)
        sums = np.bincount(nearest, values, count)
        levels = np.sort(np.where(members > 0, sums / np.maximum(members, 1), levels))
    return levels.astype(np.float32)


def _nearest(values: Rows, levels: NDArray[np.floating]) -> NDArray[np.int64]:
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, values).astype(np.int64)


def _as_bits(numbers: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """The numbers in binary, the highest bit first, (numbers, width)."""
    return (numbers[:, None] >> np.arange(width)[::-1] & 1).astype(np.uint8)
