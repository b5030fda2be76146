"""Connected components against the clusters that edges taken one by one make."""

from uuid import UUID

import numpy as np
import pytest

from bookprint_core.clusters.clustering import Edge, Joining
from bookprint_corpus.components import connected_components


@pytest.mark.parametrize("edges", [0, 1, 40, 150, 400])
def test_components_are_the_clusters_without_decisions(edges: int) -> None:
    rng = np.random.default_rng(edges)
    books = np.sort(rng.choice(1 << 40, 200, replace=False))
    ends = np.sort(rng.integers(0, books.size, (edges, 2)), axis=1)
    left, right = books[ends[:, 0]], books[ends[:, 1]]
    joining = Joining([])
    joining.take(
        Edge(UUID(int=a), UUID(int=b), 1.0) for a, b in zip(left.tolist(), right.tolist(), strict=True)
    )
    expected = {book.int: founder.int for book, founder in joining.clustering().founders.items()}

    components = connected_components(left, right)

    founders = dict(zip(components.books.tolist(), components.founders.tolist(), strict=True))
    alone = {book: book for book in founders if book not in expected}  # an edge to itself joins nothing
    assert founders == expected | alone
    assert components.founders_of(books).tolist() == [founders.get(book, book) for book in books.tolist()]
