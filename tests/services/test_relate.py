"""Jobs that relate books, on real servers: what they find, in whatever order they run and whatever fails."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import sqlalchemy as sa

from app.core.errors import Unavailable
from app.core.matching.candidates import Found
from app.core.model import Book, Metadata, Submission
from app.core.relations.relation import DEFAULT_CLASSIFIER
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_pages, content_from_text
from app.services.relate import PairsFailed
from app.settings import Settings
from app.stores.postgres import candidates
from app.stores.postgres.relation_queries import Related
from app.stores.redis.band_index import BandIndex
from app.wiring import House, open_house
from tests.api.library import prose, scanned
from tests.factories import a_sketch
from tests.paged_books import pages_of, run_jobs, waiting, with_limits

TEXT = prose(1, 3000)
PAGES = pages_of(TEXT)
SCAN = pages_of(scanned(TEXT, 1))


@pytest.fixture
async def house(database_url: str, redis_url: str) -> AsyncIterator[House]:
    async with open_house(Settings(database_url=database_url, redis_url=redis_url)) as house:
        await house.reindex.reconcile()
        yield house


async def post(house: House, pages: Sequence[str], **metadata: Any) -> Book:
    submission = Submission(Metadata(**metadata), content_from_pages(pages))
    return (await house.ingest.post(submission)).book


async def relations(house: House, book: Book) -> dict[UUID, Related]:
    return {one.book_id: one for one in (await house.relations.of_book(book.id, None, 100)).direct}


async def kinds(house: House, book: Book) -> dict[UUID, str]:
    found = (await relations(house, book)).items()
    return {other: one.evidence.finding.kind for other, one in found if one.evidence}


async def rows(house: House) -> list[tuple[Any, ...]]:
    """Everything that is stored of relations but for the time."""
    async with house.engine.connect() as connection:
        found = await connection.execute(sa.text("SELECT * FROM relations ORDER BY left_id, right_id"))
        return [tuple(row)[:-1] for row in found]


async def test_a_scan_another_edition_and_a_part_are_told_apart(house: House) -> None:
    book = await post(house, PAGES)
    scan = await post(house, SCAN)
    reset = await post(house, pages_of(TEXT, 170))
    part = await post(house, PAGES[2:7])
    stranger = await post(house, pages_of(prose(2, 3000)))
    await run_jobs(house)

    told = await kinds(house, book)
    assert told.pop(stranger.id, "UNRELATED") == "UNRELATED"
    assert told == {
        scan.id: "SAME_PAGINATION",
        reset.id: "DIFFERENT_PAGINATION",
        part.id: "CONTIGUOUS_SUBSET",
    }
    for one, other, direction in ((book, part, "contains"), (part, book, "contained_in")):
        evidence = (await relations(house, one))[other.id].evidence
        assert evidence is not None
        assert evidence.finding.direction == direction


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_of_two_books_posted_at_once_one_sees_the_other(house: House, order: tuple[int, int]) -> None:
    books = await asyncio.gather(post(house, PAGES), post(house, SCAN))
    for place in order:
        await house.relate.relate_entry(books[place].entry_id)

    assert await kinds(house, books[0]) == {books[1].id: "SAME_PAGINATION"}
    assert await kinds(house, books[1]) == {books[0].id: "SAME_PAGINATION"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_books_whose_index_write_failed_are_related_all_the_same(
    house: House, order: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(index: BandIndex, entries: object) -> None:
        raise Unavailable("Redis refuses.")

    with monkeypatch.context() as failing:
        failing.setattr(BandIndex, "add", fail)
        books = await asyncio.gather(post(house, PAGES), post(house, SCAN))
    assert not any(book.indexed for book in books)
    await house.relate.relate_entry(books[order[0]].entry_id)

    # The one of which the index knows nothing yet is compared straight from Postgres.
    assert await kinds(house, books[0]) == {books[1].id: "SAME_PAGINATION"}
    await house.relate.relate_entry(books[order[1]].entry_id)
    assert (await house.books.get(books[order[1]].id)).indexed
    assert len(await rows(house)) == 1


async def test_the_same_job_again_and_two_at_once_leave_one_row(house: House) -> None:
    books = [await post(house, PAGES), await post(house, SCAN), await post(house, pages_of(TEXT, 170))]
    jobs = [house.relate.relate_entry(book.entry_id) for _ in range(3) for book in books]
    await asyncio.gather(*jobs)
    once = await rows(house)
    await run_jobs(house)

    assert len(once) == 3
    assert await rows(house) == once


async def test_the_same_book_again_makes_no_job(house: House) -> None:
    await post(house, PAGES)
    await run_jobs(house)
    await post(house, PAGES)

    assert await waiting(house) == []


async def test_a_changed_content_drops_relations_and_finds_others(house: House) -> None:
    book, scan = await post(house, PAGES), await post(house, SCAN)
    other = await post(house, pages_of(prose(2, 3000)))
    await run_jobs(house)
    content = content_from_pages(pages_of(scanned(prose(2, 3000), 5)))
    changed = (await house.ingest.replace_content(book.id, content, None, None)).book

    assert book.id not in await relations(house, scan)
    assert (await house.relations.of_book(book.id, None, 1)).progress.pending == 1
    await house.relate.relate_entry(book.entry_id)
    assert await relations(house, book) == {}
    await house.relate.relate_entry(changed.entry_id)
    assert (await kinds(house, book))[other.id] == "SAME_PAGINATION"


async def test_what_was_compared_while_a_content_changed_is_not_stored(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    book, scan = await post(house, PAGES), await post(house, SCAN)
    store = house.relate._relations.record

    async def late(compared: Any) -> None:
        await house.ingest.replace_content(scan.id, content_from_text(prose(9)), None, None)
        await store(compared)

    monkeypatch.setattr(house.relate._relations, "record", late)
    await house.relate.relate_entry(book.entry_id)

    assert await rows(house) == []


async def test_a_deleted_book_takes_its_relations_along(house: House) -> None:
    book, scan = await post(house, PAGES), await post(house, SCAN)
    await run_jobs(house)
    await house.ingest.delete(scan.id, None)

    assert await relations(house, book) == {}
    await house.relate.relate_entry(scan.entry_id)
    assert await rows(house) == []


async def test_another_title_year_or_volume_has_relations_found_anew(house: House) -> None:
    book, scan = await post(house, PAGES), await post(house, SCAN)
    await run_jobs(house)
    await house.books.change_metadata(scan.id, {"authors": ["Another"]})
    assert await waiting(house) == []
    assert len(await rows(house)) == 1
    for change in ({"title": "Another"}, {"year": 1891}, {"volume": "2"}):
        await house.books.change_metadata(scan.id, change)

        assert await rows(house) == []
        await run_jobs(house)
        assert (await kinds(house, book)).keys() == {scan.id}


async def test_texts_without_pages_are_the_same_text(house: House) -> None:
    one = (await house.ingest.post(Submission(content=content_from_text(TEXT)))).book
    other = await post(house, SCAN)
    await run_jobs(house)

    assert await kinds(house, one) == {other.id: "SAME_TEXT"}


async def test_page_signatures_that_are_missing_come_from_the_text_or_are_told(house: House) -> None:
    book, scan = await post(house, PAGES), await post(house, SCAN)
    signed = replace(sketch(content_from_pages(PAGES)), pages=None)
    textless = (await house.ingest.post(Submission(sketch=signed))).book
    async with house.engine.begin() as connection:
        await connection.execute(sa.text("DELETE FROM signatures WHERE recipe LIKE 'char6%'"))
    await run_jobs(house)

    assert await kinds(house, book) == {scan.id: "SAME_PAGINATION", textless.id: "INSUFFICIENT_TEXT"}
    async with house.engine.connect() as connection:
        kept = sa.text("SELECT count(*) FROM signatures WHERE recipe LIKE 'char6%'")
        assert await connection.scalar(kept) == 2


async def test_a_pair_that_cannot_be_compared_holds_up_no_other(house: House) -> None:
    book = await post(house, PAGES)
    poison = await post(house, SCAN)
    others = [await post(house, pages_of(scanned(TEXT, seed))) for seed in (2, 3)]
    async with house.engine.begin() as connection:
        await connection.execute(
            sa.text("UPDATE signatures SET data = '\\x00' WHERE recipe LIKE 'char6%' AND entry_id = :id"),
            {"id": poison.entry_id},
        )
    for _ in range(2):
        with pytest.raises(PairsFailed, match=f"{book.id}.*{poison.id}: ValueError"):
            await house.relate.relate_entry(book.entry_id)

    assert await kinds(house, book) == {other.id: "SAME_PAGINATION" for other in others}


async def test_copies_without_number_are_not_all_compared(house: House) -> None:
    sketched = replace(a_sketch(np.random.default_rng(3)), fingerprint=None)
    copies = [
        (await house.ingest.post(Submission(sketch=replace(sketched, word_count=1000 + n)))).book
        for n in range(60)
    ]
    relate = with_limits(house, nearest=4, representatives=3)
    for book in copies:
        await relate.relate_entry(book.entry_id)
        await join(house, copies)

    assert len(await rows(house)) <= 60 * (4 + 3)
    # Every one of them is reached, and those not compared are listed with the one that stands for them.
    last = copies[-1]
    found = await house.relations.of_book(last.id, None, 1000)
    assert not found.complete
    assert {one.book_id for one in (*found.direct, *found.indirect)} == {book.id for book in copies[:-1]}
    assert len(found.direct) <= 7
    direct = {one.book_id for one in found.direct}
    assert all(one.via in direct and one.book_id not in direct for one in found.indirect)


async def test_candidates_asked_after_in_parts_are_those_asked_after_at_once(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = [await post(house, pages_of(scanned(TEXT, seed))) for seed in range(6)]
    await house.relate.relate_entry(first.entry_id)
    asked = [others[place].entry_id for place in (3, 0, 4, 2, 1)]

    async def found() -> list[Found]:
        return await house.relate._candidates.found(first.id, first.entry_id, asked, DEFAULT_CLASSIFIER)

    at_once = await found()
    monkeypatch.setattr(candidates, "_FOUND_AT_ONCE", 2)
    assert [one.entry_id for one in at_once] == asked
    assert all(one.related for one in at_once)
    assert await found() == at_once


async def test_a_rehearsal_leaves_the_roll_loaded_and_needs_a_whole_index(house: House) -> None:
    await post(house, PAGES)
    await house.relate.rehearse()
    latest = house.index.roll.latest
    assert latest is not None
    assert latest.size == 1
    await house.index.epoch.begin("another rebuilding")
    with pytest.raises(Unavailable):
        await house.relate.rehearse()


async def join(house: House, copies: Sequence[Book]) -> None:
    """Put the copies that have a relation into one cluster, after the oldest."""
    async with house.engine.begin() as connection:
        await connection.execute(
            sa.text("""
                INSERT INTO cluster_members (by, book_id, founder_id)
                SELECT DISTINCT 'same_text', id, CAST(:founder AS uuid)
                FROM books JOIN relations ON id IN (left_id, right_id)
                ON CONFLICT DO NOTHING
            """),
            {"founder": copies[0].id},
        )


async def test_when_the_one_that_stood_for_others_goes_its_relatives_look_again(house: House) -> None:
    copies = [await post(house, pages_of(scanned(TEXT, seed))) for seed in range(6)]
    relate = with_limits(house, nearest=2, representatives=1)
    for book in copies:
        await relate.relate_entry(book.entry_id)
        await join(house, copies)
    await run_jobs(house, relate)
    before = await relations(house, copies[-1])
    gone = next(iter(before))
    await house.ingest.delete(gone, None)

    assert copies[-1].entry_id in {entry_id for _, entry_id in await waiting(house)}
    await run_jobs(house, relate)
    assert len(await relations(house, copies[-1])) == len(before)
