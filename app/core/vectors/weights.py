"""The learnt weights of a vector recipe: plain arrays, and their form as bytes.

They come from public-domain books by a command of the benchmarks and lie beside the code as a file. They hold
no text: a word is known by its hash alone.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.errors import InvalidInput

_MAGIC = b"BPV1"
_HEAD = struct.Struct("<4sII")


@dataclass(frozen=True, slots=True, eq=False)
class VectorWeights:
    """How much each word counts, where it points, and the plane of the map."""

    rarity: NDArray[np.uint8]  # (cells,) 0 for a word that every book has
    rows: NDArray[np.int8]  # (cells, dimensions)
    map_centre: NDArray[np.float32]  # (dimensions,) of vectors at length 1
    map_axes: NDArray[np.float32]  # (2, dimensions) at right angles, each of length 1

    @property
    def bits(self) -> int:
        """Of the number of a cell."""
        return self.rarity.size.bit_length() - 1


def pack_weights(weights: VectorWeights) -> bytes:
    """The weights as bytes, little-endian: a head, then each array in the order of its field."""
    return b"".join(
        (
            _HEAD.pack(_MAGIC, *weights.rows.shape),
            weights.rarity.astype("u1").tobytes(),
            weights.rows.astype("i1").tobytes(),
            weights.map_centre.astype("<f4").tobytes(),
            weights.map_axes.astype("<f4").tobytes(),
        )
    )


def unpack_weights(data: bytes) -> VectorWeights:
    """The weights that `pack_weights` wrote; raises InvalidInput for other bytes."""
    if len(data) < _HEAD.size or not data.startswith(_MAGIC):
        raise InvalidInput("These are no weights of vectors. Install the package again.")
    _, cells, dimensions = _HEAD.unpack_from(data)
    if len(data) != _HEAD.size + cells * (1 + dimensions) + 12 * dimensions:
        raise InvalidInput("The weights of vectors are cut short. Install the package again.")
    places = np.cumsum([_HEAD.size, cells, cells * dimensions, 4 * dimensions]).tolist()
    return VectorWeights(
        rarity=np.frombuffer(data, "u1", cells, places[0]),
        rows=np.frombuffer(data, "i1", cells * dimensions, places[1]).reshape(cells, dimensions),
        map_centre=np.frombuffer(data, "<f4", dimensions, places[2]),
        map_axes=np.frombuffer(data, "<f4", 2 * dimensions, places[3]).reshape(2, dimensions),
    )
