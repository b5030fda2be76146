"""Looking at two books and at a cluster: on paper, and at the runs by keyboard alone."""

import io

import pypdfium2
import pytest
from selenium.webdriver.common.keys import Keys

from tests.web.in_browser.chromium import Browser
from tests.web.in_browser.site import Site

pytestmark = pytest.mark.browser

LIGHT = 200.0
"""Of 255: the mean of a page that is white with black words."""

RUNS = "[aria-labelledby=plot] tbody tr"


@pytest.mark.parametrize("kind", ["pair", "cluster"])
def test_on_paper_all_is_there_and_nothing_is_dark(browser: Browser, site: Site, kind: str) -> None:
    path, told = {
        "pair": (
            f"/pairs/{site.books['original']}/{site.books['bad scan']}",
            ["Where the pages match", "Order", "Side by side", "Compared", "Moby Dick (scan)", "Reached"],
        ),
        "cluster": (cluster(site), ["Best copy", "The books", "Moby Dick (scan)", "decided by a person"]),
    }[kind]
    browser.sign_in(site.keys["Dora Decider"])
    browser.resize(1_400, "dark")
    browser.go(path)
    words, greys = "", []
    with pypdfium2.PdfDocument(io.BytesIO(browser.printed())) as paper:
        for page in paper:
            words += " ".join(page.get_textpage().get_text_bounded().split()) + " "
            greys.append(page.render(grayscale=True).to_numpy().mean())
    assert [each for each in told if each not in words] == []
    assert [each for each in ("Sign out", "Completeness", "Choose", "Not related") if each in words] == []
    assert min(greys) > LIGHT


def test_the_runs_by_keyboard_alone(any_browser: Browser, site: Site) -> None:
    any_browser.sign_in(site.keys["Rita Reader"])
    any_browser.go(f"/pairs/{site.books['long']}/{site.books['right to left']}")
    runs = len(any_browser.find_all(RUNS))
    assert runs > 1
    for number in range(1, runs + 1):
        any_browser.walk_to(f"Run {number}", Keys.TAB if number == 1 else Keys.SHIFT + Keys.TAB)
        any_browser.follow(Keys.ENTER)
        assert f"Run {number} of {runs}." in any_browser.text()
        assert any_browser.find(f"{RUNS} [aria-current]").text == f"Run {number}"
    any_browser.walk_to("Run before", Keys.TAB)
    any_browser.follow(Keys.ENTER)
    assert f"Run {runs - 1} of {runs}." in any_browser.text()


def cluster(site: Site) -> str:
    key: str = site.ask(f"/v1/books/{site.books['original']}/cluster")["key"]
    return f"/clusters/{key}"
