"""Every page there is: quiet, from this host alone, narrow and wide, light and dark, and open to everyone."""

import json
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.web.conftest import OF_BROWSERS
from tests.web.in_browser.chromium import TOOLS, Browser, Scheme
from tests.web.in_browser.pages import addresses, errors
from tests.web.in_browser.site import Site

pytestmark = pytest.mark.browser

WINDOWS: list[tuple[int, Scheme]] = [(360, "light"), (360, "dark"), (1_400, "light"), (1_400, "dark")]
RULES = Path(__file__).parents[3] / ".ci/pages.d/htmlvalidate.cjs"
REFUSED = "the server responded with a status of 4"


@pytest.fixture(scope="module")
def sources(site: Site) -> dict[str, str]:
    """Every page as the service sends it, by its address."""
    with httpx.Client(
        base_url=site.keyed_url, headers=OF_BROWSERS | {"Origin": site.keyed_url}, timeout=60
    ) as client:
        client.post("/sign-in", data={"key": site.keys["Ada Admin"]})
        answers = {address: client.get(address) for address in addresses(site)}
    assert {address: answer.text for address, answer in answers.items() if answer.is_error} == {}
    return {
        address: answer.text
        for address, answer in answers.items()
        if answer.headers["Content-Type"].startswith("text/html")
    }


@pytest.fixture(scope="module")
def signed_in(session_browser: Browser, site: Site) -> Browser:
    """The browser of who may do everything."""
    session_browser.sign_in(site.keys["Ada Admin"])
    session_browser.faults()
    return session_browser


@pytest.mark.parametrize(("width", "scheme"), WINDOWS)
def test_no_page_has_a_fault_or_a_barrier(
    signed_in: Browser, sources: dict[str, str], width: int, scheme: Scheme
) -> None:
    signed_in.resize(width, scheme)
    assert wrong(signed_in, sources) == {}


def test_neither_have_pages_where_no_key_is_asked_for(
    session_browser: Browser, site: Site, sources: dict[str, str]
) -> None:
    session_browser.resize(360)
    assert wrong(replace(session_browser, url=site.open_url), sources) == {}


def test_neither_have_pages_of_errors(signed_in: Browser, site: Site) -> None:
    for width in (360, 1_400):
        signed_in.resize(width)
        found = wrong(signed_in, errors(site))
        assert not [fault for faults in found.values() for fault in faults if REFUSED not in fault], found


def test_every_page_is_valid_html(sources: dict[str, str], tmp_path: Path) -> None:
    for number, source in enumerate(sources.values()):
        (tmp_path / f"{number:03}.html").write_text(source, encoding="utf-8")
    assert TOOLS is not None
    command = [f"{TOOLS}/node_modules/.bin/html-validate", "--config", str(RULES), "--formatter", "json"]
    with (tmp_path / "complaints.json").open("w+", encoding="utf-8") as told:
        done = subprocess.run([*command, str(tmp_path)], stdout=told, check=False)
        told.seek(0)
        files = json.load(told)
    places = list(sources)
    complaints = [
        f"{places[int(Path(file['filePath']).stem)]}:{each['line']} {each['ruleId']}: {each['message']}"
        for file in files
        for each in file["messages"]
    ]
    assert complaints == [], "\n".join(complaints)
    assert done.returncode == 0


def wrong(browser: Browser, pages: Iterable[str]) -> dict[str, list[str]]:
    """The faults and barriers of each page that has some."""
    found = {}
    for address in pages:
        browser.go(address)
        found[address] = [*browser.faults(), *browser.barriers()]
    return {address: each for address, each in found.items() if each}
