"""Deciding on pairs and taking it back, by mouse and keyboard, without scripts, and two people at once."""

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.keys import Keys

from tests.web.in_browser.chromium import Browser, open_browser
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
    for name, verdict in (("Right:", "confirmed"), ("Undo", None)):
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


def test_the_queue_goes_on_and_back(any_browser: Browser, site: Site) -> None:
    any_browser.sign_in(site.keys["Dora Decider"])
    any_browser.go("/review")
    first = any_browser.find("main h2").text
    any_browser.leave(any_browser.named("Not related"))
    assert any_browser.path == "/review"
    second = any_browser.find("main h2").text
    assert second != first
    assert any_browser.barriers() == []
    any_browser.leave(any_browser.named("Undo"))
    assert len(site.ask("/v1/reviews")["items"]) > 1


def test_two_people_do_not_get_in_each_other_s_way(browser: Browser, site: Site) -> None:
    browser.sign_in(site.keys["Dora Decider"])
    with open_browser(site.keyed_url) as other:
        other.sign_in(site.keys["Emil Evaluator"])
        for each in (browser, other):
            each.go("/review")
        assert browser.find("main h2").text == other.find("main h2").text
        browser.leave(browser.named("Not related"))
        other.leave(other.named("Right:"))
        assert "Somebody else has decided meanwhile" in other.text()
        assert "Dora Decider" in other.text()
        assert other.barriers() == []
        browser.leave(browser.named("Undo"))
        assert [*browser.faults(), *other.faults()] == []


def test_a_reader_sees_no_button_and_cannot_decide(browser: Browser, site: Site) -> None:
    browser.sign_in(site.keys["Rita Reader"])
    for path in (pair(site), "/review"):
        browser.go(path)
        assert not browser.has("Not related")
