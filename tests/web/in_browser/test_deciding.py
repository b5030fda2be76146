"""Deciding on pairs and taking it back, by mouse and keyboard, without scripts, and two people at once."""

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.keys import Keys

from tests.web.in_browser.chromium import Browser
from tests.web.in_browser.site import Site

pytestmark = pytest.mark.browser


def decision(site: Site, one: str = "original", other: str = "copy") -> str | None:
    """What stands decided of two books, by the API."""
    relation = site.ask(f"/v1/books/{site.books[one]}/relations/{site.books[other]}")
    return relation["decision"] and relation["decision"]["verdict"]


def pair(site: Site) -> str:
    return f"/pairs/{site.books['original']}/{site.books['copy']}"


@pytest.fixture(autouse=True)
def undecided(site: Site) -> Iterator[None]:
    yield
    for other in ("copy", "bad scan", "part", "hostile", "long", "right to left"):
        site.reset(site.books["original"], site.books[other])


def test_a_decision_by_mouse_is_that_of_the_api_and_is_undone(any_browser: Browser, site: Site) -> None:
    any_browser.sign_in(site.keys["Dora Decider"])
    before = site.ask(f"/v1/books/{site.books['original']}/cluster")
    any_browser.go(pair(site))
    any_browser.find("input[name=note]").send_keys("seen <b>both</b>")
    any_browser.leave(any_browser.named("Not related"))
    assert decision(site) == "rejected"
    assert "Dora Decider" in any_browser.text()
    assert "seen <b>both</b>" in any_browser.text()
    assert any_browser.barriers() == []
    any_browser.leave(any_browser.named("Undo"))
    assert decision(site) is None
    after = site.ask(f"/v1/books/{site.books['original']}/cluster")
    assert (after["key"], after["size"]) == (before["key"], before["size"])
    assert any_browser.faults() == []


def test_a_decision_by_keyboard_alone(any_browser: Browser, site: Site) -> None:
    any_browser.sign_in(site.keys["Dora Decider"])
    any_browser.go(pair(site))
    for name, verdict in (("Confirm:", "confirmed"), ("Undo", None)):
        any_browser.walk_to(name, Keys.TAB)
        any_browser.follow(Keys.ENTER)
        assert decision(site) == verdict


def test_keys_decide_unless_they_are_switched_off(browser: Browser, site: Site) -> None:
    browser.sign_in(site.keys["Dora Decider"])
    browser.go(pair(site))
    browser.find("input[name=note]").send_keys("xyz")
    assert decision(site) is None, "a key acts while one writes"
    browser.go(pair(site))
    browser.follow("x")
    assert decision(site) == "rejected"
    browser.follow("u")
    assert decision(site) is None
    browser.find("#keys").click()
    browser.go(pair(site))
    browser.press("x")
    assert decision(site) is None, "a key acts though keys are off"
    browser.find("#keys").click()
