"""Common parts of the compiled kernels: the decorator, two mixing functions, the bit count and the types.

Functions import the kernels that they call: the import of numba takes half a second, and commands without
signatures need no kernel. Integer arithmetic wraps around on purpose. numba widens integers, so each 32-bit
step is cast. Positions in the hottest loops are unsigned, because numba checks signed positions.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

# numba imports an installed SciPy for linear algebra that no kernel uses: 14 MB in each process.
_hides_scipy = "scipy" not in sys.modules
if _hides_scipy:
    sys.modules["scipy"] = cast(ModuleType, None)  # makes its import fail

import numba  # noqa: E402
import numba.np.arraymath  # noqa: E402 - looks for SciPy
from numba.core import types  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

if _hides_scipy:
    del sys.modules["scipy"]

# numba's own annotations are partial
nbtypes = cast(Any, types)

P = ParamSpec("P")
R = TypeVar("R")

U8, U32, U64 = np.uint8, np.uint32, np.uint64
I64 = cast(Callable[[Any], int], np.int64)
Index = cast(Callable[[Any], int], np.uintp)

Codes = NDArray[np.uint32]
"""Code points of a text, one per element."""

BLOCK = 512
"""Number of n-gram hashes computed at once; a block fits into the first-level cache."""


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile the function for the types of its arguments, without the GIL, with a cache on disk."""
    return cast(Callable[P, R], numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def _generate_popcount(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.ctpop(arguments[0])


def _type_popcount(typing_context: Any, word: Any) -> Any:
    return nbtypes.uint64(nbtypes.uint64), _generate_popcount


popcount = cast(Callable[[np.uint64], np.uint64], intrinsic(_type_popcount))
"""Number of set bits of a word."""


@compiled
def mix32(h: np.uint32) -> np.uint32:
    """Apply the 32-bit finaliser of MurmurHash3 (Appleby 2011)."""
    h = U32(h ^ U32(h >> U32(16)))
    h = U32(h * U32(0x85EBCA6B))
    h = U32(h ^ U32(h >> U32(13)))
    h = U32(h * U32(0xC2B2AE35))
    return U32(h ^ U32(h >> U32(16)))


@compiled
def mix64(h: np.uint64) -> np.uint64:
    """Apply the 64-bit finaliser of MurmurHash3 (Appleby 2011)."""
    h = U64(h ^ (h >> U64(33)))
    h = U64(h * U64(0xFF51AFD7ED558CCD))
    h = U64(h ^ (h >> U64(33)))
    h = U64(h * U64(0xC4CEB9FE1A85EC53))
    return U64(h ^ (h >> U64(33)))
