"""Jobs that relate books, on real servers: what they find, in whatever order they run and whatever fails."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import pytest
import sqlalchemy as sa

from app.core.model import Book, Metadata, Submission
from app.core.text import content_from_pages, content_from_text
from app.settings import Settings
from app.stores.related import Related
from app.wiring import House, open_house
from tests.api.library import prose, scanned

WORDS = 300
TEXT = prose(1, 12 * WORDS)


def pages_of(text: str, words: int = WORDS) -> list[str]:
    told = text.split(" ")
    return [" ".join(told[start : start + words]) for start in range(0, len(told), words)]


@pytest.fixture
async def house(database_url: str, redis_url: str) -> AsyncIterator[House]:
    async with open_house(Settings(database_url=database_url, redis_url=redis_url)) as house:
        await house.reindex.reconcile()
        yield house


async def post(house: House, pages: Sequence[str], **metadata: object) -> Book:
    submission = Submission(Metadata(**metadata), content_from_pages(pages))
    return (await house.ingest.post(submission)).book


async def relations(house: House, book: Book) -> dict[UUID, Related]:
    return {one.book_id: one for one in (await house.relations.of_book(book.id, None, 100)).direct}


async def kinds(house: House, book: Book) -> dict[UUID, str]:
    return {
        other: one.evidence.finding.kind
        for other, one in (await relations(house, book)).items()
        if one.evidence
    }


async def run_jobs(house: House) -> None:
    """Run the relate jobs that wait, in their order, as a worker would."""
    async with house.engine.begin() as connection:
        rows = await connection.execute(
            sa.text(
                "SELECT id, CAST(args ->> 'entry_id' AS bigint) FROM procrastinate_jobs "
                "WHERE task_name = 'relate' AND status = 'todo' ORDER BY id"
            )
        )
        jobs = [(row[0], row[1]) for row in rows]
    for job_id, entry_id in jobs:
        await house.relate.relate_entry(entry_id)
        async with house.engine.begin() as connection:
            await connection.execute(sa.text("DELETE FROM procrastinate_jobs WHERE id = :id"), {"id": job_id})


async def test_a_scan_another_edition_and_a_part_are_told_apart(house: House) -> None:
    book = await post(house, pages_of(TEXT))
    scan = await post(house, pages_of(scanned(TEXT, 1)))
    reset = await post(house, pages_of(TEXT, 170))
    part = await post(house, pages_of(TEXT)[3:9])
    stranger = await post(house, pages_of(prose(2, 12 * WORDS)))
    await run_jobs(house)

    told = await kinds(house, book)
    assert told.pop(stranger.id, "UNRELATED") == "UNRELATED"
    assert told == {
        scan.id: "SAME_PAGINATION",
        reset.id: "DIFFERENT_PAGINATION",
        part.id: "CONTIGUOUS_SUBSET",
    }
    found = await relations(house, book)
    assert found[part.id].evidence.finding.direction == "contains"
    assert (await relations(house, part))[book.id].evidence.finding.direction == "contained_in"
