"""Many books at once: the outcome is that of one post after the other, also beside other writers."""

import asyncio
from dataclasses import replace

import pytest

from app.services.books import Ingest, Outcome
from app.services.signing import Extras, computed
from app.stores.postgres.connections import SQL
from bookprint_core.model import Metadata, NewBook, Submission
from bookprint_core.text.content import content_from_pages, content_from_text
from tests.factories import ACTOR
from tests.open_services import OpenServices


def book(text: str, external_id: str | None = None) -> NewBook:
    content = content_from_text(f"{text}. " * 200)
    return NewBook(
        Metadata(title=text, external_id=external_id),
        computed(content, Extras(text=True)),
    )


async def take_in(ingest: Ingest, books: list[NewBook]) -> list[Outcome]:
    return await ingest.index(await ingest.store(books, actor=ACTOR))


def kinds(outcomes: list[Outcome]) -> list[str]:
    return [outcome.kind for outcome in outcomes]


async def test_books_are_stored_with_all_that_a_post_stores(services: OpenServices) -> None:
    outcomes = await take_in(services.ingest, [book("one"), book("two", "x"), book("three")])
    assert kinds(outcomes) == ["created"] * 3
    verdict = await services.upkeep.verify(lambda done, total: None)
    assert (verdict.clean, verdict.books) == (True, 3)
    [jobs] = await services.jobs.count()
    assert (jobs.task, jobs.state, jobs.count) == ("relate", "waiting", 3)
    again = await services.ingest.post(Submission(Metadata(), content_from_text("one. " * 200)), actor=ACTOR)
    assert (again.created, again.book.metadata.title, again.book.indexed) == (False, "one", True)


async def test_page_labels_are_stored_as_a_post_stores_them(services: OpenServices) -> None:
    labels, pages = ("i", None, "2"), content_from_pages(["one. " * 200, "", "two. " * 200])
    for name, known in (("posted", labels), ("unlabelled", ())):
        await services.ingest.post(
            Submission(Metadata(external_id=name), pages, page_labels=known), actor=ACTOR
        )
    signed = computed(pages, Extras(text=True))
    prepared = [
        NewBook(Metadata(external_id="taken in"), replace(signed, page_labels=labels)),
        NewBook(Metadata(external_id="taken in, unlabelled"), signed),
    ]
    assert kinds(await take_in(services.ingest, prepared)) == ["created"] * 2
    rows = await services.database.rows(SQL("SELECT external_id, page_labels, content_key FROM books"))
    assert {row["external_id"]: row["page_labels"] for row in rows} == {
        "posted": ["i", None, "2"],
        "taken in": ["i", None, "2"],
        "unlabelled": None,
        "taken in, unlabelled": None,
    }
    assert len({row["content_key"] for row in rows}) == 1


async def test_of_equal_books_the_first_is_stored(services: OpenServices) -> None:
    twins = [book("one"), book("one"), book("one", "x"), book("two", "x"), book("one", "x")]
    outcomes = await take_in(services.ingest, twins)
    assert kinds(outcomes) == ["created", "already there", "created", "failed", "already there"]
    assert "has the external_id 'x' and other content" in str(outcomes[3].refusal)
    assert kinds(await take_in(services.ingest, twins))[:2] == ["already there", "already there"]
    assert await services.ingest.known(twins[0].content.key, None) == Outcome("already there")
    assert await services.ingest.known(twins[0].content.key, "y") is None


async def test_two_runs_on_the_same_books_share_them_out(services: OpenServices) -> None:
    books = [book(f"book {n}", f"id {n}" if n % 2 else None) for n in range(60)]
    outcomes = await asyncio.gather(
        *(take_in(services.ingest, part) for part in (books[:40], books[::-1], books[20:] + books[:20]))
    )
    created = [outcome for part in outcomes for outcome in part if outcome.kind == "created"]
    assert len(created) == 60
    assert (await services.upkeep.verify(lambda done, total: None)).books == 60


async def test_a_lost_index_leaves_books_pending_and_found(
    services: OpenServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.books.SET_SECONDS", 1.0)
    await services.index.epochs.end()
    assert kinds(await take_in(services.ingest, [book("one")])) == ["pending"]
    await services.upkeep.catch_up()
    assert await services.is_clean()
