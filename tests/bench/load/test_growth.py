"""How large a library is made with so much memory and disk."""

import pytest

from bench.data.simulated_books import BATCH
from bench.load.growth import fitting

GIGABYTE = 10**9


@pytest.mark.parametrize(
    ("memory", "disk", "expected"),
    [
        (100, 100, 10_000_000),
        (15, 100, 9_600_000 // BATCH * BATCH),
        (100, 30, 4_600_000),
        (1, 100, 0),
    ],
)
def test_no_library_is_made_that_does_not_fit(memory: int, disk: int, expected: int) -> None:
    found = fitting(10_000_000, redis=876.0, postgres=4000.0, memory=memory * GIGABYTE, disk=disk * GIGABYTE)
    assert found == pytest.approx(expected, abs=400_000) if 0 < expected < 10_000_000 else found == expected
    assert found == 10_000_000 or found % BATCH == 0
