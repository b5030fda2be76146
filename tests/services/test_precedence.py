"""Lookups go before posts, and nobody waits for ever."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from app.core.model import Metadata, Submission
from app.core.text.content import content_from_text
from app.services import precedence as module
from app.services.precedence import Precedence
from app.wiring import Services

GiveWay = Callable[[Precedence], Awaitable[None]]


async def beside_the_loop(precedence: Precedence) -> None:
    await asyncio.to_thread(precedence.give_way_in_thread)


both = pytest.mark.parametrize("give_way", [Precedence.give_way, beside_the_loop])


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 60.0)


@both
@pytest.mark.usefixtures("patient")
async def test_without_lookups_nobody_waits(give_way: GiveWay) -> None:
    precedence = Precedence()
    with precedence.lookup():
        pass
    await give_way(precedence)


@both
@pytest.mark.usefixtures("patient")
async def test_the_last_lookup_is_waited_for(give_way: GiveWay) -> None:
    precedence = Precedence()
    with precedence.lookup():
        with precedence.lookup():
            waiting = asyncio.create_task(give_way(precedence))
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.02)
        assert not waiting.done()
    await waiting


@both
@pytest.mark.usefixtures("patient")
async def test_a_lookup_that_fails_is_over(give_way: GiveWay) -> None:
    precedence = Precedence()
    with pytest.raises(ZeroDivisionError), precedence.lookup():
        raise ZeroDivisionError
    await give_way(precedence)


@both
async def test_a_lookup_without_end_is_not_waited_for(give_way: GiveWay) -> None:
    precedence = Precedence()
    with precedence.lookup():
        await give_way(precedence)


@pytest.mark.usefixtures("patient")
async def test_who_waits_can_be_given_up() -> None:
    precedence = Precedence()
    with precedence.lookup():
        waiting = asyncio.create_task(precedence.give_way())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_books_are_posted_under_lookups_without_end(services: Services) -> None:
    text = "It was the best of times, it was the worst of times, it was the age of wisdom. " * 40
    with services.precedence.lookup():
        stored = await services.ingest.post(Submission(metadata=Metadata(), content=content_from_text(text)))
    assert stored.book.indexed


@pytest.mark.usefixtures("patient")
async def test_a_post_lets_a_lookup_pass(services: Services) -> None:
    text = "It was the age of foolishness, it was the epoch of belief, it was the epoch of doubt. " * 40
    submission = Submission(metadata=Metadata(), content=content_from_text(text))
    with services.precedence.lookup():
        posting = asyncio.create_task(services.ingest.post(submission))
        await asyncio.sleep(0.05)
        assert not posting.done()
    assert (await posting).book.indexed
