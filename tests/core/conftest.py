"""Fixtures of the tests of the core."""

import pytest

from bookprint_core.warm_up import warm_up


@pytest.fixture(scope="package", autouse=True)
def _prepared() -> None:
    """Compiles the kernels first, so that no test's time holds that."""
    warm_up()
