"""What the tests of a change of recipes have in common."""

from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np
import pytest

from app.core.errors import Unavailable
from app.core.model import Book, Content, Entry, Submission
from app.core.recipe import DEFAULT_SUITE
from app.core.signatures.sketch import fingerprint
from app.core.text.content import content_from_text
from app.services.index.recipe_switch import Switched
from app.services.lookups import Within
from app.settings import Settings
from app.wiring import Services
from tests.factories import ACTOR, a_sketch
from tests.open_services import OpenServices, open_on
from tests.redis_cluster import Operator

OTHER = "tf-simhash128-v1"
SUITE = replace(DEFAULT_SUITE, fingerprint=OTHER)
RNG = np.random.default_rng(41)


@pytest.fixture
async def elsewhere(
    services: OpenServices, module_database_url: str, index_url: str
) -> AsyncIterator[OpenServices]:
    """The services as another process has them, which has looked at the suites already."""
    settings = Settings(database_url=module_database_url, redis_url=index_url)
    async with open_on(services.database, settings) as elsewhere:
        await elsewhere.suites.read()
        yield elsewhere


@pytest.fixture(autouse=True)
def _notice_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.index.recipe_switch._NOTICED_AFTER", 0.0)


def a_text() -> Content:
    """A text in which each chapter has words of its own, so that it has a fingerprint under both recipes."""
    chapters = (RNG.choice(RNG.integers(10**6, 10**9, 6), 60) for _ in range(12))
    return content_from_text(" ".join(f"{word:x}" for chapter in chapters for word in chapter.tolist()))


async def post(services: Services, content: Content | None = None) -> Book:
    return (await services.ingest.post(Submission(content=content or a_text()), actor=ACTOR)).book


async def post_signatures(services: Services) -> Book:
    return (await services.ingest.post(Submission(sketch=a_sketch(RNG)), actor=ACTOR)).book


async def change(services: Services, name: str = OTHER, allow_missing: bool = False) -> Switched:
    return await services.recipes.change(
        name, allow_missing=allow_missing, progress=lambda done, total: None, say=lambda line: None
    )


async def is_clean(services: Services) -> bool:
    return (await services.upkeep.verify(lambda done, total: None)).clean


async def books_under(services: Services, content: Content, recipe: str) -> set[object]:
    """The books with exactly this content's fingerprint under a recipe."""
    wanted = fingerprint(content, recipe)
    assert wanted is not None
    query = Entry(0, wanted, None)
    return {
        match.book.book_id for match in (await services.lookup.look_up(query, Within(0), None, 10)).matches
    }


async def broken_off(
    services: Services, monkeypatch: pytest.MonkeyPatch, where: type, name: str
) -> BaseException:
    """The outcome of a change that failed where it first called this method."""

    async def fail(*_: object, **__: object) -> None:
        raise Unavailable("The process died here.")

    with monkeypatch.context() as patch:
        patch.setattr(where, name, fail)
        with pytest.raises(Unavailable) as caught:
            await change(services)
    return caught.value


async def keys_of(redis: Operator, recipe: str) -> list[bytes]:
    return [key async for key in redis.scan_iter(f"bp:2{{{recipe}*")]
