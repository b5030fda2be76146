"""What is found in a library, in one form whoever found it: books by their external ids, the older one left."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two books that may be related."""

    distance: int | None
    equal_values: int
    shared_hashes: int
    near_duplicate: bool


@dataclass(frozen=True, slots=True)
class Membership:
    """A book in a cluster."""

    founder: str
    size: int
    best: bool
    because: str | None  # of the best copy


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that was found."""

    candidates: Mapping[Pair, Candidate]  # of each book the nearest, from both sides
    relations: Mapping[Pair, Mapping[str, Any]]  # columns by name
    page_maps: Mapping[Pair, Mapping[str, Any]]  # "runs" and "pages", of pairs that were aligned
    clusters: Mapping[tuple[str, str], Membership]  # by what joins them, and the book
    passed_over: Mapping[str, int]  # of the books that had too many candidates


def differences(one: Findings, other: Findings) -> list[str]:
    """Every row that is not the same in both, in words."""
    named = ((field.name, getattr(one, field.name), getattr(other, field.name)) for field in fields(Findings))
    return list(chain.from_iterable(map_differences(*each) for each in named))


def map_differences(name: str, one: Mapping[Any, Any], other: Mapping[Any, Any]) -> list[str]:
    """The rows of one table that are not the same in both."""
    keys = sorted(one.keys() | other.keys())
    return [
        f"{name} {key}: {one.get(key)} and {other.get(key)}" for key in keys if one.get(key) != other.get(key)
    ]
