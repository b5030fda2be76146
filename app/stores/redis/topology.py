"""Which master of a Redis cluster serves which of the 16,384 slots that keys fall into."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha1
from typing import Any, NamedTuple

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from app.core.errors import Unavailable
from app.stores.redis.nodes import EpochKey

EPOCH_KEYS = tuple(f"bp:epoch:{{{tag}}}" for tag in range(4096))
"""The keys that epochs can have. Each master takes the first in a slot of its own, so one that serves as few
as 50 slots finds one all but surely."""


class Address(NamedTuple):
    """Where a node is reached."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Topology:
    """All masters that serve slots, and who serves each."""

    masters: tuple[Address, ...]  # in the order of their first slots
    servers: bytes  # for each slot two bytes: the place of its master among the masters

    @classmethod
    def of(cls, ranges: Iterable[Sequence[Any]], asked: Address) -> "Topology":
        """The topology as `asked` told it by CLUSTER SLOTS.

        Raises `Unavailable` where slots are served by no one: no answer could be complete.
        """
        masters: list[Address] = []
        servers = array("H", [_NOBODY]) * REDIS_CLUSTER_HASH_SLOTS
        for first, last, (host, port, *_), *_ in sorted(ranges, key=lambda entry: int(entry[0])):
            # A node that does not know its own name means: as you reached me.
            name = (host or b"?").decode()
            master = Address(asked.host if name == "?" else name, int(port))
            if master not in masters:
                masters.append(master)
            servers[first : last + 1] = array("H", [masters.index(master)]) * (last + 1 - first)
        if unserved := servers.count(_NOBODY):
            raise Unavailable(f"The Redis cluster does not serve {unserved} of its slots.", retry_after=5)
        return cls(tuple(masters), servers.tobytes())

    @cached_property
    def _masters_of_slots(self) -> list[Address]:
        return [self.masters[place] for place in array("H", self.servers)]

    def master_of(self, key: str) -> Address:
        """The node that serves this key."""
        return self._masters_of_slots[key_slot(key.encode())]

    @cached_property
    def epoch_keys(self) -> tuple[EpochKey, ...]:
        """One key in each master, bound to the very slots that it serves."""
        found: dict[Address, str] = {}
        for key in EPOCH_KEYS:
            found.setdefault(self.master_of(key), key)
            if len(found) == len(self.masters):
                return tuple(EpochKey(found[master], self._served(master)) for master in self.masters)
        few = next(master for master in self.masters if master not in found)
        raise Unavailable(f"Redis node {few} serves too few slots to hold an epoch.", retry_after=5)

    def _served(self, master: Address) -> str:
        slots = array("H", (slot for slot, by in enumerate(self._masters_of_slots) if by == master))
        return sha1(slots.tobytes(), usedforsecurity=False).hexdigest()[:16]


_NOBODY = 0xFFFF
