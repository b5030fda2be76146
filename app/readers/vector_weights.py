"""The weights of vectors, as they lie in this package."""

from functools import cache
from importlib.resources import files

from app.core.recipe import LSA128
from app.core.vectors.weights import VectorWeights, unpack_weights


@cache
def read_vector_weights() -> VectorWeights:
    """The learnt weights of `lsa128-v1`, read once in a process."""
    return unpack_weights(files("app.readers").joinpath("weights", f"{LSA128}.bin").read_bytes())
