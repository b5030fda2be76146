"""How alike two vectors are: the cosine of the word weights, as Reeve (2017) compares books."""

import numpy as np
from numpy.typing import NDArray

from app.core.vectors.book_vector import SIGNS, Vector


def cosine(a: Vector, b: Vector) -> float:
    """The estimated cosine of two vectors, -1 to 1."""
    return float(cosines(a, b[None])[0])


def cosines(vector: Vector, others: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The estimated cosine of a vector with each row of `others` (n, 128), -1 to 1, (n,).

    Signs differ with probability θ/π for weights at an angle θ (Charikar 2002), so the cosine is that of π
    times the share of signs that differ. Near 0 its standard error is .05.
    """
    from app.core.vectors import kernels

    distances = np.empty(len(others), dtype=np.int64)
    kernels.distances(
        np.ascontiguousarray(vector).view(np.uint64), np.ascontiguousarray(others).view(np.uint64), distances
    )
    return _COSINES[distances]


_COSINES = np.cos(np.pi * np.arange(SIGNS + 1) / SIGNS).astype(np.float32)
