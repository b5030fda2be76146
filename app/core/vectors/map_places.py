"""Places on a map: vectors seen from two fixed directions.

Reeve (2017) takes the principal components of the works that he compares, so each new book moves all others.
Here they are those of the books learnt from, frozen with the weights: a book keeps its place.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.vectors.weights import VectorWeights


def map_places(vectors: NDArray[np.uint8], weights: VectorWeights) -> NDArray[np.float32]:
    """The places x, y of vectors (n, 128) on the map, (n, 2); each -2 to 2."""
    return np.asarray((unit_signs(vectors) - weights.map_centre) @ weights.map_axes.T)


def unit_signs(vectors: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The signs of vectors (n, 128) as numbers of a row of length 1, (n, 1024)."""
    signs = np.unpackbits(vectors, axis=1).astype(np.float32)
    return np.asarray((2 * signs - 1) / np.sqrt(np.float32(signs.shape[1])))
