"""What is found in a library, whoever found it: pairs of external ids, that of the older book first."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two books that may be related."""

    distance: int | None
    shared_hashes: int


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
    different = []
    for table in (field.name for field in fields(Findings)):
        here, there = getattr(one, table), getattr(other, table)
        for key in sorted(here.keys() | there.keys()):
            if here.get(key) != there.get(key):
                different.append(f"{table} {key}: {here.get(key)} and {there.get(key)}")
    return different


def without(findings: Findings, pairs: Collection[Pair]) -> Findings:
    """The findings without the relations of these pairs, and without what depends on them.

    The best copy of a cluster depends on all relations within it.
    """
    books = {book for pair in pairs for book in pair}
    unsure = {(by, cluster.founder) for (by, book), cluster in findings.clusters.items() if book in books}
    return replace(
        findings,
        relations={pair: row for pair, row in findings.relations.items() if pair not in pairs},
        page_maps={pair: row for pair, row in findings.page_maps.items() if pair not in pairs},
        clusters={
            (by, book): replace(cluster, best=False, because=None)
            if (by, cluster.founder) in unsure
            else cluster
            for (by, book), cluster in findings.clusters.items()
        },
        passed_over={},
    )
