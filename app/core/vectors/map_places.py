"""Places on a map: vectors seen from two fixed directions.

Reeve (2017) takes the principal components of the books that are shown, so each new book moves all others.
Here they are those of the books learnt from, frozen with the weights: a book keeps its place.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.vectors.weights import VectorWeights


def map_places(vectors: NDArray[np.int8], weights: VectorWeights) -> NDArray[np.float32]:
    """The places x, y of vectors (n, 128) on the map, (n, 2); each -2 to 2."""
    floats = vectors.astype(np.float32)
    lengths = np.linalg.norm(floats, axis=1, keepdims=True)
    units = floats / np.where(lengths > 0, lengths, 1)
    return np.asarray((units - weights.map_centre) @ weights.map_axes.T)
