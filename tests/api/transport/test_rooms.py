"""Places, and how long others wait for one."""

import asyncio

import pytest

from app.api.http.transport.rooms import Room, Terms

PATIENT = Terms(places=2, longest_wait=5.0, short_wait=1.0)
HASTY = Terms(places=2, longest_wait=0.2, short_wait=0.02)


async def visit(room: Room, seconds: float) -> bool:
    """Whether there was a place to stay in for so long."""
    if not await room.enter():
        return False
    await asyncio.sleep(seconds)
    room.leave()
    return True


async def test_a_burst_is_let_in_in_turn() -> None:
    room, inside, most = Room(PATIENT), 0, 0

    async def stay() -> bool:
        nonlocal inside, most
        is_in = await room.enter()
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.01)
        inside -= 1
        room.leave()
        return is_in

    assert all(await asyncio.gather(*(stay() for _ in range(20))))
    assert most == 2


async def test_nobody_waits_longer_than_the_longest_wait() -> None:
    room = Room(HASTY)
    assert await room.enter()
    assert await room.enter()
    loop = asyncio.get_running_loop()
    begun = loop.time()
    assert not await room.enter()
    assert 0.1 < loop.time() - begun < 2


async def test_a_queue_that_stands_is_cut_short_and_forgotten_once_it_is_gone() -> None:
    room, loop = Room(HASTY), asyncio.get_running_loop()
    waits: list[tuple[bool, float]] = []

    async def ask() -> None:
        begun = loop.time()
        waits.append((await visit(room, 0.02), loop.time() - begun))

    # 200 a second, where there is room for 100.
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
    assert all(await asyncio.gather(*(visit(room, 0.02) for _ in range(8))))


async def test_who_comes_in_again_goes_first() -> None:
    room, order = Room(Terms(places=1, longest_wait=5.0, short_wait=1.0)), []

    async def come(name: str, again: bool) -> None:
        await room.enter(again=again)
        order.append(name)
        room.leave()

    await room.enter()
    coming = [asyncio.create_task(come("new", False)), asyncio.create_task(come("returning", True))]
    await asyncio.sleep(0)
    room.leave()
    await asyncio.gather(*coming)
    assert order == ["returning", "new"]


@pytest.mark.parametrize("is_let_in", [True, False])
async def test_who_goes_away_leaves_the_place_to_others(is_let_in: bool) -> None:
    room = Room(Terms(places=1, longest_wait=5.0, short_wait=1.0))
    await room.enter()
    waiting = asyncio.create_task(room.enter())
    await asyncio.sleep(0)
    if is_let_in:
        room.leave()
        waiting.cancel()
    else:
        waiting.cancel()
        room.leave()
    await asyncio.wait([waiting])
    assert await asyncio.wait_for(room.enter(), 1)
