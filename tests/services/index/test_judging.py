"""Verified lookups page by page: which hits they name and count, and how many statements they take."""

from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from app.services.index import judging
from app.services.index.questions import Verified
from app.stores.postgres.connections import SQL, Database, Row
from app.stores.postgres.pairs.decisions import NewDecision
from app.stores.redis.flat_index_replica import FlatIndexReplica
from bookprint_core.matching.verification import evidence
from bookprint_core.model import FracMinHash, Submission
from bookprint_core.recipe import DEFAULT_SAMPLE
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_text
from tests.factories import ACTOR, LEVEL, a_sketch, flipped
from tests.open_services import OpenServices
from tests.vectors import texts

RNG = np.random.default_rng(7)
BITS = RNG.bytes(16)
Text = tuple[NDArray[np.uint64], NDArray[np.uint16]]
"""Hashes, and where they stand in a book."""


def a_text(size: int, first: float, last: float) -> Text:
    return RNG.integers(0, 2**60, size, dtype=np.uint64), np.linspace(first, last, size).astype(np.uint16)


PREFACE, PART = a_text(60, 60, 4_000), a_text(60, 3_000, 62_000)


@pytest.fixture
async def books(services: OpenServices, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[UUID]]:
    """Books by what they are to the `query`; those that are deleted are still in the index."""
    books: dict[str, list[UUID]] = {}

    async def post(kind: str, bits: bytes, *texts: Text) -> None:
        parts = zip(*texts, a_text(240 - 60 * len(texts), 6_000, 65_000), strict=True)
        hashes, places = map(np.concatenate, parts)
        order = np.argsort(hashes)
        sample = FracMinHash(DEFAULT_SAMPLE, hashes[order], LEVEL, places[order])
        sketch = replace(a_sketch(RNG, bits), sample=sample, word_count=20_000)
        book = (await services.ingest.post(Submission(sketch=sketch), actor=ACTOR)).book
        books.setdefault(kind, []).append(book.id)

    await post("query", BITS, PREFACE, PART)
    for number in range(3):
        for kind in ("copy", "rejected", "deleted"):
            near = flipped(BITS, *RNG.choice(128, 7 + number, replace=False).tolist())
            await post(kind, near, PREFACE, PART)
            await post(kind, RNG.bytes(16), PART)
        await post("confirmed", RNG.bytes(16), PREFACE)
        await post("common", RNG.bytes(16), PREFACE)
    decisions = [NewDecision(books["query"][0], book_id, "rejected") for book_id in books["rejected"]]
    for book_id in books["confirmed"]:
        decisions.append(NewDecision(book_id, books["query"][0], "kind", "OVERLAPPING_TEXT"))
    await services.decisions.decide(decisions, actor=ACTOR)

    async def stay(*_: object) -> None:
        pass

    with monkeypatch.context() as patch:
        patch.setattr(type(services.index), "delete", stay)
        for book_id in books["deleted"]:
            await services.ingest.delete(book_id, None, actor=ACTOR)
    return books


@pytest.mark.parametrize("at_once", [2, 1_000])
@pytest.mark.parametrize("collection", [None, "a"])
async def test_pages_list_each_hit_once_and_their_total_counts_no_other(
    services: OpenServices,
    books: dict[str, list[UUID]],
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
    collection: str | None,
) -> None:
    monkeypatch.setattr(judging, "_JUDGED_AT_ONCE", at_once)
    members = {book_id for of_kind in books.values() for book_id in of_kind[:2] if collection} or None
    mark = SQL("UPDATE books SET collection = 'a' WHERE id = ANY($ids)")
    await services.database.rows(mark, ids=[*(members or ())])
    for common in (False, True):
        kinds = ("copy", "confirmed", *(("rejected", "common") if common else ()))
        expected = {each for kind in kinds for each in books[kind] if members is None or each in members}
        for limit in (1, 2, 5, 100):
            listed, places, after = [], [], None
            while after is not None or not listed:
                answer = await services.lookup.near_duplicates(
                    books["query"][0], Verified(common), after, limit, collection
                )
                listed += [match.book.book_id for match in answer.matches]
                places += [(match.evidence.distance, match.book.entry.entry_id) for match in answer.matches]
                assert answer.total == len(expected)
                decided = {*books["rejected"], *books["confirmed"]}
                assert answer.relations.keys() == decided & {each.book.book_id for each in answer.matches}
                after = answer.next
            assert (len(listed), set(listed), places) == (len(expected), expected, sorted(places))


@pytest.mark.parametrize("limit", [100, 8])
async def test_one_statement_precedes_the_index_and_one_follows(
    services: OpenServices, books: dict[str, list[UUID]], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    run, rows, read = [], Database.rows, FlatIndexReplica.read

    async def counted(database: Database, statement: SQL, **parameters: object) -> list[Row]:
        run.append("statement")
        return await rows(database, statement, **parameters)

    async def noted(replica: FlatIndexReplica, *keys: object) -> object:
        run.append("index")
        return await read(replica, *keys)  # type: ignore[arg-type]

    await services.upkeep.catch_up()  # no page shifts: nothing that is deleted is left in the index
    monkeypatch.setattr(Database, "rows", counted)
    monkeypatch.setattr(FlatIndexReplica, "read", noted)
    assert (await services.lookup.near_duplicates(books["query"][0], Verified(), None, limit)).matches
    assert run == ["statement", "index", "statement"]


async def test_a_small_work_in_a_large_collection_is_named_by_one_passage(services: OpenServices) -> None:
    words = texts.text("latin", 300_000, 1).split()
    sketches = [sketch(content_from_text(" ".join(each))) for each in (words, words[30_000:31_500])]
    pair = evidence(*sketches)
    assert pair.shared in (2, 3)
    ids = [(await services.ingest.post(Submission(sketch=each), actor=ACTOR)).book.id for each in sketches]
    for book_id, other in zip(ids, reversed(ids), strict=True):
        answer = await services.lookup.near_duplicates(book_id, Verified(), None, 10)
        assert [match.book.book_id for match in answer.matches] == [other]
