"""The memory that the servers may take."""

import os
from pathlib import Path

import pytest

from app.embedded import server
from app.embedded.postgres import _shared_buffers
from app.embedded.server import memory

PHYSICAL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
GB = 1024**3


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("max\n", PHYSICAL), (f"{1 << 26}\n", 1 << 26), (f"{1 << 60}\n", PHYSICAL), (None, PHYSICAL)],
)
def test_a_container_may_allow_less_than_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str | None, expected: int
) -> None:
    file = tmp_path / "memory.max"
    if limit is not None:
        file.write_text(limit)
    monkeypatch.setattr(server, "_LIMITS", (tmp_path / "none", file))
    assert memory() == expected


def test_postgres_keeps_an_eighth_within_bounds() -> None:
    kept = [_shared_buffers(size) for size in (GB // 4, GB, 4 * GB, 16 * GB, 256 * GB)]
    assert kept == [128 * 1024, 128 * 1024, 512 * 1024, 2 * 1024 * 1024, 2 * 1024 * 1024]
