"""New book ids."""

import os
import time
from uuid import UUID


def new_book_id() -> UUID:
    """A UUID of version 7 (RFC 9562, 5.7): 48 bits of Unix time in milliseconds, then random bits."""
    value = int.from_bytes((time.time_ns() // 1_000_000).to_bytes(6, "big") + os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=value)
