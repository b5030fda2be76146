"""Books that another version of Bookprint signed by other recipes."""

from typing import Any

import pytest

from app.services.index.questions import Verified
from app.stores.postgres.connections import SQL
from app.stores.postgres.contents import UnsignedBooks
from bookprint_core.errors import IndexRebuilding, Unavailable
from bookprint_core.model import Submission
from bookprint_core.recipe import PRESENT_RECIPES
from bookprint_core.text.content import content_from_text
from tests.api.library import prose, scanned
from tests.factories import ACTOR
from tests.open_services import OpenServices
from tests.redis_cluster import Operator

_AGE = SQL("""
    UPDATE signatures SET recipe = 'older-' || recipe
    WHERE recipe LIKE 'gap-%' OR recipe LIKE 'char20-%' RETURNING entry_id
""")
_DELETE_TEXT = SQL("DELETE FROM texts WHERE entry_id = $entry_id")
_RECIPES = SQL("SELECT DISTINCT recipe FROM signatures WHERE entry_id <> $entry_id")
TEXT = prose(1)


async def post(services: OpenServices, text: str) -> Any:
    return (await services.ingest.post(Submission(content=content_from_text(text)), actor=ACTOR)).book


async def aged(services: OpenServices) -> tuple[Any, Any, Any]:
    """Two copies and a book without a text, as the first start of a version with other recipes finds them."""
    books = [await post(services, text) for text in (TEXT, scanned(TEXT, 2), prose(3))]
    await services.database.rows(_AGE)
    await services.database.rows(_DELETE_TEXT, entry_id=books[2].entry_id)
    await services.index.epochs.end()
    first, second, textless = books
    return first, second, textless


async def reindex(services: OpenServices) -> int:
    async def sign() -> None:
        await services.outdated.compute(lambda done, total: None)

    return await services.upkeep.rebuild(after=sign)


async def test_no_lookup_is_answered_until_books_are_signed_anew(services: OpenServices) -> None:
    first, second, textless = await aged(services)
    with pytest.raises(Unavailable, match=r"Books were signed by other recipes .* bookprint reindex"):
        await services.upkeep.catch_up()
    with pytest.raises(IndexRebuilding):
        await services.lookup.near_duplicates(first.id, Verified(), None, 10)
    later = await post(services, scanned(TEXT, 4))
    assert (await services.books.get(later.id)).indexed is False

    assert await services.outdated.count() == (2, 1)
    assert await reindex(services) == 4

    answer = await services.lookup.near_duplicates(first.id, Verified(), None, 10)
    assert {match.book.book_id for match in answer.matches} == {second.id, later.id}
    assert await services.is_clean()
    recipes = await services.database.rows(_RECIPES, entry_id=textless.entry_id)
    assert {row["recipe"] for row in recipes} <= set(PRESENT_RECIPES)
    assert await services.outdated.count() == (0, 1)
    # A lost index is built without the command, for there is nothing left to sign.
    await services.index.epochs.end()
    assert await services.upkeep.catch_up() is not None


async def test_signing_that_was_broken_off_goes_on_where_it_stopped(
    services: OpenServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    await aged(services)
    monkeypatch.setattr("app.services.index.missing_signatures._COMPUTED_AT_ONCE", 1)
    sign, batches = UnsignedBooks.sign, []

    async def once(*arguments: Any) -> None:
        if batches:
            raise Unavailable("The process died here.")
        batches.append(arguments)
        await sign(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(UnsignedBooks, "sign", once)
        with pytest.raises(Unavailable):
            await reindex(services)
    assert await services.outdated.count() == (1, 1)
    assert await reindex(services) == 3
    assert await services.is_clean()


async def test_an_index_of_other_recipes_is_removed(services: OpenServices, redis: Operator) -> None:
    await post(services, TEXT)
    older = ["bp:2{older-v0:1}:7", "bp:2{older-v0:1}:epoch", "bp:2{older-v0+sample-v0}:segments"]
    for key in older:
        await redis.set(key, b"x")
    await services.upkeep.rebuild()
    assert await redis.exists(*older) == 0
    assert await services.is_clean()
