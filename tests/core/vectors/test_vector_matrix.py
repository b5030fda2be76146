"""The matrix of vectors against plain computations, while entries come and go."""

import numpy as np
from numpy.typing import NDArray

from bookprint_core.vectors import BYTES, EntryVectors, VectorMatrix

Vectors = dict[int, NDArray[np.uint8]]


def some(rng: np.random.Generator, *entry_ids: int) -> Vectors:
    return {entry_id: rng.integers(0, 256, BYTES, dtype=np.uint8) for entry_id in entry_ids}


def rows(vectors: Vectors) -> EntryVectors:
    data = [*vectors.values()]
    return EntryVectors(
        np.array(list(vectors), dtype=np.uint64),
        np.stack(data) if data else np.zeros((0, BYTES), dtype=np.uint8),
    )


def by_sorting(vectors: Vectors, vector: NDArray[np.uint8], k: int) -> list[int]:
    def order(entry_id: int) -> tuple[int, int]:
        return int.from_bytes(vector ^ vectors[entry_id]).bit_count(), entry_id

    return sorted(vectors, key=order)[:k]


def found(matrix: VectorMatrix, vector: NDArray[np.uint8], k: int) -> list[int]:
    similar = matrix.rows().most_similar(vector, k)
    assert list(similar.similarities) == sorted(similar.similarities, reverse=True)
    entry_ids: list[int] = similar.entry_ids.tolist()
    return entry_ids


def test_most_similar_are_those_of_comparing_every_entry_while_they_come_and_go() -> None:
    rng = np.random.default_rng(1)
    matrix, kept = VectorMatrix(), Vectors()
    for turn in range(20):
        new = some(rng, *range(turn * 100 + 1, turn * 100 + 1 + int(rng.integers(0, 90))))
        again = {entry_id: kept[entry_id] for entry_id in list(kept)[-5:]}
        matrix.add(rows(new | again))
        kept |= new
        gone = rng.choice(list(kept), min(len(kept), 20), replace=False)
        matrix.remove(np.array([*gone, 99_999], dtype=np.uint64))
        for entry_id in gone.tolist():
            del kept[entry_id]
        vector = some(rng, 0)[0]
        for k in (1, 7, 10_000):
            assert found(matrix, vector, k) == by_sorting(kept, vector, k)


def test_of_equally_similar_entries_the_lowest_come_first() -> None:
    rng = np.random.default_rng(2)
    [vector] = some(rng, 0).values()
    matrix = VectorMatrix()
    for entry_id in (5, 3, 9, 1):
        matrix.add(rows({entry_id: vector}))
    assert [found(matrix, vector, k) for k in (1, 2, 3)] == [[1], [1, 3], [1, 3, 5]]


def test_rows_that_were_handed_out_stay_as_they_were_when_entries_come() -> None:
    rng = np.random.default_rng(4)
    matrix = VectorMatrix()
    matrix.add(rows(some(rng, *range(1, 1000))))
    before, [vector] = matrix.rows(), some(rng, 0).values()
    similar = before.most_similar(vector, 10)
    for entry_id in range(1000, 4000):
        matrix.add(rows(some(rng, entry_id)))
    assert before.most_similar(vector, 10).entry_ids.tolist() == similar.entry_ids.tolist()


def test_rows_of_entries_that_have_left_are_used_again() -> None:
    rng = np.random.default_rng(5)
    matrix = VectorMatrix()
    for first in range(1, 30_001, 1000):
        entries = rows(some(rng, *range(first, first + 1000)))
        matrix.add(entries)
        matrix.remove(entries.entry_ids)
    assert matrix.rows().size <= 4000
