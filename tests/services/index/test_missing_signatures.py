"""Digests and vectors of books that were stored before they were asked for."""

from app.stores.postgres.books import BookFilter
from app.wiring import Services
from bookprint_core.model import Submission
from bookprint_core.signatures.digests import digests
from bookprint_core.text.content import content_from_text
from tests.api.library import prose
from tests.factories import ACTOR

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
