"""Questions asked together: each gets its own answer, and none an answer from before it was asked."""

import asyncio
from collections.abc import Sequence

import pytest

from app.stores.redis.flat_index_replica import Batcher


async def test_questions_that_come_meanwhile_are_asked_together_next() -> None:
    asked: list[list[int]] = []
    gate = asyncio.Event()

    async def squares(numbers: Sequence[int]) -> list[int]:
        asked.append(list(numbers))
        await gate.wait()
        return [number**2 for number in numbers]

    together = Batcher(squares, 3)
    first = asyncio.create_task(together.ask(1))
    await asyncio.sleep(0.01)
    others = [asyncio.create_task(together.ask(number)) for number in range(2, 7)]
    await asyncio.sleep(0.01)
    assert asked == [[1]]
    gate.set()
    assert await asyncio.gather(first, *others) == [1, 4, 9, 16, 25, 36]
    assert asked == [[1], [2, 3, 4], [5, 6]]
    assert await together.ask(7) == 49


async def test_a_failure_reaches_those_who_asked_and_nobody_else() -> None:
    async def fragile(numbers: Sequence[int]) -> list[int]:
        await asyncio.sleep(0)
        if 13 in numbers:
            raise ValueError("unlucky")
        return list(numbers)

    together = Batcher(fragile, 2)
    answers = await asyncio.gather(*(together.ask(n) for n in (1, 2, 3, 13, 4, 5)), return_exceptions=True)
    assert answers[:3] == [1, 2, 3]
    assert all(isinstance(answer, ValueError) for answer in answers[3:5])
    assert answers[5] == 5
    with pytest.raises(ValueError, match="unlucky"):
        await together.ask(13)
    assert await together.ask(6) == 6


async def test_one_who_gives_up_leaves_the_others_their_answers() -> None:
    gate = asyncio.Event()

    async def slow(numbers: Sequence[int]) -> list[int]:
        await gate.wait()
        return list(numbers)

    together = Batcher(slow, 10)
    tasks = [asyncio.create_task(together.ask(n)) for n in range(3)]
    await asyncio.sleep(0.01)
    tasks[0].cancel()
    tasks[2].cancel()
    gate.set()
    assert await tasks[1] == 1
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    assert await together.ask(9) == 9
