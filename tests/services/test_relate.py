"""Jobs that relate books, on real servers: their findings, in any order and after any failure."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from app.services.pairs.relate import PairsFailed
from app.stores.postgres.connections import SQL
from app.wiring import Services
from bookprint_core.errors import Unavailable
from bookprint_core.model import Book, Metadata, Submission
from bookprint_core.relations.related import RelatedBook
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_pages, content_from_text
from tests.api.library import prose, scanned
from tests.factories import ACTOR, a_sketch, pages_of
from tests.index_buckets import let_redis_fail
from tests.paged_books import run_jobs, waiting, with_limits

TEXT = prose(1, 3000)
PAGES = pages_of(TEXT)
SCAN = pages_of(scanned(TEXT, 1))


async def post(services: Services, pages: Sequence[str], **metadata: Any) -> Book:
    submission = Submission(Metadata(**metadata), content_from_pages(pages))
    return (await services.ingest.post(submission, actor=ACTOR)).book


async def relations(services: Services, book: Book) -> dict[UUID, RelatedBook]:
    return {
        related.book_id: related for related in (await services.relations.of_book(book.id, None, 100)).direct
    }


async def kinds(services: Services, book: Book) -> dict[UUID, str]:
    by_book = (await relations(services, book)).items()
    return {other: related.evidence.summary.kind for other, related in by_book if related.evidence}


async def rows(services: Services) -> list[tuple[Any, ...]]:
    """Everything that is stored of relations but for the time."""
    stored = await services.database.rows(SQL("SELECT * FROM relations ORDER BY left_id, right_id"))
    return [tuple(row.values())[:-1] for row in stored]


async def test_a_scan_another_edition_and_a_part_have_kinds_of_their_own(services: Services) -> None:
    book = await post(services, PAGES)
    scan = await post(services, SCAN)
    reset = await post(services, pages_of(TEXT, 170))
    part = await post(services, PAGES[2:7])
    unrelated = await post(services, pages_of(prose(2, 3000)))
    await run_jobs(services)

    relation_kinds = await kinds(services, book)
    assert relation_kinds.pop(unrelated.id, "UNRELATED") == "UNRELATED"
    assert relation_kinds == {
        scan.id: "SAME_PAGINATION",
        reset.id: "DIFFERENT_PAGINATION",
        part.id: "CONTIGUOUS_SUBSET",
    }
    for first, second, direction in ((book, part, "contains"), (part, book, "contained_in")):
        evidence = (await relations(services, first))[second.id].evidence
        assert evidence is not None
        assert evidence.summary.direction == direction


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_of_two_books_posted_at_once_one_sees_the_other(
    services: Services, order: tuple[int, int]
) -> None:
    books = await asyncio.gather(post(services, PAGES), post(services, SCAN))
    for place in order:
        await services.relate.relate_entry(books[place].entry_id)

    assert await kinds(services, books[0]) == {books[1].id: "SAME_PAGINATION"}
    assert await kinds(services, books[1]) == {books[0].id: "SAME_PAGINATION"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_books_whose_index_write_failed_are_related_all_the_same(
    services: Services, order: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as failing:
        let_redis_fail(failing)
        books = await asyncio.gather(post(services, PAGES), post(services, SCAN))
    assert not any(book.indexed for book in books)
    await services.relate.relate_entry(books[order[0]].entry_id)

    # The one of which the index knows nothing yet is compared straight from Postgres.
    assert await kinds(services, books[0]) == {books[1].id: "SAME_PAGINATION"}
    await services.relate.relate_entry(books[order[1]].entry_id)
    assert (await services.books.get(books[order[1]].id)).indexed
    assert len(await rows(services)) == 1


async def test_the_same_job_again_and_two_at_once_leave_one_row(services: Services) -> None:
    books = [
        await post(services, PAGES),
        await post(services, SCAN),
        await post(services, pages_of(TEXT, 170)),
    ]
    jobs = [services.relate.relate_entry(book.entry_id) for _ in range(3) for book in books]
    await asyncio.gather(*jobs)
    once = await rows(services)
    await run_jobs(services)

    assert len(once) == 3
    assert await rows(services) == once


async def test_a_changed_content_drops_relations_and_finds_others(services: Services) -> None:
    book, scan = await post(services, PAGES), await post(services, SCAN)
    other = await post(services, pages_of(prose(2, 3000)))
    await run_jobs(services)
    content = content_from_pages(pages_of(scanned(prose(2, 3000), 5)))
    changed = (await services.ingest.replace_content(book.id, content, None, None, actor=ACTOR)).book

    assert book.id not in await relations(services, scan)
    assert (await services.relations.of_book(book.id, None, 1)).progress.pending == 1
    await services.relate.relate_entry(book.entry_id)
    assert await relations(services, book) == {}
    await services.relate.relate_entry(changed.entry_id)
    assert (await kinds(services, book))[other.id] == "SAME_PAGINATION"


async def test_what_was_compared_while_a_content_changed_is_not_stored(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    book, scan = await post(services, PAGES), await post(services, SCAN)
    store = services.relate._relations.insert

    async def late(compared: Any) -> None:
        await services.ingest.replace_content(scan.id, content_from_text(prose(9)), None, None, actor=ACTOR)
        await store(compared)

    monkeypatch.setattr(services.relate._relations, "insert", late)
    await services.relate.relate_entry(book.entry_id)

    assert await rows(services) == []


async def test_a_deleted_book_takes_its_relations_along(services: Services) -> None:
    book, scan = await post(services, PAGES), await post(services, SCAN)
    await run_jobs(services)
    await services.ingest.delete(scan.id, None, actor=ACTOR)

    assert await relations(services, book) == {}
    await services.relate.relate_entry(scan.entry_id)
    assert await rows(services) == []


async def test_another_title_year_or_volume_has_relations_found_anew(services: Services) -> None:
    book, scan = await post(services, PAGES), await post(services, SCAN)
    await run_jobs(services)
    await services.books.change_metadata(scan.id, {"authors": ["Another"]}, actor=ACTOR)
    assert await waiting(services) == []
    assert len(await rows(services)) == 1
    for change in ({"title": "Another"}, {"year": 1891}, {"volume": "2"}):
        await services.books.change_metadata(scan.id, change, actor=ACTOR)

        assert await rows(services) == []
        await run_jobs(services)
        assert (await kinds(services, book)).keys() == {scan.id}


async def test_missing_page_signatures_come_from_the_text_or_are_named(services: Services) -> None:
    book, scan = await post(services, PAGES), await post(services, SCAN)
    signed = replace(sketch(content_from_pages(PAGES)), pages=None)
    textless = (await services.ingest.post(Submission(sketch=signed), actor=ACTOR)).book
    await services.database.rows(SQL("DELETE FROM signatures WHERE recipe LIKE 'char6%'"))
    await run_jobs(services)

    assert await kinds(services, book) == {scan.id: "SAME_PAGINATION", textless.id: "INSUFFICIENT_TEXT"}
    assert len(await services.database.rows(SQL("SELECT FROM signatures WHERE recipe LIKE 'char6%'"))) == 2


async def test_a_pair_that_cannot_be_compared_holds_up_no_other(services: Services) -> None:
    book = await post(services, PAGES)
    poison = await post(services, SCAN)
    others = [await post(services, pages_of(scanned(TEXT, seed))) for seed in (2, 3)]
    await services.database.rows(
        SQL("UPDATE signatures SET data = '\\x00' WHERE recipe LIKE 'char6%' AND entry_id = $id"),
        id=poison.entry_id,
    )
    for _ in range(2):
        with pytest.raises(PairsFailed, match=f"{book.id}.*{poison.id}: ValueError"):
            await services.relate.relate_entry(book.entry_id)

    assert await kinds(services, book) == {other.id: "SAME_PAGINATION" for other in others}


async def test_copies_without_number_are_not_all_compared(services: Services) -> None:
    sketched = replace(a_sketch(np.random.default_rng(3)), fingerprint=None)
    copies = [
        (
            await services.ingest.post(Submission(sketch=replace(sketched, word_count=1000 + n)), actor=ACTOR)
        ).book
        for n in range(60)
    ]
    relate = with_limits(services, nearest=4, representatives=3)
    for book in copies:
        await relate.relate_entry(book.entry_id)
        await join(services, copies)

    assert len(await rows(services)) <= 60 * (4 + 3)
    # Every one of them is reached, and those not compared are listed with the one that stands for them.
    last = copies[-1]
    listed = await services.relations.of_book(last.id, None, 1000)
    assert not listed.complete
    assert {related.book_id for related in (*listed.direct, *listed.indirect)} == {
        book.id for book in copies[:-1]
    }
    assert len(listed.direct) <= 7
    direct = {related.book_id for related in listed.direct}
    assert all(related.via in direct and related.book_id not in direct for related in listed.indirect)


async def test_warming_up_loads_the_flat_index_and_needs_a_complete_one(services: Services) -> None:
    await post(services, PAGES)
    await services.relate.warm_up()
    latest = services.index.flat_index.latest
    assert latest is not None
    assert latest.size == 1
    await services.index.epochs.begin("another rebuilding")
    with pytest.raises(Unavailable):
        await services.relate.warm_up()


async def join(services: Services, copies: Sequence[Book]) -> None:
    """Put the copies that have a relation into one cluster, after the oldest."""
    await services.database.rows(
        SQL("""
            INSERT INTO cluster_members (by, book_id, founder_id)
            SELECT DISTINCT 'same_text', id, $founder::uuid
            FROM books JOIN relations ON id IN (left_id, right_id)
            ON CONFLICT DO NOTHING
        """),
        founder=copies[0].id,
    )


async def test_when_the_one_that_stood_for_others_goes_its_relatives_look_again(services: Services) -> None:
    copies = [await post(services, pages_of(scanned(TEXT, seed))) for seed in range(6)]
    relate = with_limits(services, nearest=2, representatives=1)
    for book in copies:
        await relate.relate_entry(book.entry_id)
        await join(services, copies)
    await run_jobs(services, relate)
    before = await relations(services, copies[-1])
    gone = next(iter(before))
    await services.ingest.delete(gone, None, actor=ACTOR)

    assert copies[-1].entry_id in {entry_id for _, entry_id in await waiting(services)}
    await run_jobs(services, relate)
    assert len(await relations(services, copies[-1])) == len(before)
