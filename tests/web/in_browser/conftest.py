"""The site and the browsers that the tests of a session share."""

from collections.abc import Iterator

import pytest

from app.embedded import Servers
from tests.servers import flushed_redis, fresh_database
from tests.web.in_browser.chromium import TOOLS, Browser, open_browser
from tests.web.in_browser.site import Site, open_site


@pytest.fixture(scope="session")
def site(servers: Servers, template_database: str) -> Iterator[Site]:
    """Two services on one library."""
    if TOOLS is None:
        pytest.skip("BOOKPRINT_TEST_PAGES is not set: it names the folder that .ci/pages fills")
    with (
        fresh_database(servers.database_url, template_database) as database_url,
        flushed_redis(servers.redis_url) as redis_url,
        open_site(database_url, redis_url) as site,
    ):
        yield site


@pytest.fixture(scope="session")
def session_browser(site: Site) -> Iterator[Browser]:
    """One browser for all tests that need no other."""
    with open_browser(site.keyed_url) as browser:
        yield browser


@pytest.fixture
def browser(session_browser: Browser) -> Browser:
    """A wide window without a session, and nothing in the logs."""
    return begun(session_browser)


@pytest.fixture(scope="session")
def scriptless_browser(site: Site) -> Iterator[Browser]:
    """One browser in which no script runs."""
    with open_browser(site.keyed_url, scripts=False) as browser:
        yield browser


@pytest.fixture(params=["with scripts", "without scripts"])
def any_browser(request: pytest.FixtureRequest) -> Browser:
    """A wide window without a session, once with scripts and once without."""
    name = "session_browser" if request.param == "with scripts" else "scriptless_browser"
    browser: Browser = request.getfixturevalue(name)
    return begun(browser)


def begun(browser: Browser) -> Browser:
    browser.driver.delete_all_cookies()
    browser.resize(1_400)
    browser.faults()
    return browser
