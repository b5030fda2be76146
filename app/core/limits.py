"""What a key may use, and what is left of it.

In a moving window each unit counts for the length of the window. A sliding window counts those of this window
and a share of those of the window before it, which shrinks evenly to nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Literal

LimitName = Literal["requests", "lookups", "bytes", "uploads", "attempts"]

_OWN_NETWORK_BITS = 64
"""A client with IPv6 has this much of an address to itself."""


@dataclass(frozen=True, slots=True)
class Limit:
    """So many units at most in any `seconds`, or at once where there are none."""

    name: LimitName
    most: int
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class Demand:
    """What a request would use of a limit, in its units."""

    limit: Limit
    amount: int


@dataclass(frozen=True, slots=True)
class WindowState:
    """What a time window held before a demand."""

    demand: Demand
    used: int
    wait: float  # seconds until the demand fits, if nothing else comes; 0: it does
    more_in: float | None  # seconds until more is left; None: that is at any moment

    @property
    def fits(self) -> bool:
        """Whether the demand can be met."""
        return self.used + self.demand.amount <= self.demand.limit.most


@dataclass(frozen=True, slots=True)
class Usage:
    """How a limit stands after a request has been held against it."""

    limit: Limit
    left: int
    wait: float | None = None  # seconds until the request fits; None: it does
    more_in: float | None = None  # seconds until more is left; None: that is not told

    @property
    def is_refusal(self) -> bool:
        """Whether the request did not fit."""
        return self.wait is not None


def moving_state(demand: Demand, count: int, age: float) -> WindowState:
    """The state of a moving window that holds `count` units, the oldest of them `age` seconds old.

    >>> moving_state(Demand(Limit("requests", 3, 60), 1), count=3, age=45.0).wait
    15.0
    """
    seconds = float(demand.limit.seconds)
    more_in = max(0.0, seconds - age) if count else seconds
    fits = count + demand.amount <= demand.limit.most
    # When several will fit, only the newest that counts could tell.
    return WindowState(demand, count, 0.0 if fits else more_in if demand.amount == 1 else seconds, more_in)


def sliding_state(demand: Demand, before: int, rest: int, count: int) -> WindowState:
    """The state of a sliding window with `before` units in the former window and `count` in this one.

    This one lasts `rest` milliseconds. The demand is at most the limit.

    >>> sliding_state(Demand(Limit("bytes", 100, 60), 50), before=100, rest=30_000, count=20).wait
    12.0
    """
    window = 1000 * demand.limit.seconds
    used, room = before * rest // window + count, demand.limit.most - demand.amount
    if used <= room:
        wait = 0.0
    elif count <= room:
        wait = rest - (room - count) * window / before
    else:
        wait = rest + window * (1 - room / count)
    return WindowState(demand, used, wait / 1000, None)


def settled(states: Sequence[WindowState]) -> tuple[Usage, ...]:
    """How the limits stand once all demands have been met, or none where one does not fit."""
    met = all(state.fits for state in states)
    return tuple(
        Usage(
            state.demand.limit,
            max(0, state.demand.limit.most - state.used - (state.demand.amount if met else 0)),
            None if state.fits else state.wait,
            state.more_in if state.fits else state.wait,
        )
        for state in states
    )


def address_group(address: str) -> str:
    """The addresses that one client can send from: an IPv4 address, or a network of IPv6.

    >>> address_group("192.0.2.1"), address_group("2001:db8::1:2:3:4")
    ('192.0.2.1', '2001:db8::/64')
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    hosts = 128 - _OWN_NETWORK_BITS
    return f"{IPv6Address(int(parsed) >> hosts << hosts)}/{_OWN_NETWORK_BITS}"
