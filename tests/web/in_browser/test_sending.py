"""Adding files with their progress, and checking a list, with scripts and without."""

from pathlib import Path

import pytest

from tests.api.library import prose
from tests.web.in_browser.chromium import Browser
from tests.web.in_browser.site import Site

pytestmark = pytest.mark.browser


def test_files_are_added_and_what_was_found_is_told(any_browser: Browser, site: Site, tmp_path: Path) -> None:
    any_browser.sign_in(site.keys["Ada Admin"])
    any_browser.go("/add")
    seed = 501 if any_browser.scripts else 502
    files = {"<b>one</b>.txt": prose(seed, 1_500), "two.txt": prose(1, 6_000), "none.txt": ""}
    for name, text in files.items():
        (tmp_path / name.replace("/", "⁄")).write_text(text, encoding="utf-8")
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    any_browser.find("#file").send_keys("\n".join(paths))
    any_browser.find("main button.main").click()
    any_browser.wait().until(lambda _: len(any_browser.find_all("#found .badge")) == len(files))
    told = any_browser.find("#found").text
    assert "Added" in told
    assert "Not added" in told
    assert "Moby Dick" in told
    assert "<b>one<" in told
    assert [*any_browser.barriers(), *any_browser.faults()] == []


def test_a_list_is_checked_row_by_row(any_browser: Browser, site: Site) -> None:
    any_browser.sign_in(site.keys["Rita Reader"])
    any_browser.go("/check")
    rows = ["9780142437247", "Moby Dick", "<script>window.hacked = 4</script>", "Nothing like this at all"]
    any_browser.find("#text").send_keys("\n".join(rows))
    any_browser.leave(any_browser.named("Check"))
    assert len(any_browser.find_all(".answers tbody tr")) == len(rows)
    assert "4 rows are answered" in any_browser.text()
    assert rows[2] in any_browser.text()
    assert [*any_browser.barriers(), *any_browser.faults()] == []
