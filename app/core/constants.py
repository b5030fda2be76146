"""Numbers that every implementation must share; they are part of what version 1 of each recipe means.

mix32 and mix64 are the 32-bit and 64-bit finalisers of MurmurHash3.
"""

FACTORS = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD3A2646D)
"""An n-gram of code points x_0, x_1, … hashes to mix32(Σ x_k · FACTORS[k] mod 2^32)."""

SHINGLE_BASE = 0x9E3779B97F4A7C15
"""A shingle x_1 … x_m hashes to mix64(Σ x_k · SHINGLE_BASE^(m-k) mod 2^64)."""

CELL_BITS = 18
"""The top bits of an n-gram's hash are its cell; n-grams of one cell are one feature."""

COUNT_LIMIT = (1 << 19) - 1
"""Counts of a cell end here: what comes after is not counted."""

POSITION_BITS = 24
"""Distances between occurrences are taken modulo 2^24 code points."""

SIGN_STEP = 0xD1B54A32D192ED03
"""Bits 64w … 64w + 63 of a cell's sign are mix64((cell + 1) · SIGN_STEP + w), most significant bit first."""

WEIGHT_UNIT = 1024
"""Weights are rounded to whole multiples of 1 / WEIGHT_UNIT before they vote, half up."""

DISTANCE_SHIFT = 56
"""While hits are sorted, their distances stand above so many bits of their ids."""
