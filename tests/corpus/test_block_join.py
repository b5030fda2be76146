"""The candidate join against comparing every pair of books by the verification rule."""

import numpy as np
import pytest

from bookprint_core.index.records import NO_SAMPLE, EntryColumns
from bookprint_core.matching.search import LAST_DISTANCE
from bookprint_core.matching.verification import evidence_of_each, is_accepted, is_compared
from bookprint_core.model import Entry, Fingerprint, FracMinHash, MinHashSignature
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_SAMPLE
from bookprint_corpus.block_join import BlockIndex, candidates_of_each
from bookprint_corpus.blocks import HashLists, SignatureBlock

Found = tuple[int, int, int | None, int]


def library(rng: np.random.Generator, count: int, first: int = 1) -> list[Entry]:
    """Books of a few works, some without one signature or another."""
    works = [(rng.bytes(16), rng.integers(0, 1 << 60, 120)) for _ in range(4)]
    entries = []
    for number in range(first, first + count):
        bits, hashes = works[rng.integers(4)]
        flips = np.packbits(rng.random(128) < rng.choice([0, 0.02, 0.1, 0.18, 0.3]))
        own = rng.integers(0, 1 << 32, 128).astype(np.uint32)
        kept = rng.random(120) < rng.choice([0.01, 0.03, 0.2, 1])
        sample = np.unique(np.where(kept, hashes, rng.integers(0, 1 << 60, 120)))
        fingerprint = Fingerprint(
            DEFAULT_FINGERPRINT, (np.frombuffer(bits, dtype=np.uint8) ^ flips).tobytes()
        )
        entries.append(
            Entry(
                number,
                None if rng.random() < 0.1 else fingerprint,
                None
                if rng.random() < 0.1
                else MinHashSignature(DEFAULT_MINHASH, own, int(rng.integers(50, 5000))),
                None
                if rng.random() < 0.1
                else FracMinHash(DEFAULT_SAMPLE, sample.astype(np.uint64), int(rng.integers(225, 240))),
            )
        )
    return entries


def block(entries: list[Entry]) -> SignatureBlock:
    bits = [bytes(16) if e.fingerprint is None else e.fingerprint.bits for e in entries]
    columns = EntryColumns(
        np.array([e.entry_id for e in entries], dtype=np.uint64),
        np.frombuffer(b"".join(bits), dtype=np.uint8).reshape(-1, 16),
        np.array([e.fingerprint is not None for e in entries]),
        np.array([0 if e.minhash is None else e.minhash.shingle_count for e in entries], dtype=np.uint32),
        np.array([NO_SAMPLE if e.sample is None else e.sample.level for e in entries], dtype=np.uint8),
        np.zeros(len(entries), dtype=np.bool_),
    )
    hashes = [np.zeros(0, np.uint64) if e.sample is None else e.sample.hashes for e in entries]
    return SignatureBlock(
        columns, HashLists(np.concatenate(hashes), np.cumsum([each.size for each in hashes]))
    )


def joined(queries: list[Entry], others: list[Entry], most: int) -> dict[int, list[Found]]:
    found: dict[int, list[tuple[int, Found]]] = {}
    for part in candidates_of_each(block(queries), BlockIndex.of(block(others)), most):
        columns = (
            part.books,
            part.others,
            part.distances,
            part.shared,
            part.ranks,
        )
        for book, other, distance, shared, rank in zip(*(column.tolist() for column in columns), strict=True):
            row = (book, other, None if distance == 255 else distance, shared)
            found.setdefault(book, []).append((rank, row))
    return {
        book: [row for _, row in sorted(rows, key=lambda each: (each[0], each[1][1]))]
        for book, rows in found.items()
    }


def by_pairs(queries: list[Entry], others: list[Entry], most: int) -> dict[int, list[Found]]:
    found = {}
    for query in queries:
        rest = [other for other in others if other.entry_id != query.entry_id]
        rows: list[tuple[tuple[int, int, int], Found]] = []
        for other, pair in zip(rest, evidence_of_each(query, rest), strict=True):
            shared, near = pair.shared or 0, is_accepted(pair)
            row = (query.entry_id, other.entry_id, pair.distance, shared)
            if near:
                distance = LAST_DISTANCE if pair.distance is None else pair.distance
                rows.append(((0, distance, other.entry_id), row))
            elif is_compared(pair):
                rows.append(((1, -shared, other.entry_id), row))
        if rows:
            found[query.entry_id] = [row for _, row in sorted(rows)[:most]]
    return found


@pytest.mark.parametrize("seed", range(3))
def test_each_book_gets_its_nearest_candidates_in_order(seed: int) -> None:
    books = library(np.random.default_rng(seed), 80)
    found = by_pairs(books, books, 200)
    for most in (3, 200):
        expected = {book: rows[:most] for book, rows in found.items()}
        assert sum(map(len, expected.values())) > 150
        assert joined(books, books, most) == expected


def test_two_blocks_give_what_one_gives() -> None:
    rng = np.random.default_rng(7)
    books = library(rng, 70)
    assert joined(books[:30], books[30:], 200) == by_pairs(books[:30], books[30:], 200)
    assert joined(books[30:], books[:30], 5) == by_pairs(books[30:], books[:30], 5)


def test_what_is_left_out_is_counted() -> None:
    [entry] = library(np.random.default_rng(1), 1)
    copies = [Entry(n, entry.fingerprint, entry.minhash, entry.sample) for n in range(1, 31)]
    [part] = candidates_of_each(block(copies), BlockIndex.of(block(copies)), 4)
    assert part.books.size == 30 * 4
    left_out = np.zeros(31, dtype=np.int64)
    np.add.at(left_out, part.books.astype(np.int64), part.left_out)
    assert left_out[1:].tolist() == [25] * 30


def test_a_hash_that_too_many_books_share_lists_the_first_of_them_and_is_reported() -> None:
    [entry] = library(np.random.default_rng(2), 1)
    assert entry.sample is not None
    copies = [Entry(n, None, entry.minhash, entry.sample) for n in range(1, 21)]
    index = BlockIndex.of(block(copies), cap=5)
    assert {each.books for each in index.capped} == {20}
    low = (entry.sample.hashes & np.uint64(0xFFFFFFFF)).tolist()
    assert sorted(each.value for each in index.capped) == sorted(low)
    [part] = candidates_of_each(block(copies), index, 200)
    assert set(part.others.tolist()) == {1, 2, 3, 4, 5}
    assert set(part.books.tolist()) == set(range(1, 21))
