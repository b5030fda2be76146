"""Permits, and how long others wait for one."""

import asyncio

import pytest

from app.api.http.transport.bulkheads import Bulkhead, BulkheadTerms

PATIENT = BulkheadTerms(permits=2, longest_wait=5.0, short_wait=1.0)
HASTY = BulkheadTerms(permits=2, longest_wait=0.2, short_wait=0.02)


async def visit(bulkhead: Bulkhead, seconds: float) -> bool:
    """Whether there was a permit to stay in for so long."""
    if not await bulkhead.acquire():
        return False
    await asyncio.sleep(seconds)
    bulkhead.release()
    return True


async def test_a_burst_is_let_in_in_turn() -> None:
    bulkhead, inside, most = Bulkhead(PATIENT), 0, 0

    async def stay() -> bool:
        nonlocal inside, most
        is_in = await bulkhead.acquire()
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.01)
        inside -= 1
        bulkhead.release()
        return is_in

    assert all(await asyncio.gather(*(stay() for _ in range(20))))
    assert most == 2


async def test_nobody_waits_longer_than_the_longest_wait() -> None:
    bulkhead = Bulkhead(HASTY)
    assert await bulkhead.acquire()
    assert await bulkhead.acquire()
    loop = asyncio.get_running_loop()
    begun = loop.time()
    assert not await bulkhead.acquire()
    assert 0.1 < loop.time() - begun < 2


async def test_a_queue_that_stands_is_cut_short_and_forgotten_once_it_is_gone() -> None:
    bulkhead, loop = Bulkhead(HASTY), asyncio.get_running_loop()
    waits: list[tuple[bool, float]] = []

    async def ask() -> None:
        begun = loop.time()
        waits.append((await visit(bulkhead, 0.02), loop.time() - begun))

    # 200 a second, where 100 can be let in.
    asking = []
    for _ in range(300):
        asking.append(asyncio.create_task(ask()))
        await asyncio.sleep(0.005)
    await asyncio.gather(*asking)

    late = waits[150:]
    served = [seconds for is_in, seconds in late if is_in]
    refused = [seconds for is_in, seconds in late if not is_in]
    assert len(served) > 30
    assert len(refused) > 30
    assert sorted(served)[int(0.9 * len(served))] < 0.02 + 0.06
    assert sorted(refused)[int(0.9 * len(refused))] < 0.06

    await asyncio.sleep(0.3)
    # Eight take 80 ms: too long for a queue that stands, not for a burst.
    assert all(await asyncio.gather(*(visit(bulkhead, 0.02) for _ in range(8))))


async def test_as_many_may_ask_again_and_again_as_have_permits_twice() -> None:
    bulkhead, loop = Bulkhead(HASTY), asyncio.get_running_loop()
    end = loop.time() + 1

    async def ask() -> set[bool]:
        answers = set()
        while loop.time() < end:
            answers.add(await visit(bulkhead, 0.04))
        return answers

    assert set().union(*await asyncio.gather(*(ask() for _ in range(4)))) == {True}


async def test_who_comes_in_again_goes_first() -> None:
    bulkhead, order = Bulkhead(BulkheadTerms(permits=1, longest_wait=5.0, short_wait=1.0)), []

    async def come(name: str, again: bool) -> None:
        await bulkhead.acquire(again=again)
        order.append(name)
        bulkhead.release()

    await bulkhead.acquire()
    coming = [asyncio.create_task(come("new", False)), asyncio.create_task(come("returning", True))]
    await asyncio.sleep(0)
    bulkhead.release()
    await asyncio.gather(*coming)
    assert order == ["returning", "new"]


@pytest.mark.parametrize("is_let_in", [True, False])
async def test_who_goes_away_leaves_the_permit_to_others(is_let_in: bool) -> None:
    bulkhead = Bulkhead(BulkheadTerms(permits=1, longest_wait=5.0, short_wait=1.0))
    await bulkhead.acquire()
    waiting = asyncio.create_task(bulkhead.acquire())
    await asyncio.sleep(0)
    if is_let_in:
        bulkhead.release()
        waiting.cancel()
    else:
        waiting.cancel()
        bulkhead.release()
    await asyncio.wait([waiting])
    assert await asyncio.wait_for(bulkhead.acquire(), 1)
