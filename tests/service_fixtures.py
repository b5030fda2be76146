"""Fixtures of the tests of the service: real servers, databases for a test or a module, a cluster."""

import os
from collections.abc import AsyncIterator, Generator, Iterator
from functools import cache
from ssl import SSLContext

import httpx
import pytest
import structlog

from app.embedded import Servers
from app.services.access import keys
from app.stores.postgres import connections
from app.stores.postgres.connections import Database
from tests.forks import have_readers_load_kernels
from tests.open_services import empty
from tests.redis_cluster import Cluster, Operator, operator_of, running_cluster
from tests.secret_search import lines_with_secrets
from tests.servers import flushed_redis, fresh_database, migrated_template, scratch_folder, session_servers

# Applications that tests make by themselves ask for no key, unless the test is about keys.
os.environ["BOOKPRINT_AUTH"] = "off"

# Tracebacks are plain, as those of a service: rich ones, with all variables, take seconds each.
structlog.configure([structlog.processors.format_exc_info, *structlog.get_config()["processors"]])

_context_of = httpx._transports.default.create_ssl_context
_shared_context = cache(_context_of)


def _context(verify: bool | str | SSLContext = True, **options: object) -> SSLContext:
    named = os.environ.keys() & {"SSL_CERT_FILE", "SSL_CERT_DIR"}
    return (_shared_context if verify is True and not named else _context_of)(verify=verify, **options)


# Clients share the certificates that they trust: reading them takes 40 ms, and often a client asks once.
httpx._transports.default.create_ssl_context = _context

# On a busy machine a first connection may take longer than a client would be kept waiting.
connections._STATEMENT_WAIT = 10.0

# A test may use a key as soon as it is made; a service may not know it for a moment.
keys._NEW_SECONDS = 0.0

have_readers_load_kernels()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """No test passes that has printed a secret, nor has a process that it started."""
    report = yield
    if report.passed and (leaked := lines_with_secrets(text for _, text in report.sections)):
        report.outcome, report.longrepr = "failed", "\n".join(["A secret was printed:", *leaked])
    return report


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """The two servers of the session, for tests that make their own databases."""
    with scratch_folder() as folder, session_servers(folder / "data") as servers:
        yield servers


@pytest.fixture(scope="session")
def template_database(servers: Servers) -> Iterator[str]:
    """The name of a migrated database to copy."""
    with migrated_template(servers.database_url) as name:
        yield name


@pytest.fixture
def database_url(servers: Servers, template_database: str) -> Iterator[str]:
    """A migrated, empty database for one test, where that of the module will not do."""
    with fresh_database(servers.database_url, template_database) as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(servers: Servers, template_database: str) -> Iterator[str]:
    """A migrated database that the tests of one module share."""
    with fresh_database(servers.database_url, template_database) as url:
        yield url


@pytest.fixture(scope="module")
async def module_database(module_database_url: str) -> AsyncIterator[Database]:
    """Connections to the database that the tests of one module share."""
    async with connections.open_database(module_database_url, 10) as database:
        yield database


@pytest.fixture
async def emptied_database(module_database: Database) -> Database:
    """The module's connections, whose database is as empty as a new one."""
    await empty(module_database)
    return module_database


@pytest.fixture
def bare_database_url(servers: Servers) -> Iterator[str]:
    """A database without any table, for tests of the migrations."""
    with fresh_database(servers.database_url) as url:
        yield url


@pytest.fixture
def redis_url(servers: Servers) -> Iterator[str]:
    """An empty Redis database for one test; the same one for all tests, so it is not for two at once."""
    with flushed_redis(servers.redis_url) as url:
        yield url


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A Redis cluster for the tests that leave it as they found it, but for the keys."""
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def frail() -> Iterator[Cluster]:
    """A cluster to be broken by one test."""
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def cluster_url(cluster: Cluster) -> str:
    """The URL of an empty Redis cluster; the same one for all tests."""
    cluster.flush()
    return cluster.url


@pytest.fixture
def index_url(request: pytest.FixtureRequest) -> str:
    """An empty Redis server; for tests marked `on_cluster_too` once more an empty cluster of three."""
    kind = getattr(request, "param", "server")
    return str(request.getfixturevalue("redis_url" if kind == "server" else "cluster_url"))


@pytest.fixture
async def redis(index_url: str) -> AsyncIterator[Operator]:
    """The server or the cluster as an operator sees it."""
    async with operator_of(index_url) as operator:
        yield operator


@pytest.fixture(scope="module")
def module_redis_url(servers: Servers) -> Iterator[str]:
    """The Redis database, for the tests of one module; a test that asks for `redis_url` has it emptied."""
    with flushed_redis(servers.redis_url) as url:
        yield url
