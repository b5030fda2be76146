"""A service in a process of its own, for clients."""

from collections.abc import Iterator

import pytest

from tests.api.service_process import Server, reconcile, serving
from tests.prescribed_server import Prescribed, prescribing


@pytest.fixture(scope="module")
def service(module_database_url: str, module_redis_url: str) -> Iterator[Server]:
    """A service that computes vectors."""
    reconcile(module_database_url, module_redis_url)
    with serving(module_database_url, module_redis_url, BOOKPRINT_COMPUTE="vectors") as server:
        yield server


@pytest.fixture
def prescribed() -> Iterator[Prescribed]:
    with prescribing() as server:
        yield server
