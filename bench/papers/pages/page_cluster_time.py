"""Clustering of many edges in one go (Spasojević and Poncin 2011, section VI): seconds against edges."""

import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from uuid import UUID

import numpy as np

from app.core.clusters.clustering import Clustering, Edge, Joining
from bench.harness.report import Cell, Section, Table

SEED = 20261123
EDGES = (100_000, 300_000, 1_000_000, 3_000_000)
SIZES = (2, 3, 4, 5, 8, 15, 40)
"""Books of a cluster."""
FREQUENCIES = (0.6, 0.18, 0.08, 0.05, 0.05, 0.03, 0.01)
"""How often clusters are of each size. Ours: the paper prints no values of its figure 5."""


def run(_: Path) -> Section:
    """Up to three million edges; a minute and a half."""
    return measure(EDGES)


def measure(counts: Sequence[int]) -> Section:
    """A row for each number of edges."""
    rows: list[list[Cell]] = []
    for count in counts:
        edges = made_edges(count, np.random.default_rng([SEED, count]))
        started = time.process_time()
        clustering = cluster_of(edges)
        seconds = time.process_time() - started
        clusters = len(set(clustering.founders.values()))
        rows.append(
            [
                len(edges),
                len(clustering.founders),
                clusters,
                round(seconds, 2),
                round(1e6 * seconds / len(edges), 1),
            ]
        )
    return Section(
        title="Spasojević and Poncin (2011): clustering all edges in one go",
        command="python -m bench page_cluster_time",
        tables=[
            Table(
                ["edges", "books in clusters", "clusters", "s", "µs per edge"],
                rows,
                "Processor time of one core, from edges in any order to the cluster of each book",
            )
        ],
        notes=[
            "Made clusters of 2 to 40 books, six of ten of them pairs, with an edge between every two books "
            f"(seed {SEED}); edges come in any order, and sorting them by strength is in the time. The "
            "paper clusters matches of more than 15 million books in about an hour on one processor, most "
            "of it reading; how many matches it does not say. The service never does this: it keeps its "
            "clusters up to date edge by edge."
        ],
    )


def made_edges(count: int, rng: np.random.Generator) -> list[Edge]:
    """At least so many edges of clusters in which every two books have one, in any order."""
    edges: list[Edge] = []
    book = 0
    while len(edges) < count:
        size = int(rng.choice(SIZES, p=FREQUENCIES))
        books = [UUID(int=number) for number in range(book, book + size)]
        book += size
        edges += [Edge(left, right, float(rng.random())) for left, right in combinations(books, 2)]
    return [edges[place] for place in rng.permutation(len(edges)).tolist()]


def cluster_of(edges: Sequence[Edge]) -> Clustering:
    """The clusters of all edges, taken strongest first."""
    joining = Joining([])
    joining.take(sorted(edges, key=lambda edge: (-edge.strength, edge.left, edge.right)))
    return joining.clustering()
