"""Adding files and checking lists, chosen, pasted or dropped, with their progress."""

from pathlib import Path

import pytest

from tests.api.library import prose
from tests.web.in_browser.chromium import Browser
from tests.web.in_browser.site import Site

pytestmark = pytest.mark.browser

_NOTE_PROGRESS = """
    window.seen = [];
    setInterval(() => {
      const bar = document.getElementById("progress");
      if (bar && bar.checkVisibility()) window.seen.push(bar.value);
    }, 50);
"""


def test_files_that_are_dropped_are_added(browser: Browser, site: Site, tmp_path: Path) -> None:
    browser.sign_in(site.keys["Ada Admin"])
    browser.go("/add")
    files = [tmp_path / name for name in ("three.txt", "four.txt")]
    for seed, file in enumerate(files, 503):
        file.write_text(prose(seed, 1_500), encoding="utf-8")
    browser.drop(files, browser.find("#file"))
    browser.find("main button.main").click()
    browser.wait().until(lambda _: len(browser.find_all("#found .badge.good")) == len(files))
    assert "three" in browser.find("#found").text
    assert browser.faults() == []


@pytest.mark.parametrize("dropped", [False, True], ids=["chosen", "dropped"])
def test_a_table_is_checked(browser: Browser, site: Site, tmp_path: Path, *, dropped: bool) -> None:
    browser.sign_in(site.keys["Rita Reader"])
    browser.go("/check")
    table = tmp_path / "books.csv"
    rows = ["title,author,isbn", ",,9780142437247", "Moby Dick,Herman Melville,", "A Wholly Unknown Work,,"]
    table.write_text("\n".join(rows), encoding="utf-8")
    field = browser.find("#file")
    browser.drop([table], field) if dropped else field.send_keys(str(table))
    browser.leave(browser.named("Check"))
    assert len(browser.find_all(".answers tbody tr.have, .answers tbody tr.perhaps")) == 2
    assert len(browser.find_all(".answers tbody tr.no")) == 1
    assert "3 rows are answered" in browser.text()
    assert [*browser.barriers(), *browser.faults()] == []


def test_the_progress_of_a_long_check_is_seen(browser: Browser, site: Site) -> None:
    browser.sign_in(site.keys["Rita Reader"])
    browser.go("/check")
    rows = "\n".join(f"Moby Dick number {number}" for number in range(500))
    browser.driver.execute_script("arguments[0].value = arguments[1]", browser.find("#text"), rows)
    with browser.running(_NOTE_PROGRESS):
        browser.leave(browser.named("Check"))
    seen = browser.driver.execute_script("return window.seen")
    assert seen == sorted(seen)
    assert len(set(seen)) > 2, "the bar does not move"
    assert browser.find_all(".answers tbody tr")[499].get_attribute("data-share") == "1.0"
    browser.wait().until(lambda _: not browser.find("#going").is_displayed())
    assert browser.find("#progress").get_property("value") == 1
    assert browser.faults() == []
