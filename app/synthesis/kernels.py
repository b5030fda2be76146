"""Compiled kernels that make OCR errors: the places of rules in a text, and the text as it was read."""

import numpy as np
from numpy.typing import NDArray

from app.core.jit import I64, U32, U64, Codes, Index, compiled, popcount

Masks = NDArray[np.uint32]
"""The rules in which a character stands, a bit each, by code point; the last is for all others."""


@compiled
def places(
    codes: Codes, firsts: Masks, seconds: Masks, rules: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where a character and the next are those of a rule, and the rule; by rule, then by place."""
    other = U32(firsts.size - 1)
    hits = np.empty(codes.size, dtype=np.uint32)
    masks = np.empty(codes.size, dtype=np.uint32)
    count = Index(0)
    for i in range(codes.size):
        following = min(codes[i + 1], other) if i + 1 < codes.size else other
        mask = firsts[min(codes[i], other)] & seconds[following]
        hits[count], masks[count] = i, mask
        count += Index(mask != U32(0))
    ends = np.zeros(rules + 1, dtype=np.int64)
    for mask in masks[:count]:
        rest = mask
        while rest:
            ends[_lowest(rest) + 1] += 1
            rest &= rest - U32(1)
    ends = np.cumsum(ends)
    found = np.empty(ends[-1], dtype=np.int64)
    of_rule = np.empty(ends[-1], dtype=np.int64)
    for k in range(count):
        rest = masks[k]
        while rest:
            rule = _lowest(rest)
            found[ends[rule]], of_rule[ends[rule]] = hits[k], rule
            ends[rule] += 1
            rest &= rest - U32(1)
    return found, of_rule


@compiled
def _lowest(mask: int) -> int:
    """The place of the lowest bit."""
    return I64(popcount(U64(~mask & (mask - U32(1)))))


@compiled
def written(read: Codes, after: Codes, nothing: int, out: Codes) -> int:
    """Writes each character and the one after it, but for those that are `nothing`; returns how many."""
    count = 0
    for i in range(read.size):
        if read[i] != U32(nothing):
            out[count] = read[i]
            count += 1
        if after[i] != U32(nothing):
            out[count] = after[i]
            count += 1
    return I64(count)
