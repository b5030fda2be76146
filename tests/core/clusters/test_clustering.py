"""Clusters by the rule: connected, separated where a person said so, in any order of edges."""

from itertools import combinations
from random import Random
from uuid import UUID

from hypothesis import given, strategies as st

from bookprint_core.clusters.clustering import Edge, Joining, Link, Pair, Pieces, weakest_link
from tests.core.fresh_clusters import cluster, in_order

BOOKS = [UUID(int=number) for number in range(1, 9)]
A, B, C, D = BOOKS[:4]

pairs = st.sampled_from(list(combinations(BOOKS, 2)))
strengths = st.sampled_from([0.5, 0.7, 0.9])
graphs = st.dictionaries(pairs, strengths, max_size=16)


def edges_of(graph: dict[Pair, float]) -> list[Edge]:
    return [Edge(*pair, strength) for pair, strength in graph.items()]


def components(books: set[UUID], graph: list[Pair]) -> set[frozenset[UUID]]:
    sets = {frozenset({book}) for book in books}
    for left, right in graph:
        joined = {group for group in sets if left in group or right in group}
        sets = (sets - joined) | {frozenset().union(*joined)}
    return sets


def test_a_rejected_pair_is_cut_where_the_edges_are_weakest() -> None:
    chain = [Edge(A, B, 0.9), Edge(B, C, 0.6), Edge(C, D, 0.8)]
    clustering = cluster(chain, [(A, D)])
    assert clustering.founders == {A: A, B: A, C: C, D: C}
    assert clustering.borders == {(A, C)}


def test_of_equal_edges_those_of_the_oldest_books_count_first() -> None:
    assert cluster([Edge(B, C, 0.9), Edge(A, B, 0.9)], [(A, C)]).founders == {A: A, B: A}


@given(graph=graphs, never=st.sets(pairs, max_size=5), seed=st.integers(0, 99))
def test_clusters_are_connected_separated_as_large_as_can_be_and_independent_of_order(
    graph: dict[Pair, float], never: set[Pair], seed: int
) -> None:
    edges = edges_of({pair: strength for pair, strength in graph.items() if pair not in never})
    clustering = cluster(edges, never)
    shuffled = Random(seed).sample(edges, len(edges))
    assert cluster(shuffled, sorted(never, reverse=True)) == clustering

    def home(book: UUID) -> UUID:
        return clustering.founders.get(book, book)

    assert all(home(left) != home(right) for left, right in never)
    inner = [(edge.left, edge.right) for edge in edges if home(edge.left) == home(edge.right)]
    clusters = {group for group in components(set(BOOKS), inner) if len(group) > 1}
    assert clustering.founders == {book: min(group) for group in clusters for book in group}
    apart = {frozenset((home(left), home(right))) for left, right in never}
    across = {frozenset((home(edge.left), home(edge.right))) for edge in edges} - {
        frozenset({book}) for book in BOOKS
    }
    assert across <= apart
    assert {frozenset(border) for border in clustering.borders} == across


@given(graph=graphs, never=st.sets(pairs, max_size=5))
def test_once_final_no_further_edge_changes_anything(graph: dict[Pair, float], never: set[Pair]) -> None:
    edges = in_order(edges_of({pair: strength for pair, strength in graph.items() if pair not in never}))
    books = {book for edge in edges for book in (edge.left, edge.right)}
    joining = Joining(never)
    for edge in edges:
        joining.take([edge])
        if joining.is_final(books):
            break
    assert joining.clustering() == cluster(edges, never)


@given(graph=graphs.filter(bool), gone=st.sets(pairs, min_size=1), most=st.integers(1, 4))
def test_pieces_are_what_is_left_of_a_cluster(graph: dict[Pair, float], gone: set[Pair], most: int) -> None:
    whole = max(components(set(BOOKS), list(graph)), key=len)
    left = [pair for pair in graph if pair not in gone]
    ends = {book for pair in gone & graph.keys() for book in pair if book in whole}
    if not ends:
        return
    pieces = Pieces(ends)
    while books := pieces.to_read(most):
        pieces.read(books, [pair for pair in left if set(books) & set(pair)])
    expected = {group for group in components(set(BOOKS), left) if group <= whole}
    complete = set(pieces.complete())
    rest = whole - frozenset().union(*complete)
    assert complete | {rest} == expected


def test_weakest_link_is_the_one_that_books_hang_on() -> None:
    strong, weak = Link(B, C, "SAME_TEXT", 0.9), Link(A, B, "OVERLAPPING_TEXT", 0.3)
    around = Link(A, C, "OVERLAPPING_TEXT", 0.2)
    assert weakest_link([]) is None
    assert weakest_link([strong]) == strong
    assert weakest_link([strong, weak, around]) == weak
