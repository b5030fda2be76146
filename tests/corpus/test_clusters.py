"""The stage of clusters: components of the relations, and the best copy that the core picks."""

import json
from collections import defaultdict
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest

from bookprint_core.clusters.best_copy import KNOWN, Copy, best_copy, complete_copies
from bookprint_core.clusters.clustering import KINDS, By, Edge, Joining
from bookprint_corpus import storage
from bookprint_corpus.corpus import Corpus
from bookprint_corpus.stages import clusters
from bookprint_corpus.tables import schema

pytestmark = pytest.mark.engine

EVERY_KIND = [
    *("SAME_PAGINATION", "DIFFERENT_PAGINATION", "SAME_TEXT", "CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT"),
    *("UNRELATED", "INSUFFICIENT_TEXT"),
]


def write_tables(corpus: Corpus, lengths: dict[int, int], relations: list[dict[str, Any]]) -> None:
    books = [
        dict(zip(KNOWN, known_of(book, length), strict=True)) | {"book": book}
        for book, length in lengths.items()
    ]
    storage.write(corpus.out, "sketches", pa.Table.from_pylist(books, schema=schema("sketches")))
    storage.write(corpus.out, "relations", pa.Table.from_pylist(relations, schema=schema("relations")))


def known_of(book: int, length: int) -> tuple[int, int, int | None, str | None, bytes]:
    """What is known of a copy of so many characters; of some the single words were not counted."""
    single_words = 700 + length % 1000 if book % 9 else None
    return 10_000, length, single_words, external_id_of(book), key_of(book)


def external_id_of(book: int) -> str | None:
    """Every other book has one; they fall as numbers grow."""
    return f"shelf-{9999 - book % (1 << 32)}" if book % 2 else None


def key_of(book: int) -> bytes:
    return sha256(b"%d" % book).digest()


def made_relations(books: list[int], pairs: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    ends = np.unique(np.sort(rng.integers(0, len(books), (pairs, 2)), axis=1), axis=0)
    return [
        {
            "left": books[left],
            "right": books[right],
            "kind": kind,
            "link": link,
            "signals": None
            if kind == "INSUFFICIENT_TEXT"
            else json.dumps({"unit": "page", "page_similarity": float(rng.integers(60, 100)) / 100}),
        }
        for left, right in ends[ends[:, 0] < ends[:, 1]].tolist()
        for kind in [EVERY_KIND[rng.integers(len(EVERY_KIND))]]
        # Of those that overlap some share too little.
        for link in [0.5 if kind in KINDS["related"] and (kind != "OVERLAPPING_TEXT" or left % 2) else None]
    ]


def founders_of(relations: list[dict[str, Any]], by: By) -> dict[UUID, UUID]:
    joining = Joining([])
    joining.take(
        Edge(UUID(int=row["left"]), UUID(int=row["right"]), 1.0)
        for row in relations
        if row["kind"] in KINDS[by] and row["link"] is not None
    )
    return dict(joining.clustering().founders)


def expected(lengths: dict[int, int], relations: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    """The rows of `clusters` as the service would find them, pair by pair."""
    texts = founders_of(relations, "same_text")
    similarities: dict[UUID, list[float]] = defaultdict(list)
    for row in relations:
        left, right = UUID(int=row["left"]), UUID(int=row["right"])
        if row["signals"] and left in texts and texts[left] == texts.get(right):
            for book in (left, right):
                similarities[book].append(json.loads(row["signals"])["page_similarity"])
    agreement = {book: sum(values) / len(values) for book, values in similarities.items()}
    rows: list[tuple[object, ...]] = []
    for by in KINDS:
        members: dict[UUID, list[Copy]] = defaultdict(list)
        for book, founder in founders_of(relations, by).items():
            members[founder].append(Copy(book, *known_of(book.int, lengths[book.int])))
        for founder, copies in members.items():
            same = {copy.book_id: texts.get(copy.book_id, copy.book_id) for copy in copies}
            best = best_copy(complete_copies(copies, same if by == "related" else None), agreement)
            for copy in copies:
                is_best = copy.book_id == best.book_id
                because = best.because if is_best else None
                rows.append((by, founder.int, copy.book_id.int, len(copies), is_best, because))
    return sorted(rows, key=lambda row: row[:3])


@pytest.mark.parametrize(("pairs", "members_per_bucket"), [(25, 100_000), (60, 10), (250, 10)])
def test_clusters_are_those_of_the_service(
    corpus: Corpus, pairs: int, members_per_bucket: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "_MEMBERS_PER_BUCKET", members_per_bucket)
    rng = np.random.default_rng(pairs)
    books = sorted(((number % 4) << 32) + number for number in range(1, 81))
    lengths = dict(zip(books, rng.integers(95_000, 102_000, len(books)).tolist(), strict=True))
    relations = made_relations(books, pairs, pairs)
    write_tables(corpus, lengths, relations)

    clusters.run(corpus)

    rows = storage.read(corpus.out, "clusters").to_pylist()
    got = sorted((tuple(row.values()) for row in rows), key=lambda row: row[:3])
    assert got == expected(lengths, relations)
    assert {row["by"] for row in rows} == set(KINDS)


def test_without_relations_there_are_no_clusters(corpus: Corpus) -> None:
    write_tables(corpus, {1: 100}, [])
    clusters.run(corpus)
    assert storage.read(corpus.out, "clusters").schema.names == schema("clusters").names
    assert storage.read(corpus.out, "clusters").num_rows == 0
