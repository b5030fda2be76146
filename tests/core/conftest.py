"""Fixtures of the tests of the core."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from app.core.warm_up import warm_up

settings.register_profile("core", deadline=None)


@pytest.fixture(scope="package", autouse=True)
def _prepared() -> Iterator[None]:
    """Compiles the kernels first, so that no test's time holds that; examples have no deadline."""
    warm_up()
    settings.load_profile("core")
    yield
    settings.load_profile("default")
