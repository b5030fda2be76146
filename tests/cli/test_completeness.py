"""`bookprint completeness` against a running service."""

import csv
import json
from pathlib import Path

import httpx
import pytest

from tests.api.library import prose, scanned
from tests.cli.command_line import Service, bookprint
from tests.paged_books import pages_of

PAGES = pages_of(prose(931, 9000))


@pytest.fixture(scope="module")
def ids(service: Service) -> list[str]:
    """A scan that lacks a leaf and a whole one, related, and a book alone."""
    posted = [
        httpx.post(
            f"{service.url}/v1/books",
            json={"pages": pages, "title": title, "collection": "scans"},
            timeout=60,
        ).json()
        for title, pages in (
            ("Lacking", [scanned(page, place) for place, page in enumerate(PAGES[:12] + PAGES[14:])]),
            ("Whole", [scanned(page, 100 + place) for place, page in enumerate(PAGES)]),
            ("Alone", pages_of(prose(932, 3000))),
        )
    ]
    service.relate()
    return [book["id"] for book in posted]


def test_the_library_s_faults_are_a_table(service: Service, ids: list[str], tmp_path: Path) -> None:
    table = tmp_path / "report.csv"
    done = bookprint("completeness", "--collection", "scans", "--url", service.url, "--out", str(table))
    assert done.returncode == 0, done.stderr
    with table.open(encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["kind"], row["title"], row["pages"], row["between"]) == ("missing", "Lacking", "", "11-12")
    assert (row["in_book"], row["in_pages"]) == (ids[1], "12-14")
    assert "for want of another scan, of pages or of text: 1" in done.stderr


def test_one_book_is_told_as_json_and_as_lines(service: Service, ids: list[str]) -> None:
    done = bookprint("completeness", ids[0], "--url", service.url, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["between"] == [11, 12]
    lines = bookprint("completeness", ids[0], "--url", service.url).stdout.splitlines()
    assert [line.split("\t")[1] for line in lines] == ["kind", "missing"]


def test_a_named_book_without_another_scan_is_refused(service: Service, ids: list[str]) -> None:
    done = bookprint("completeness", ids[2], "--url", service.url)
    assert done.returncode == 1
    assert "No other scan of the printing" in done.stderr
