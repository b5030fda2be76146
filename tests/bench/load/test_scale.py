"""How large a library is made with so much memory and disk."""

import pytest

from bench.data.simulated_books import BATCH
from bench.load.scale import fitting


@pytest.mark.parametrize(
    ("memory", "disk", "expected"),
    [(100, 100, 10_000_000), (15, 100, 9_600_000), (100, 30, 4_600_000), (1, 100, 0)],
)
def test_no_library_is_made_that_does_not_fit(memory: int, disk: int, expected: int) -> None:
    found = fitting(10_000_000, redis=876.0, postgres=4000.0, memory=memory * 10**9, disk=disk * 10**9)
    assert found == pytest.approx(expected, abs=400_000)
    assert found == 10_000_000 or found % BATCH == 0
