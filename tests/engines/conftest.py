"""The engines that a corpus is computed on, each by the address that `--engine` takes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookprint_corpus.engine import LOCAL
from tests.engines.sail_workers import SailCluster, sail_cluster

SPARK = "BOOKPRINT_TEST_SPARK"


@pytest.fixture(scope="session")
def sail_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SailCluster]:
    """A cluster of Sail, for the tests that leave it as they found it."""
    with sail_cluster(tmp_path_factory.mktemp("sail")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def spark() -> str:
    """The address of a Spark cluster whose Python processes can import Bookprint."""
    address = os.environ.get(SPARK)
    if not address:
        pytest.skip(f"{SPARK} is not set: it names a Spark cluster as sc://host:port")
    return address


@pytest.fixture(params=["local", "sail_workers", "spark"])
def engine_address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Sail in this process, Sail with worker processes, and Spark where there is one."""
    if request.param == LOCAL:
        yield LOCAL
        return
    cluster = request.getfixturevalue(request.param)
    yield cluster.address if isinstance(cluster, SailCluster) else cluster


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a corpus."""
    return tmp_path / "corpus"
