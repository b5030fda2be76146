"""Digests and vectors of books that were stored before they were asked for."""

from typing import Any

import pytest

from app.core.errors import Unavailable
from app.core.model import Submission
from app.core.signatures.digests import digests
from app.core.text.content import content_from_text
from app.settings import Settings
from app.stores.postgres.books import BookFilter
from app.stores.postgres.contents import UnsignedBooks
from app.wiring import Services
from tests.api.library import prose
from tests.factories import ACTOR
from tests.open_services import open_with_stores

TEXTS = [*(prose(seed) for seed in range(5)), "to be or so"]


async def post(services: Services, text: str) -> None:
    await services.ingest.post(Submission(content=content_from_text(text)), actor=ACTOR)


async def compute(services: Services) -> int:
    return await services.missing_digests.compute(lambda done, total: None)


async def require_digests(services: Services) -> None:
    """Every text has its digests, and is found by each of them."""
    stored = await services.books.search(BookFilter(), None, 100)
    assert [book.digests for book in stored] == [digests(text) for text in TEXTS]
    for book in stored:
        for digest in book.digests:
            found = await services.books.search(BookFilter(digest=digest), None, 100)
            assert [each.id for each in found] == [book.id]


async def test_books_get_the_digests_that_they_lack(services: Services) -> None:
    for text in TEXTS:
        await post(services, text)
    assert await compute(services) == len(TEXTS)
    await require_digests(services)
    assert await compute(services) == 0


async def test_computing_that_was_broken_off_goes_on_where_it_stopped(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in TEXTS:
        await post(services, text)
    monkeypatch.setattr("app.services.index.missing_signatures._COMPUTED_AT_ONCE", 2)
    sign, batches = UnsignedBooks.sign, []

    async def once(*arguments: Any) -> None:
        if len(batches) == 1:
            raise Unavailable("The process died here.")
        batches.append(arguments)
        await sign(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(UnsignedBooks, "sign", once)
        with pytest.raises(Unavailable):
            await compute(services)
    assert await compute(services) == len(TEXTS) - 2
    await require_digests(services)


async def test_books_whose_text_is_not_kept_stay_without(
    services: Services, module_database_url: str, index_url: str
) -> None:
    settings = Settings(database_url=module_database_url, redis_url=index_url, texts="none")
    async with open_with_stores(settings) as without_texts:
        await post(without_texts, TEXTS[0])
    assert await compute(services) == 0
    [book] = await services.books.search(BookFilter(), None, 100)
    assert book.digests == ()


async def test_books_get_the_vectors_that_they_lack(services: Services) -> None:
    for text in TEXTS:
        await post(services, text)
    stored = await services.books.search(BookFilter(), None, 100)
    assert [book.has_vector for book in stored] == [False] * len(TEXTS)
    seen: list[tuple[int, int]] = []
    with_vector = len(TEXTS) - 1  # the last text is too short
    compute = services.missing_vectors.compute
    assert await compute(lambda done, total: seen.append((done, total))) == with_vector
    assert seen == [(len(TEXTS), len(TEXTS))]
    stored = await services.books.search(BookFilter(), None, 100)
    assert [book.has_vector for book in stored] == [True] * with_vector + [False]
    assert await compute(lambda done, total: None) == 0
