"""`bookprint reviews`, `decide` and `decisions` against a running service."""

import csv
import json
from pathlib import Path

import httpx
import pytest

from tests.api.library import prose, scanned
from tests.cli.command_line import Service, bookprint
from tests.paged_books import pages_of


@pytest.fixture(scope="module")
def ids(service: Service) -> list[str]:
    """Two copies under different titles, related."""
    posted = [
        httpx.post(
            f"{service.url}/v1/books",
            json={
                "pages": pages_of(scanned(prose(77, 3000), seed)),
                "title": title,
                "external_id": f"s-{seed}",
                "collection": "reviewed",
            },
            timeout=60,
        ).json()
        for seed, title in enumerate(("The Salt Road", "=A; Ferry"))
    ]
    service.relate()
    return [book["id"] for book in posted]


def test_reviews_are_decided_on_in_a_csv_file_and_the_history_tells_it(
    service: Service, ids: list[str], tmp_path: Path
) -> None:
    of_these = ("--kind", "SAME_PAGINATION", "--collection", "reviewed", "--url", service.url)
    done = bookprint("reviews", *of_these)
    head, line = (line.split("\t") for line in done.stdout.splitlines())
    cells = dict(zip(head, line, strict=True))
    assert [cells["left_id"], cells["right_id"]] == ids
    assert "%" in cells["because"]

    file = tmp_path / "reviews.csv"
    assert bookprint("reviews", "--csv", file, *of_these).stdout == ""
    with file.open(encoding="utf-8", newline="") as opened:
        [row] = csv.DictReader(opened)
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, [*row, "verdict", "note"])
        writer.writeheader()
        writer.writerow(row | {"verdict": "confirmed", "note": "seen"})
    done = bookprint("decide", "--file", file, "--url", service.url)
    assert (done.returncode, done.stderr) == (0, "Decisions: 1; refused: 0.\n")
    assert bookprint("reviews", "--json", *of_these).stdout == ""

    assert bookprint("decide", "s-0", "s-1", "withdrawn", "--url", service.url).returncode == 0
    done = bookprint("decide", "s-0", "s-1", "withdrawn", "--url", service.url)
    assert done.returncode == 1
    assert "Nobody has decided" in done.stderr
    done = bookprint("decisions", "--json", "--url", service.url)
    assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == ["withdrawn", "confirmed"]
    done = bookprint("decisions", "--url", service.url)
    assert done.stdout.splitlines()[2].split("\t")[7] == "seen"


def test_a_wrong_verdict_is_told(service: Service, ids: list[str], tmp_path: Path) -> None:
    wrong = bookprint("decide", *ids, "perhaps", "--url", service.url)
    assert (wrong.returncode, "perhaps is no verdict" in wrong.stderr) == (2, True)
    assert bookprint("decide", ids[0], "--url", service.url).returncode == 2
    file = tmp_path / "x.csv"
    file.write_text("left_id,verdict\n", encoding="utf-8")
    lacking = bookprint("decide", "--file", file, "--url", service.url)
    assert "lacks the columns: right_id" in lacking.stderr
