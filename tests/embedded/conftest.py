from collections.abc import Iterator
from pathlib import Path

import pytest

from app.embedded import EmbeddedServers
from tests.embedded.programs import alive_in, copy_of, sql
from tests.servers import scratch_folder
from tests.waiting import eventually


@pytest.fixture(scope="session")
def prepared() -> Iterator[Path]:
    """A data folder to copy, with an empty table `kept`; making one takes most of a second."""
    with scratch_folder() as folder:
        with EmbeddedServers(folder / "data") as servers:
            sql(servers.database_url, "CREATE TABLE kept (value int)")
        yield folder / "data"


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder in which nothing stays alive after the test."""
    with scratch_folder() as folder:
        yield folder
        assert eventually(lambda: alive_in(folder) == [])


@pytest.fixture
def data_dir(prepared: Path, folder: Path) -> Path:
    """A data folder of one test's own, whose servers have run before."""
    return copy_of(prepared, folder)
