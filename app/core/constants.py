"""Numbers that every implementation must share; they are part of what version 1 of each recipe means."""

FACTOR_0 = 0x9E3779B1
FACTOR_1 = 0x85EBCA77
FACTOR_2 = 0xC2B2AE3D
FACTOR_3 = 0x27D4EB2F
FACTOR_4 = 0x165667B1
FACTOR_5 = 0xD3A2646D
"""An n-gram of code points x hashes to mix32(Σ x_k · FACTOR_k mod 2^32), mix32 being MurmurHash3's finaliser."""

SHINGLE_BASE = 0x9E3779B97F4A7C15
"""A shingle x_1 … x_m hashes to mix64(Σ x_k · SHINGLE_BASE^(m-k) mod 2^64)."""

CELL_BITS = 18
"""The top bits of an n-gram's hash are its cell; n-grams of one cell are one feature."""

COUNT_LIMIT = (1 << 19) - 1
"""Counts of a cell stop here."""

POSITION_BITS = 26
"""Distances between occurrences are taken modulo 2^26 code points."""

SIGN_STEP = 0xD1B54A32D192ED03
"""Bits 32w … 32w+31 of a cell's sign: low half of mix64((cell + 1) · SIGN_STEP + w), most significant bit first."""

WEIGHT_UNIT = 1024
"""Weights are rounded to whole multiples of 1 / WEIGHT_UNIT before they vote, half up."""
