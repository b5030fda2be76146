"""How much memory there is to share out."""

import os
from contextlib import suppress
from pathlib import Path

_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),  # before version 2
)
"""Where Linux tells the processes of a container how many bytes they may take."""


def memory() -> int:
    """Bytes that this machine has, or that its container allows if that is less."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _LIMITS:
        # No container, or one without a limit, which says "max".
        with suppress(OSError, ValueError):
            sizes.append(int(path.read_text()))
    return min(sizes)
