"""`bookprint conflicts` against a running service."""

import csv
import json
import os
import pty
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.api.library import prose
from tests.cli.command_line import Service, bookprint, environment
from tests.forks import Fork
from tests.paged_books import pages_of

ISBN = "isbn:9783161484100"


@pytest.fixture(scope="module")
def ids(service: Service) -> list[str]:
    """Two books that share an ISBN and no text, related."""
    posted = [
        httpx.post(
            f"{service.url}/v1/books",
            json={
                "pages": pages_of(prose(seed, 3000)),
                "title": title,
                "authors": ["Jane Moor", "N. N."],
                "identifiers": [ISBN],
            },
            timeout=60,
        ).json()
        for seed, title in ((901, "The Salt Road"), (902, "=A; Ferry"))
    ]
    service.relate()
    return [book["id"] for book in posted]


def test_conflicts_are_lines_when_piped_and_json_on_request(service: Service, ids: list[str]) -> None:
    done = bookprint("conflicts", "--url", service.url)
    assert done.returncode == 0, done.stderr
    head, line = (line.split("\t") for line in done.stdout.splitlines())
    cells = dict(zip(head, line, strict=True))
    assert [cells["this_id"], cells["other_id"]] == ids
    assert (cells["agrees"], cells["contradicts"]) == ("isbn authors", "text title")
    assert (cells["this_authors"], cells["this_identifiers"]) == ("Jane Moor; N. N.", ISBN)
    assert done.stderr == "1 conflict.\n"

    done = bookprint("conflicts", "--by", "isbn", "--json", "--limit", "1", "--url", service.url)
    [item] = map(json.loads, done.stdout.splitlines())
    assert [book["id"] for book in item["books"]] == ids
    assert bookprint("conflicts", "--by", "title", "--json", "--url", service.url).stdout == ""


def test_conflicts_are_written_to_a_csv_file(service: Service, ids: list[str], tmp_path: Path) -> None:
    file = tmp_path / "conflicts.csv"
    done = bookprint("conflicts", "--csv", file, "--url", service.url)
    assert (done.returncode, done.stdout) == (0, "")
    with file.open(encoding="utf-8", newline="") as opened:
        [row] = csv.DictReader(opened)
    assert [row["this_id"], row["other_id"]] == ids
    assert row["this_text_under_id"] == row["other_text_under_title"] == ""
    assert row["other_title"] == "'=A; Ferry"  # no formula to a spreadsheet

    missing = bookprint("conflicts", "--csv", tmp_path / "no" / "file.csv", "--url", service.url)
    assert missing.returncode == 2
    assert "cannot be written" in missing.stderr
    both = bookprint("conflicts", "--json", "--csv", file, "--url", service.url)
    assert both.returncode == 2


def test_conflicts_are_a_table_on_a_terminal(service: Service, ids: list[str]) -> None:
    ours, theirs = pty.openpty()
    with open(os.devnull, "r+b") as nothing:
        command = ["app.cli", "conflicts", "--url", service.url]
        streams = [nothing.fileno(), theirs, nothing.fileno()]
        terminal = environment({"COLUMNS": "100", "TERM": "dumb"})
        process = Fork(command, terminal, streams, shares_readers=True)
    os.close(theirs)
    printed = b""
    with suppress(OSError):  # the other end is closed
        while more := os.read(ours, 4096):
            printed += more
    os.close(ours)
    assert process.wait(60) == 0
    shown = printed.decode()
    assert "Jane Moor, N. N. · The Salt Road" in shown
    assert "same isbn, authors; other text, title" in shown
    assert all(book_id in shown for book_id in ids)
