"""What is told of books that move between clusters."""

from typing import Any
from uuid import UUID

from app.stores.postgres.changes import ClusterMoves

A, B, C, D = (UUID(int=number) for number in range(1, 5))


def told(*moved: tuple[UUID, UUID, UUID], deleted: UUID | None = None) -> dict[UUID, tuple[Any, Any]]:
    """The books that joined and left each cluster, by its founder."""
    moves = ClusterMoves()
    moves.note([{"book_id": book, "before": before, "after": after} for book, before, after in moved])
    changes = moves.changes("same_text", deleted)
    for change in changes:
        assert change["data"]["id"] == f"same_text-{change['book_id']}"
    return {change["book_id"]: (change["data"]["joined"], change["data"]["left"]) for change in changes}


def test_a_book_joins_another() -> None:
    assert told((B, B, A), (A, A, A)) == {A: ([B], [])}


def test_of_two_clusters_that_become_one_the_older_is_told() -> None:
    assert told((C, C, A), (D, C, A)) == {A: ([C, D], [])}


def test_a_cluster_that_falls_apart_is_told_with_its_parts() -> None:
    assert told((C, A, C), (D, A, C)) == {A: ([], [C, D]), C: ([C, D], [])}


def test_a_cluster_without_its_founder_has_another_name() -> None:
    assert told((A, A, A), (B, A, B), (C, A, B), deleted=A) == {B: ([B, C], [])}


def test_a_deleted_book_has_left_and_joined_nothing() -> None:
    assert told((C, A, C), deleted=C) == {A: ([], [C])}
    assert told((B, A, B), (A, A, A), deleted=B) == {A: ([], [B])}


def test_a_way_there_and_back_is_not_told() -> None:
    assert told((B, A, B), (B, B, A)) == {}


def test_a_great_change_comes_in_parts() -> None:
    books = [UUID(int=number) for number in range(10, 2510)]
    moves = ClusterMoves()
    moves.note([{"book_id": book, "before": book, "after": A} for book in books])

    parts = [change["data"]["joined"] for change in moves.changes("related", None)]

    assert [len(part) for part in parts] == [1000, 1000, 500]
    assert [book for part in parts for book in part] == books
