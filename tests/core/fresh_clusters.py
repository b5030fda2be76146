"""Clusters computed from nothing."""

from collections.abc import Collection, Iterable

from bookprint_core.clusters.clustering import Clustering, Edge, Joining, Pair


def cluster(edges: Collection[Edge], never: Iterable[Pair]) -> Clustering:
    """The clusters of all books that these edges name."""
    joining = Joining(never)
    joining.take(in_order(edges))
    return joining.clustering()


def in_order(edges: Collection[Edge]) -> list[Edge]:
    return sorted(edges, key=lambda edge: (-edge.strength, edge.left, edge.right))
