"""Where records of the index lie: buckets of lists, and the keys of these in Redis."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LONGEST = 40
"""Bytes of a key's string in the Redis protocol, at most, besides the prefix."""


@dataclass(frozen=True, slots=True, eq=False)
class BucketRefs:
    """Some buckets: `buckets[i]` of the list `lists[i]`, for each i."""

    lists: NDArray[np.uint32]  # (n,)
    buckets: NDArray[np.uint32]  # (n,)

    @property
    def size(self) -> int:
        """How many there are."""
        return self.buckets.size

    def keys(self, prefix: str) -> list[str]:
        """The keys of the buckets, which begin with the prefix.

        >>> BucketRefs(np.array([3]), np.array([17])).keys("bp:a:")
        ['bp:a:3:17']
        """
        return [
            f"{prefix}{of}:{bucket}"
            for of, bucket in zip(self.lists.tolist(), self.buckets.tolist(), strict=True)
        ]

    def strings(self, prefix: str) -> bytes:
        """The keys as strings of the Redis protocol."""
        from app.core.index import bucket_kernels as kernels

        lead = np.frombuffer(prefix.encode(), dtype=np.uint8)
        room = np.empty(self.size * (lead.size + _LONGEST), dtype=np.uint8)
        return room[: kernels.write_keys(lead, self.lists, self.buckets, room)].tobytes()
