"""The catalogue on real Postgres: identity, conflicts, versions, entries that are never reused."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from app.services.books import new_book_id
from app.stores.postgres.books import BookFilter, BookStore
from app.stores.postgres.connections import SQL, Database, ReconcileLock
from app.stores.postgres.entries import EntryStore
from bookprint_core.errors import Conflict, InvalidInput, StaleVersion, UnknownBook
from bookprint_core.model import Entry, Metadata
from tests.factories import ACTOR, a_sketch, new_content

RNG = np.random.default_rng(11)


def content(text: str | None = None):
    return new_content(a_sketch(RNG), text)


async def test_a_new_book_is_pending_and_its_job_waits(catalogue: BookStore, database: Database) -> None:
    metadata = Metadata(
        title="Emma", authors=("Jane Austen",), year=1815, identifiers=("isbn:9780141439587",)
    )
    stored = await catalogue.insert(new_book_id(), metadata, content(), actor=ACTOR)
    assert stored.created
    assert not stored.book.indexed
    assert await catalogue.get(stored.book.id) == stored.book
    [job] = await database.rows(SQL("SELECT task_name, args FROM procrastinate_jobs"))
    assert dict(job) == {"task_name": "relate", "args": {"entry_id": stored.book.entry_id}}


async def test_a_book_is_marked_as_indexed(catalogue: BookStore, entries: EntryStore) -> None:
    stored = await catalogue.insert(new_book_id(), Metadata(), content(), actor=ACTOR)
    await entries.update_indexed([stored.book.entry_id])
    assert (await catalogue.get(stored.book.id)).indexed


async def test_the_same_content_is_found_and_keeps_its_metadata(catalogue: BookStore) -> None:
    same = content()
    first = await catalogue.insert(new_book_id(), Metadata(title="One"), same, actor=ACTOR)
    again = await catalogue.insert(new_book_id(), Metadata(title="Two"), same, actor=ACTOR)
    assert not again.created
    assert again.book == first.book


async def test_an_external_id_with_other_content_names_the_put(catalogue: BookStore) -> None:
    first = await catalogue.insert(new_book_id(), Metadata(external_id="x"), content(), actor=ACTOR)
    with pytest.raises(Conflict, match=f"Book {first.book.id} has the external_id") as caught:
        await catalogue.insert(new_book_id(), Metadata(external_id="x"), content(), actor=ACTOR)
    assert caught.value.book_id == first.book.id


async def test_many_posts_of_one_book_at_once_make_one_book(catalogue: BookStore) -> None:
    same = content()
    outcomes = await asyncio.gather(
        *(catalogue.insert(new_book_id(), Metadata(), same, actor=ACTOR) for _ in range(12))
    )
    assert sum(outcome.created for outcome in outcomes) == 1
    assert len({outcome.book.id for outcome in outcomes}) == 1


async def test_new_content_gets_a_new_entry_and_reports_the_old_one(
    catalogue: BookStore, entries: EntryStore
) -> None:
    first = await catalogue.insert(new_book_id(), Metadata(title="Kept"), content("old"), actor=ACTOR)
    second = await catalogue.update_content(first.book.id, content("new"), if_version=1, actor=ACTOR)
    assert second.book.entry_id > first.book.entry_id
    assert second.book.version == 2
    assert second.book.metadata.title == "Kept"
    assert second.replaced is not None
    assert second.replaced.entry_id == first.book.entry_id
    current = await entries.read_summaries([first.book.entry_id, second.book.entry_id])
    assert [book.entry.entry_id for book in current] == [second.book.entry_id]


async def test_replacing_with_the_same_content_changes_nothing(catalogue: BookStore) -> None:
    same = content()
    first = await catalogue.insert(new_book_id(), Metadata(), same, actor=ACTOR)
    again = await catalogue.update_content(first.book.id, same, None, actor=ACTOR)
    assert again.book == first.book
    assert not again.created


async def test_the_same_content_signed_otherwise_is_new(catalogue: BookStore) -> None:
    before, after = content(), content()
    first = await catalogue.insert(new_book_id(), Metadata(), before, actor=ACTOR)
    again = await catalogue.update_content(first.book.id, replace(after, key=before.key), None, actor=ACTOR)
    assert again.created
    assert again.book.entry_id > first.book.entry_id
    assert again.book.fingerprint == after.sketch.fingerprint


async def test_a_stale_version_is_refused(catalogue: BookStore) -> None:
    book = (await catalogue.insert(new_book_id(), Metadata(), content(), actor=ACTOR)).book
    await catalogue.update_metadata(book.id, {"title": "Seen by someone else"}, if_version=1, actor=ACTOR)
    with pytest.raises(StaleVersion):
        await catalogue.update_content(book.id, content(), if_version=1, actor=ACTOR)
    with pytest.raises(StaleVersion):
        await catalogue.update_metadata(book.id, {"title": "Lost update"}, if_version=1, actor=ACTOR)
    with pytest.raises(StaleVersion):
        await catalogue.delete(book.id, if_version=1, actor=ACTOR)


async def test_metadata_changes_leave_the_other_fields(catalogue: BookStore) -> None:
    metadata = Metadata(title="Emma", language="en", identifiers=("oclc:1",))
    book = (await catalogue.insert(new_book_id(), metadata, content(), actor=ACTOR)).book
    changed = await catalogue.update_metadata(book.id, {"language": None, "year": 1816}, None, actor=ACTOR)
    assert changed.metadata == Metadata(title="Emma", year=1816, identifiers=("oclc:1",))
    assert changed.version == 2


async def test_taking_anothers_external_id_is_a_conflict(catalogue: BookStore) -> None:
    first = (await catalogue.insert(new_book_id(), Metadata(external_id="one"), content(), actor=ACTOR)).book
    second = (await catalogue.insert(new_book_id(), Metadata(external_id="two"), content(), actor=ACTOR)).book
    with pytest.raises(Conflict) as caught:
        await catalogue.update_metadata(second.id, {"external_id": "one"}, None, actor=ACTOR)
    assert caught.value.book_id == first.id


async def test_giving_up_the_external_id_of_a_second_copy_is_a_conflict(catalogue: BookStore) -> None:
    same = content()
    plain = (await catalogue.insert(new_book_id(), Metadata(), same, actor=ACTOR)).book
    named = (await catalogue.insert(new_book_id(), Metadata(external_id="x"), same, actor=ACTOR)).book
    with pytest.raises(Conflict) as caught:
        await catalogue.update_metadata(named.id, {"external_id": None}, None, actor=ACTOR)
    assert caught.value.book_id == plain.id


async def test_a_deleted_book_frees_its_external_id_and_content(
    catalogue: BookStore, database: Database
) -> None:
    same = content("text")
    first = (await catalogue.insert(new_book_id(), Metadata(external_id="x"), same, actor=ACTOR)).book
    gone = await catalogue.delete(first.id, None, actor=ACTOR)
    assert gone.entry_id == first.entry_id
    with pytest.raises(UnknownBook):
        await catalogue.get(first.id)
    with pytest.raises(UnknownBook):
        await catalogue.delete(first.id, None, actor=ACTOR)
    again = await catalogue.insert(new_book_id(), Metadata(external_id="x"), same, actor=ACTOR)
    assert again.created
    assert again.book.entry_id > first.entry_id
    for table in ("signatures", "texts"):
        [left] = await database.rows(SQL(f"SELECT DISTINCT entry_id FROM {table}"))
        assert left["entry_id"] == again.book.entry_id


async def test_books_are_found_by_identifier_title_words_and_external_id(catalogue: BookStore) -> None:
    emma = (
        await catalogue.insert(
            new_book_id(),
            Metadata(title="Ümlaut: Emma; a Novel", identifiers=("isbn:1", "oclc:2")),
            content(),
            actor=ACTOR,
        )
    ).book
    other = (
        await catalogue.insert(
            new_book_id(), Metadata(title="Persuasion", external_id="p"), content(), actor=ACTOR
        )
    ).book

    async def ids(**wanted: str) -> list[object]:
        return [book.id for book in await catalogue.list_books(BookFilter(**wanted), None, 10)]

    assert await ids(identifier="oclc:2") == [emma.id]
    assert await ids(identifier="oclc") == []
    assert await ids(title="novel EMMA") == [emma.id]
    assert await ids(title="ümLAUT") == [emma.id]
    assert await ids(title="emma persuasion") == []
    assert await ids(external_id="p") == [other.id]
    with pytest.raises(InvalidInput, match="no word"):
        await ids(title="?!")
    assert await ids() == [emma.id, other.id]
    assert [book.id for book in await catalogue.list_books(BookFilter(), emma.id, 10)] == [other.id]


async def test_hits_are_current_pending_or_deleted(catalogue: BookStore, entries: EntryStore) -> None:
    indexed, pending, second, gone, replaced = [
        (await catalogue.insert(new_book_id(), Metadata(), content(), actor=ACTOR)).book for _ in range(5)
    ]
    await entries.update_indexed([book.entry_id for book in (indexed, second, gone, replaced)])
    await catalogue.delete(gone.id, None, actor=ACTOR)
    new = (await catalogue.update_content(replaced.id, content(), None, actor=ACTOR)).book
    hits = np.array([indexed.entry_id, gone.entry_id, 10**12], dtype=np.uint64)
    none = np.zeros(0, dtype=np.uint64)
    many = np.arange(10**9, 10**9 + 5_000, dtype=np.uint64)

    current = await entries.read_hits(hits, none, others=hits)
    assert {summary.book_id for summary in current.summaries} == {indexed.id}
    assert current.entry_ids.tolist() == [indexed.entry_id]
    waiting = {pending.entry_id, new.entry_id}
    assert {
        summary.entry.entry_id for summary in (await entries.read_pending(Entry(0, None, None))).pending
    } == waiting
    asked = await entries.read_query_book(indexed.id, with_sample=False)
    assert {summary.entry.entry_id for summary in asked.pending} == waiting
    assert current.deleted.tolist() == [gone.entry_id]
    # Against all tombstones, and together with others.
    everyone, first = await asyncio.gather(
        entries.read_hits(hits, none, others=many),
        entries.read_hits(np.array([second.entry_id], dtype=np.uint64), none, others=hits),
    )
    assert set(everyone.deleted) == {gone.entry_id, replaced.entry_id}
    assert first.deleted.tolist() == [gone.entry_id]
    assert (everyone.entry_ids.tolist(), first.entry_ids.tolist()) == (
        [indexed.entry_id],
        [second.entry_id],
    )
    assert await entries.count_pending() == 2
    assert await entries.count_roughly() == 4


async def test_very_many_books_are_not_counted_one_by_one(database: Database, entries: EntryStore) -> None:
    assert await entries.count_roughly() == 0
    await database.rows(SQL("UPDATE pg_class SET reltuples = 200000 WHERE oid = CAST('books' AS regclass)"))
    assert await entries.count_roughly() == 200_000


async def test_tombstones_are_deleted_in_time(catalogue: BookStore, entries: EntryStore) -> None:
    gone = (await catalogue.insert(new_book_id(), Metadata(), content(), actor=ACTOR)).book
    await catalogue.delete(gone.id, None, actor=ACTOR)
    hits, none = np.array([gone.entry_id], dtype=np.uint64), np.zeros(0, dtype=np.uint64)
    await entries.delete_tombstones(60.0)
    assert (await entries.read_hits(none, none, others=hits)).deleted.tolist() == [gone.entry_id]
    await entries.delete_tombstones(0.0)
    assert (await entries.read_hits(none, none, others=hits)).deleted.tolist() == []


async def test_one_process_at_a_time_reconciles(database: Database) -> None:
    async with ReconcileLock(database) as first, ReconcileLock(database) as second:
        assert (first, second) == (True, False)
    async with ReconcileLock(database) as third:
        assert third
