"""One service for the tests of the commands, and one small folder of books."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from app.embedded import Servers
from app.kernel_cache import load_kernels
from app.synthesis.library import SyntheticBook, synthetic_library
from tests.api.service_process import reconcile, serving
from tests.cli.command_line import Service
from tests.forks import Fork
from tests.servers import flushed_redis, fresh_database


@pytest.fixture(scope="session", autouse=True)
def _loaded_forks() -> None:
    """Have the process loaded that others are forks of, which no one test is to pay for."""
    assert Fork(["tests.loaded_kernels"], os.environ, shares_readers=True).wait(100) == 0


@pytest.fixture(scope="session")
def shared_service(servers: Servers, template_database: str) -> Iterator[Service]:
    load_kernels()  # that commands of all modules use
    # A database of Redis that no other test flushes.
    own = make_url(servers.redis_url).update_query_dict({"db": "5"}).render_as_string(hide_password=False)
    with (
        fresh_database(servers.database_url, template_database) as database_url,
        flushed_redis(own) as redis_url,
    ):
        reconcile(database_url, redis_url)
        with serving(database_url, redis_url) as server:
            yield Service(server.url, {"DATABASE_URL": database_url, "REDIS_URL": redis_url})


@pytest.fixture(scope="module")
def service(shared_service: Service) -> Service:
    """The service of the session, without the books of other modules."""
    shared_service.delete_books()
    return shared_service


@pytest.fixture(scope="session")
def books() -> list[SyntheticBook]:
    """Three works, each with two copies."""
    return list(synthetic_library(5, 3, copies=(2, 2), characters=(20_000, 20_000)))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, books: list[SyntheticBook]) -> Path:
    """The books as text files, one of them a folder deeper."""
    folder = tmp_path_factory.mktemp("books")
    (folder / "deeper").mkdir()
    for book in books:
        place = folder / "deeper" if book.id == books[-1].id else folder
        (place / f"{book.id}.txt").write_text(book.text, encoding="utf-8")
    return folder
