"""Chromium by its driver: windows of a size and a scheme of colours, and what is wrong on a page."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

Scheme = Literal["light", "dark"]

TOOLS = os.environ.get("BOOKPRINT_TEST_PAGES")
"""The folder where .ci/pages has installed axe-core and html-validate."""

_ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--lang=en"),
)
_STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_RUN_AXE = "axe.run(document, arguments[0]).then(arguments[1], arguments[1])"
_HEIGHT = 900
_PATIENCE = 15.0  # seconds
_NO_SCRIPTS = {"profile.managed_default_content_settings.javascript": 2}


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser with one window."""

    driver: Chrome
    url: str  # of the service
    scripts: bool = True

    def resize(self, width: int, scheme: Scheme = "light") -> None:
        """Have a window so many pixels wide, on a system with a scheme of colours."""
        metrics = {"width": width, "height": _HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def go(self, path: str) -> None:
        """Open a page of the service."""
        self.driver.get(self.url + path)

    @property
    def path(self) -> str:
        """The path of the page that is shown."""
        return urlsplit(self.driver.current_url).path

    def sign_in(self, key: str) -> None:
        """Begin a session anew."""
        self.driver.delete_all_cookies()
        self.go("/sign-in")
        self.find("#key").send_keys(key)
        self.leave(self.find("main form button"))

    def find(self, selector: str) -> WebElement:
        """The first element of a CSS selector, as soon as it is there."""
        return self.wait().until(lambda driver: driver.find_element(By.CSS_SELECTOR, selector))

    def find_all(self, selector: str) -> list[WebElement]:
        """The elements of a CSS selector that are there now."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def named(self, name: str, selector: str = "button, a, summary") -> WebElement:
        """The first control that is shown whose name begins so."""

        def named(_: Chrome) -> WebElement | None:
            return next(iter(self._called(name, selector)), None)

        return self.wait().until(named, f"nothing on {self.path} is called {name!r}")

    def leave(self, control: WebElement) -> None:
        """Click, and wait until another page is there."""
        before = self.find("html")
        control.click()
        self.await_new_page(before)

    def await_new_page(self, before: WebElement) -> None:
        """Wait until the page with this root element has gone and another is whole."""
        self.wait().until(lambda driver: _is_gone(before) and _is_whole(driver))

    def press(self, *keys: str) -> None:
        """Press keys one after the other, whatever has the focus."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def follow(self, key: str) -> None:
        """Press a key that leads to another page, and wait until that is there."""
        before = self.find("html")
        self.press(key)
        self.await_new_page(before)

    def focused(self) -> WebElement:
        """What has the focus."""
        return self.driver.switch_to.active_element

    def walk_to(self, name: str, key: str, most: int = 150) -> WebElement:
        """Press a key until what has the focus is called so, and is seen to have it."""
        for _ in range(most):
            self.press(key)
            element = self.focused()
            if element.accessible_name.startswith(name):
                assert self.driver.execute_script("return arguments[0].matches(':focus-visible')", element)
                return element
        raise AssertionError(f"{name!r} on {self.path} is not reached by the keyboard")

    def text(self) -> str:
        """The words of the page's content that are shown."""
        return self.find("main").text

    def wait(self) -> WebDriverWait[Chrome]:
        """To wait for something that a page does by and by."""
        return WebDriverWait(self.driver, _PATIENCE, 0.05)

    def faults(self) -> list[str]:
        """What is wrong with the page in this window, by what the browser tells; and begin anew."""
        found = [f"console: {entry['message']}" for entry in self.driver.get_log("browser")]
        found += [f"asked for {url}" for url in self._requests() if not self._is_own(url)]
        script = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        wanted, given = self.driver.execute_script(script)
        if wanted > given:
            found.append(f"scrolls sideways: {wanted} of {given} pixels, by {self._too_wide()}")
        if (hacked := self.driver.execute_script("return window.hacked")) is not None:
            found.append(f"ran a title: {hacked}")
        return found

    def barriers(self) -> list[str]:
        """The violations of WCAG 2.2 AA that axe-core, a script, finds on the page as it is now."""
        if not self.scripts:
            return []
        self.driver.execute_script(_axe())
        options = {"runOnly": _STANDARDS, "rules": {"target-size": {"enabled": True}}}
        result: dict[str, Any] = self.driver.execute_async_script(_RUN_AXE, options)
        return [
            f"{violation['id']}: {node['html'][:160]} ({' '.join(node['failureSummary'].split())[:240]})"
            for violation in result["violations"]
            for node in violation["nodes"][:3]
        ]

    def _called(self, name: str, selector: str) -> list[WebElement]:
        controls = [each for each in self.find_all(selector) if each.is_displayed()]
        return [each for each in controls if each.accessible_name.startswith(name)]

    def _requests(self) -> Iterator[str]:
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                yield message["params"]["request"]["url"]

    def _is_own(self, url: str) -> bool:
        return url.startswith((self.url + "/", "data:", "blob:", "about:"))

    def _too_wide(self) -> str:
        script = """
            const wide = [...document.querySelectorAll("body *")].filter(
                each => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1
                    && !each.closest(".scroll, .skip, .hidden"))
            return wide.slice(0, 3).map(each => each.outerHTML.slice(0, 120))"""
        return " and ".join(self.driver.execute_script(script))


@contextmanager
def open_browser(url: str, *, scripts: bool = True) -> Iterator[Browser]:
    """A browser of its own, without a session."""
    options = ChromeOptions()
    for argument in _ARGUMENTS:
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or "chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.add_experimental_option("prefs", {} if scripts else _NO_SCRIPTS)
    driver = Chrome(options, ChromeService(shutil.which("chromedriver")))
    try:
        driver.set_page_load_timeout(60)
        browser = Browser(driver, url, scripts)
        browser.resize(1_400)
        yield browser
    finally:
        driver.quit()


@cache
def _axe() -> str:
    assert TOOLS is not None
    return (Path(TOOLS) / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


def _is_gone(element: WebElement) -> bool:
    try:
        element.is_enabled()
    except WebDriverException:  # while a page goes, the driver has other words for a stale element
        return True
    return False


def _is_whole(driver: Chrome) -> bool:
    return driver.execute_script("return document.readyState") == "complete"
