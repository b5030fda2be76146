"""New book ids."""

import os
import time
from uuid import UUID


def new_book_id() -> UUID:
    """A UUID of version 7 (RFC 9562, 5.7): 48 bits of Unix time in milliseconds, then random bits."""
    return _id_of(time.time_ns() // 1_000_000)


def new_book_ids(count: int, after: UUID | None = None) -> list[UUID]:
    """So many new ids, ascending, and all above `after`, even if that is of this moment or later."""
    now = time.time_ns() // 1_000_000
    if after is not None:
        now = max(now, (after.int >> 80) + 1)
    return sorted(_id_of(now) for _ in range(count))


def _id_of(millisecond: int) -> UUID:
    value = int.from_bytes(millisecond.to_bytes(6, "big") + os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=value)
