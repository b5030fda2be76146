"""What is counted of limits: at their number, again after a while, in Redis and without it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from uuid import uuid4

import pytest

from app.services.access.limits import Limits
from app.stores.postgres.keys import NO_LIMITS, Caller, KeyLimits
from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import TimeWindows, open_client
from tests.factories import BANDS
from tests.redis_cluster import Operator, on_cluster_too
from tests.services.access.passing_time import PassingTime

NOWHERE = "redis://127.0.0.1:9"
SECONDS = 60
BEGIN = 1_800_000_000.0
"""A moment, in seconds of the epoch, at which a window of a process begins."""


def caller(**limits: int) -> Caller:
    return Caller(uuid4(), "test", ("read",), KeyLimits(**limits))


@pytest.fixture
async def limits(index_url: str) -> AsyncIterator[Limits]:
    async with aclosing(TimeWindows(index_url)) as windows:
        yield Limits(windows, 5, SECONDS)


@pytest.fixture
async def without_redis() -> AsyncIterator[Limits]:
    async with aclosing(TimeWindows(NOWHERE)) as windows:
        yield Limits(windows, 5, SECONDS)


@pytest.fixture(params=["limits", "without_redis"])
def either(request: pytest.FixtureRequest) -> Limits:
    found: Limits = request.getfixturevalue(request.param)
    return found


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine Redis may take its time, and is not away."""
    monkeypatch.setattr("app.services.access.limits._ANSWER_SECONDS", 60.0)


@pytest.fixture
def clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> PassingTime:
    """The time of `either`, which stands still until a test lets it pass."""
    in_redis = request.node.callspec.params["either"] == "limits"
    clock = PassingTime(monkeypatch, request.getfixturevalue("redis") if in_redis else None)
    clock.stand_at(BEGIN)
    return clock


async def refused(limits: Limits, caller: Caller, **amounts: int) -> str | None:
    """The limit that a request would go beyond."""
    refusal = await limits.take(caller, **amounts)
    return refusal and refusal.limit.name


async def test_a_limit_trips_at_its_number_and_frees_with_the_window(
    either: Limits, clock: PassingTime
) -> None:
    limited, other = caller(requests_per_minute=3), caller(requests_per_minute=3)
    assert await either.take(limited, requests=1) is None
    await clock.go_on(10)
    rest = [await either.take(limited, requests=1) for _ in range(3)]

    assert rest[:2] == [None, None]
    assert rest[2] is not None
    assert rest[2].wait == pytest.approx(SECONDS - 10, abs=0.001)
    assert await either.take(other, requests=1) is None
    await clock.go_on(SECONDS - 9)
    # What came ten seconds later still counts.
    assert [await refused(either, limited, requests=1) for _ in "ab"] == [None, "requests"]


async def test_nothing_is_counted_from_the_first_refusal_on(either: Limits, clock: PassingTime) -> None:
    both = caller(requests_per_minute=3, lookups_per_minute=2, bytes_per_minute=1000)

    asked = [await refused(either, both, requests=1, lookups=1, size=300) for _ in range(4)]
    # The third request is counted, though it has one lookup too many.
    assert asked == [None, None, "lookups", "requests"]
    assert await refused(either, both, size=400) is None
    assert await refused(either, both, size=1) == "bytes"


async def test_several_lookups_at_once_fit_or_do_not(either: Limits, clock: PassingTime) -> None:
    asker = caller(lookups_per_minute=5)

    assert await refused(either, asker, lookups=4) is None
    refusal = await either.take(asker, lookups=2)
    assert refusal is not None
    assert refusal.wait == SECONDS
    assert await refused(either, asker, lookups=1) is None
    await clock.go_on(refusal.wait + 1)
    assert await refused(either, asker, lookups=5) is None


async def test_bytes_fit_once_the_wait_of_their_refusal_is_over(either: Limits, clock: PassingTime) -> None:
    for first, second in ((900, 200), (900, 1000)):
        sender = caller(bytes_per_minute=1000)
        assert await refused(either, sender, size=first) is None
        refusal = await either.take(sender, size=second)
        assert refusal is not None
        assert refusal.wait <= 2 * SECONDS
        await clock.go_on(refusal.wait + 1)
        assert await refused(either, sender, size=second) is None
        assert await refused(either, sender, size=1000) == "bytes"


async def test_attempts_are_counted_by_address(either: Limits, clock: PassingTime) -> None:
    for last in "12345":
        # Networks of IPv6 belong to one client.
        assert await either.take_attempt(f"2001:db8::{last}") is None
        assert await either.take_attempt("192.0.2.7") is None

    assert await either.take_attempt("2001:db8::9") is not None
    assert await either.take_attempt("::ffff:192.0.2.7") is not None
    assert await either.take_attempt("2001:db8:1::1") is None
    await clock.go_on(SECONDS + 1)
    assert await either.take_attempt("192.0.2.7") is None


async def test_where_no_limit_concerns_a_request_redis_is_not_asked(redis_url: str) -> None:
    async with aclosing(TimeWindows(redis_url)) as windows:
        limits = Limits(windows, None, SECONDS)
        assert await limits.take(caller(bytes_per_minute=1000), requests=1, lookups=1) is None
        assert await limits.take(Caller(None, "test", ("read",), NO_LIMITS), requests=1, size=5) is None
        assert await limits.take_attempt("192.0.2.7") is None
        assert "storage" not in vars(windows)


@on_cluster_too
async def test_what_is_counted_is_bounded_and_goes_by_itself(limits: Limits, redis: Operator) -> None:
    sender = caller(requests_per_minute=10, lookups_per_minute=10, bytes_per_minute=1000)
    for _ in range(40):
        await limits.take(sender, requests=1, lookups=1, size=1)
    keys = [key async for key in redis.scan_iter(match="*")]

    assert len(keys) == 3
    assert all(key.startswith(b"bp-limits:") for key in keys)
    assert {await redis.llen(key) for key in keys if b"bytes" not in key} == {10}
    ends = [await redis.pttl(key) for key in keys]
    assert 0 < min(ends) <= max(ends) <= 2000 * SECONDS


async def test_the_index_passes_over_what_is_counted(limits: Limits, redis_url: str) -> None:
    sender = caller(requests_per_minute=1)
    await limits.take(sender, requests=1)
    async with open_client(redis_url) as client:
        await BandIndex(client, BANDS).delete_all()

    assert await refused(limits, sender, requests=1) == "requests"


async def test_redis_going_and_coming_back(limits: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.access.limits._AWAY_SECONDS", 3600.0)
    sender = caller(requests_per_minute=2)
    await limits.take(sender, requests=1)
    async with aclosing(TimeWindows(NOWHERE)) as nowhere:
        with monkeypatch.context() as away:
            away.setattr(limits, "_shared", Limits(nowhere, 5, SECONDS)._shared)
            # Here counting begins anew.
            counted = [await refused(limits, sender, requests=1) for _ in range(3)]
            assert counted == [None, None, "requests"]
    limits._away_until = 0.0
    assert [await refused(limits, sender, requests=1) for _ in range(2)] == [None, "requests"]


async def test_a_silent_redis_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.access.limits._ANSWER_SECONDS", 0.2)
    monkeypatch.setattr("app.services.access.limits._AWAY_SECONDS", 3600.0)
    connections = 0

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, aclosing(TimeWindows(f"redis://127.0.0.1:{port}")) as windows:
        limits, sender = Limits(windows, 5, SECONDS), caller(requests_per_minute=20)
        await asyncio.gather(*(limits.take(sender, requests=1) for _ in range(10)))
        asked = connections
        for _ in range(10):
            await limits.take(sender, requests=1)
        assert connections == asked <= 10
        assert await refused(limits, sender, requests=1) == "requests"


async def test_limits_of_a_key_outrank_the_defaults() -> None:
    own = KeyLimits(requests_per_minute=5)
    defaults = KeyLimits(requests_per_minute=1, bytes_per_minute=2)

    assert own.or_else(defaults) == replace(own, bytes_per_minute=2)
    assert own.or_else(NO_LIMITS) == own
