"""What the compiled kernels share: the decorator, the two mixing functions, the bit count.

Integer arithmetic wraps around on purpose. Each 32-bit step is cast, because numba widens; positions are
unsigned in the hottest loops, because numba guards signed ones against negative values.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

# numba's own annotations are partial
codegen, nbtypes = cast(Any, cgutils), cast(Any, types)

P = ParamSpec("P")
R = TypeVar("R")

U8, U32, U64 = np.uint8, np.uint32, np.uint64
I64 = cast(Callable[[Any], int], np.int64)
Index = cast(Callable[[Any], int], np.uintp)

BLOCK = 512
"""n-gram hashes are made in blocks of this many, which stay in the first-level cache."""


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function compiled for the types it is called with; it releases the GIL and is cached on disk."""
    return cast(Callable[P, R], numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def _generate_popcount(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.ctpop(arguments[0])


def _type_popcount(typing_context: Any, word: Any) -> Any:
    return nbtypes.uint64(nbtypes.uint64), _generate_popcount


popcount = cast(Callable[[np.uint64], np.uint64], intrinsic(_type_popcount))
"""How many bits of a word are set."""


def _generate_string_parts(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    string = codegen.create_struct_proxy(nbtypes.unicode_type)(context, builder, value=arguments[0])
    integer = context.get_value_type(nbtypes.intp)
    parts = [builder.ptrtoint(string.data, integer), builder.zext(string.kind, integer), string.length]
    return context.make_tuple(builder, signature.return_type, parts)


def _type_string_parts(typing_context: Any, text: Any) -> Any:
    return nbtypes.UniTuple(nbtypes.intp, 3)(nbtypes.unicode_type), _generate_string_parts


string_parts = cast(Callable[[str], tuple[int, int, int]], intrinsic(_type_string_parts))
"""Address, bytes per code point (1, 2 or 4) and length of a string, which is read where it lies."""


def _generate_pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.inttoptr(arguments[0], codegen.voidptr_t)


def _type_pointer(typing_context: Any, address: Any) -> Any:
    return nbtypes.voidptr(nbtypes.intp), _generate_pointer


pointer = cast(Callable[[int], Any], intrinsic(_type_pointer))
"""An address as a pointer for `numba.carray`."""


@compiled
def mix32(h: np.uint32) -> np.uint32:
    """The 32-bit finaliser of MurmurHash3."""
    h = U32(h ^ U32(h >> U32(16)))
    h = U32(h * U32(0x85EBCA6B))
    h = U32(h ^ U32(h >> U32(13)))
    h = U32(h * U32(0xC2B2AE35))
    return U32(h ^ U32(h >> U32(16)))


@compiled
def mix64(h: np.uint64) -> np.uint64:
    """The 64-bit finaliser of MurmurHash3."""
    h = U64(h ^ (h >> U64(33)))
    h = U64(h * U64(0xFF51AFD7ED558CCD))
    h = U64(h ^ (h >> U64(33)))
    h = U64(h * U64(0xC4CEB9FE1A85EC53))
    return U64(h ^ (h >> U64(33)))
