"""Signing in and out: by mouse, by keyboard alone, with and without scripts."""

import pytest
from selenium.webdriver.common.keys import Keys

from tests.web.in_browser.chromium import Browser
from tests.web.in_browser.site import Site

pytestmark = pytest.mark.browser


def test_by_keyboard_alone(any_browser: Browser, site: Site) -> None:
    any_browser.go("/?from=a-link")
    assert any_browser.path == "/sign-in"
    any_browser.walk_to("Key", Keys.TAB)
    any_browser.press(site.keys["Rita Reader"])
    any_browser.follow(Keys.ENTER)
    assert any_browser.driver.current_url.endswith("/?from=a-link")
    any_browser.press(Keys.TAB)
    assert any_browser.focused().text == "Skip to the content"
    any_browser.press(Keys.ENTER)
    assert any_browser.focused().tag_name == "main"
    any_browser.walk_to("Sign out", Keys.SHIFT + Keys.TAB)
    any_browser.follow(Keys.ENTER)
    assert any_browser.path == "/sign-in"
