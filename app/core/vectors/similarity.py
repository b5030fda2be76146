"""How alike two vectors are: their cosine, as Reeve (2017) compares books."""

import numpy as np
from numpy.typing import NDArray

from app.core.vectors.book_vector import Vector


def cosine(a: Vector, b: Vector) -> float:
    """The cosine of two vectors, -1 to 1; 0 where either is all zeros."""
    return float(cosines(a, b[None])[0])


def cosines(vector: Vector, others: NDArray[np.int8]) -> NDArray[np.float32]:
    """The cosine of a vector with each row of `others` (n, 128), -1 to 1, (n,)."""
    from app.core.vectors import kernels

    out = np.empty(len(others), dtype=np.float32)
    kernels.products(vector, others, out)
    return out
