"""The weights of vectors, as they lie in this package."""

from functools import cache
from importlib.resources import files

from app.core.recipe import VECTORS
from app.core.vectors import VectorWeights, unpack_weights


@cache
def read_vector_weights() -> VectorWeights:
    """The learnt weights of the recipe `VECTORS`, read once in a process."""
    return unpack_weights(files("app.readers").joinpath("weights", f"{VECTORS}.bin").read_bytes())
