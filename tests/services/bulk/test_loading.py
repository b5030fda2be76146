"""Loading a corpus: the outcome is that of posting its books one after the other, with all jobs done."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.services.bulk import loading
from app.services.index.questions import Verified
from app.services.index.upkeep import IndexUpkeep
from app.settings import Settings
from app.stores.postgres.connections import SQL, Database
from bookprint_core.clusters.clustering import By
from bookprint_core.errors import Refusal
from bookprint_core.model import Metadata, Submission
from tests.factories import ACTOR
from tests.made_corpus import MadeCorpus, made_books, write_corpus
from tests.open_services import OpenServices, empty, open_on
from tests.paged_books import load_corpus, run_jobs, waiting
from tests.servers import flushed_redis

Catalogue = Callable[[], AbstractAsyncContextManager[OpenServices]]

BOTH: tuple[By, By] = ("same_text", "related")


@pytest.fixture
def catalogue(module_database: Database, module_settings: Settings) -> Catalogue:
    """Opens services over an empty catalogue and a whole, empty index; one at a time."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[OpenServices]:
        await empty(module_database)
        assert module_settings.redis_url is not None
        with flushed_redis(module_settings.redis_url):
            async with open_on(module_database, module_settings) as services:
                await services.upkeep.catch_up()
                yield services

    return opened


@pytest.fixture(scope="module")
def module_settings(module_database_url: str, module_redis_url: str) -> Settings:
    # As in a corpus, which has no texts: else they tell of posted books what is revised.
    return Settings(database_url=module_database_url, redis_url=module_redis_url, texts="none")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> MadeCorpus:
    """Books of five works, and one that resembles none."""
    return write_corpus(tmp_path_factory.mktemp("corpus"), made_books(5))


async def load(services: OpenServices, corpus: MadeCorpus) -> tuple[dict[str, int], dict[str, Refusal]]:
    return await load_corpus(services, corpus.folder)


async def post(services: OpenServices, books: Sequence[Submission]) -> None:
    for book in books:
        await services.ingest.post(book, actor=ACTOR)


async def state(services: OpenServices) -> dict[str, Any]:
    """All that clients see of the books, under names that two catalogues share."""
    rows = await services.database.rows(SQL("SELECT id, external_id, content_key FROM books"))
    names = {row["id"]: (row["external_id"] or row["content_key"].hex()) for row in rows}
    seen: dict[str, Any] = {}
    for book_id, name in names.items():
        book = await services.books.get(book_id)
        near = await services.lookup.near_duplicates(book_id, Verified(), None, 1000)
        listed = await services.relations.of_book(book_id, None, 1000)
        described: dict[str, Any] = {
            "book": (book.metadata, book.page_count, book.word_count, book.fingerprint, book.indexed),
            "key": next(row["content_key"] for row in rows if row["id"] == book_id),
            "cluster": names[book.founder_id],
            "near": (near.exact, [(names[match.book.book_id], match.evidence) for match in near.matches]),
            "progress": (listed.progress, listed.complete, [names[each.book_id] for each in listed.indirect]),
        }
        for related in listed.direct:
            pair, matches = await services.relations.pair(book_id, related.book_id)
            described[f"relation {names[related.book_id]}"] = (
                repr(pair.evidence),
                matches.unit,
                matches.runs,
                matches.pairs.tolist(),
                matches.similarities.tolist(),
            )
        for by in BOTH:
            page = await services.clusters.of_book(book_id, by, None, 1000)
            members = [names[member.book_id] for member in page.members]
            described[by] = (names[page.name.book_id], members, names[page.best.book_id], page.best.because)
        seen[name] = described
    return seen


async def told(services: OpenServices) -> list[tuple[object, ...]]:
    """The feed of changes and the audit log, but for their order and how clusters came about."""
    names = "(SELECT coalesce(external_id, content_key::text) FROM books WHERE id = {})"
    pair = f"{names.format('book_id')}, {names.format('other_id')}"
    changes = await services.database.rows(
        SQL(f"SELECT type, {pair}, data FROM unnumbered_changes WHERE type <> 'cluster.changed'")
    )
    audit = await services.database.rows(
        SQL(f"SELECT actor, name, address, action, {names.format('object_id')} FROM audit")
    )
    return sorted(tuple(map(str, row.values())) for row in [*changes, *audit])


async def test_a_corpus_is_there_as_after_posting_it(catalogue: Catalogue, corpus: MadeCorpus) -> None:
    async with catalogue() as services:
        await post(services, list(corpus.books.values()))
        await run_jobs(services)
        posted, posted_told = await state(services), await told(services)
    async with catalogue() as services:
        assert await load(services, corpus) == ({"created": len(corpus.books)}, {})
        assert await waiting(services) == []
        assert await services.is_clean()
        loaded, loaded_told = await state(services), await told(services)
        assert loaded == posted
        assert loaded_told == posted_told
        assert sum(len(described) > 7 for described in loaded.values()) > len(loaded) / 2
        assert await load(services, corpus) == ({"already there": len(corpus.books)}, {})
        assert await waiting(services) == []
        assert await state(services) == posted
        assert await told(services) == posted_told


async def test_posts_and_jobs_after_a_load_go_on_from_it(catalogue: Catalogue, corpus: MadeCorpus) -> None:
    last = list(corpus.books.values())[-1]
    copy = replace(last, metadata=replace(last.metadata, external_id="another"))
    async with catalogue() as services:
        await post(services, [*corpus.books.values(), copy])
        await run_jobs(services)
        posted = await state(services)
    async with catalogue() as services:
        await load(services, corpus)
        await post(services, [copy])
        assert await run_jobs(services) == 1
        assert await state(services) == posted


async def test_books_come_in_any_number_of_transactions(
    catalogue: Catalogue, corpus: MadeCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = []
    for at_once in (1, 3, 10_000):
        monkeypatch.setattr(loading, "_AT_ONCE", at_once)
        async with catalogue() as services:
            await load(services, corpus)
            states.append(await state(services))
    assert states[0] == states[1] == states[2]


async def test_a_load_that_was_broken_off_goes_on(
    catalogue: Catalogue, corpus: MadeCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with catalogue() as services:
        await load(services, corpus)
        whole = await state(services)
    async with catalogue() as services:
        monkeypatch.setattr(loading, "_AT_ONCE", 4)
        stores, batches = loading.Loading._store, 0

        async def store(transfer: Any, batch: Any) -> Any:
            nonlocal batches
            batches += 1
            if batches == 3:
                raise InterruptedError
            return await stores(transfer, batch)

        with monkeypatch.context() as broken:
            broken.setattr(loading.Loading, "_store", store)
            with pytest.raises(InterruptedError):
                await load(services, corpus)
        assert await services.is_clean()
        part = await state(services)
        assert len(part) == 8
        assert await load(services, corpus) == (
            {"created": len(corpus.books) - 8, "already there": 8},
            {},
        )
        assert await waiting(services) == []
        assert await state(services) == whole


async def test_other_books_in_the_catalogue_are_found_by_jobs(
    catalogue: Catalogue, corpus: MadeCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    books = list(corpus.books.values())
    other = replace(books[2], metadata=Metadata(external_id="other", title="Another edition"))
    conflicting = replace(books[4], metadata=replace(books[3].metadata))
    there = [other, books[6], conflicting]
    async with catalogue() as services:
        await post(services, there)
        for book in books:
            if book is not books[3]:
                await post(services, [book])
        await run_jobs(services)
        posted = await state(services)
    async with catalogue() as services:
        await post(services, there)
        counts, refused = await load(services, corpus)
        assert counts == {"created": len(books) - 2, "already there": 1, "failed": 1}
        [(place, refusal)] = refused.items()
        assert (place, refusal.problem) == (f"book {list(corpus.books)[3]}", "conflict")
        assert len(await waiting(services)) == len(books) - 2 + len(there)
        assert await services.is_clean()
        await run_jobs(services)
        assert await state(services) == posted
        with monkeypatch.context() as patch:
            patch.setattr(IndexUpkeep, "rebuild", None)
            counts, again = await load(services, corpus)
        assert counts == {"already there": len(books) - 1, "failed": 1}
        assert again == refused


async def test_equal_books_and_refused_ones_are_left_out(catalogue: Catalogue, tmp_path: Path) -> None:
    first, second, third, *_ = made_books(3, seed=5)
    plain = replace(first, metadata=Metadata(title="No id"))
    long = replace(second, metadata=replace(second.metadata, language="x" * 36))
    books = [plain, first, plain, long, second, third, replace(third, content=first.content)]
    corpus = write_corpus(tmp_path, books)
    async with catalogue() as services:
        await post(services, [plain, first, second, third])
        await run_jobs(services)
        posted = await state(services)
    async with catalogue() as services:
        counts, refused = await load(services, corpus)
        assert counts == {"created": 4, "already there": 1, "failed": 2}
        assert {place: refusal.problem for place, refusal in refused.items()} == {
            f"book {list(corpus.books)[3]}": "invalid",
            f"book {list(corpus.books)[6]}": "conflict",
        }
        assert await waiting(services) == []
        assert await state(services) == posted
        again, _ = await load(services, corpus)
        assert again == {"already there": 5, "failed": 2}
        assert await waiting(services) == []
