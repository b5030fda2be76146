"""The learnt weights of a vector recipe: plain arrays, and their form as bytes.

They come from public-domain books by `research.similar.learn_vectors` and lie beside the code as a file. They
hold no text: a word is known by its hash alone.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.errors import InvalidInput

_MAGIC = b"BPV1"
_HEAD = struct.Struct("<4sII")

RAREST = 255
"""The rarity of a word that at most one book in sixty has, and of words that are not known."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorWeights:
    """How rare each known word is, and the plane of the map."""

    hashes: NDArray[np.uint32]  # (words,) of the known words, in ascending order
    rarity: NDArray[np.uint8]  # (words,) 0 for a word that every book of a language has
    map_centre: NDArray[np.float32]  # (signs,) the mean sign
    map_axes: NDArray[np.float32]  # (2, signs) at right angles, each of length 1


def pack_weights(weights: VectorWeights) -> bytes:
    """The weights as bytes, little-endian: a head, then each array in the order of its field."""
    return b"".join(
        (
            _HEAD.pack(_MAGIC, weights.hashes.size, weights.map_centre.size),
            weights.hashes.astype("<u4").tobytes(),
            weights.rarity.astype("u1").tobytes(),
            weights.map_centre.astype("<f4").tobytes(),
            weights.map_axes.astype("<f4").tobytes(),
        )
    )


def unpack_weights(data: bytes) -> VectorWeights:
    """The weights that `pack_weights` wrote; raises InvalidInput for other bytes."""
    if len(data) < _HEAD.size or not data.startswith(_MAGIC):
        raise InvalidInput("These are no weights of vectors. Install the package again.")
    _, words, signs = _HEAD.unpack_from(data)
    sizes = [_HEAD.size, 4 * words, words, 4 * signs, 8 * signs]
    if len(data) != sum(sizes):
        raise InvalidInput("The weights of vectors are cut short. Install the package again.")
    places = np.cumsum(sizes).tolist()
    return VectorWeights(
        hashes=np.frombuffer(data, "<u4", words, places[0]).astype(np.uint32),
        rarity=np.frombuffer(data, "u1", words, places[1]).copy(),
        map_centre=np.frombuffer(data, "<f4", signs, places[2]).astype(np.float32),
        map_axes=np.frombuffer(data, "<f4", 2 * signs, places[3]).astype(np.float32).reshape(2, signs),
    )
