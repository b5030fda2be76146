"""The commands that list what a running service knows, and `decide`."""

import csv
import json
import os
import pwd
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.stores.postgres.pairs import reviews
from tests.api.library import prose, scanned
from tests.cli.command_line import Service, bookprint, in_a_process
from tests.factories import pages_of

ISBN = "isbn:9783161484100"
SCAN = pages_of(prose(931, 9000))
COMMAND = {"kind": "command", "name": pwd.getpwuid(os.getuid()).pw_name, "key_id": None}

BOOKS: dict[str, dict[str, Any]] = {
    # Two books share an ISBN and no text.
    "salt": {"pages": pages_of(prose(901, 3000)), "title": "The Salt Road", "identifiers": [ISBN]},
    "ferry": {"pages": pages_of(prose(902, 3000)), "title": "=A; Ferry", "identifiers": [ISBN]},
    # Two scans of one printing under different titles, of which the first lacks a leaf.
    "lacking": {
        "pages": [scanned(page, place) for place, page in enumerate(SCAN[:12] + SCAN[14:])],
        "title": "Lacking",
        "collection": "scans",
    },
    "whole": {
        "pages": [scanned(page, 100 + place) for place, page in enumerate(SCAN)],
        "title": "Whole",
        "collection": "scans",
    },
}


@pytest.fixture(scope="module")
def ids(service: Service) -> dict[str, str]:
    """The ids of `BOOKS`, posted and related."""
    posted = {
        name: httpx.post(
            f"{service.url}/v1/books", json=book | {"external_id": name, "authors": ["J. Moor"]}, timeout=60
        ).json()["id"]
        for name, book in BOOKS.items()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reviews, "LEAST_REVIEWED", 0.0)  # the copies are not in doubt
        service.relate()
    return posted


def listed(service: Service, *command: str | Path) -> list[dict[str, str]]:
    """The rows that a command prints into a pipe, by column."""
    done = bookprint(*command, "--url", service.url)
    assert done.returncode == 0, done.stderr
    head, *rows = (line.split("\t") for line in done.stdout.splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows]


def documents(service: Service, *command: str) -> list[dict[str, Any]]:
    done = bookprint(*command, "--json", "--url", service.url)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def table(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def test_conflicts_are_lines_json_or_a_file(service: Service, ids: dict[str, str], tmp_path: Path) -> None:
    [cells] = listed(service, "conflicts")
    assert [cells["this_id"], cells["other_id"]] == [ids["salt"], ids["ferry"]]
    assert (cells["agrees"], cells["contradicts"]) == ("isbn authors", "text title")
    assert (cells["this_identifiers"], cells["this_text_under_id"]) == (ISBN, "")
    [item] = documents(service, "conflicts", "--by", "isbn", "--limit", "1")
    assert [book["id"] for book in item["books"]] == [ids["salt"], ids["ferry"]]

    file = tmp_path / "conflicts.csv"
    done = bookprint("conflicts", "--csv", file, "--url", service.url)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1]) == (0, "", "Conflicts: 1.")
    assert [row["other_title"] for row in table(file)] == ["'=A; Ferry"]  # no formula to a spreadsheet
    missing = bookprint("conflicts", "--csv", tmp_path / "no" / "file.csv", "--url", service.url)
    assert (missing.returncode, "cannot be read or written" in missing.stderr) == (2, True)
    assert bookprint("conflicts", "--json", "--csv", file, "--url", service.url).returncode == 2


def test_reviews_are_decided_on_in_a_csv_file_and_the_history_tells_it(
    service: Service, ids: dict[str, str], tmp_path: Path
) -> None:
    file, of_these = tmp_path / "reviews.csv", ("--collection", "scans", "--kind", "SAME_PAGINATION")
    [row] = listed(service, "reviews", *of_these)
    assert [row["left_id"], row["right_id"]] == [ids["lacking"], ids["whole"]]
    assert bookprint("reviews", "--csv", file, *of_these, "--url", service.url).stdout == ""
    [row] = table(file)
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, [*row, "verdict", "note"])
        writer.writeheader()
        writer.writerow(row | {"verdict": "confirmed", "note": "seen"})
    done = bookprint("decide", "--file", file, "--url", service.url)
    assert (done.returncode, done.stderr.endswith("Decisions: 1; refused: 0.\n")) == (0, True)
    assert documents(service, "reviews", *of_these) == []

    withdraw = ("decide", "lacking", "whole", "withdrawn", "--url", service.url)
    assert bookprint(*withdraw).returncode == 0
    again = bookprint(*withdraw)
    assert (again.returncode, "Nobody has decided" in again.stderr) == (1, True)
    history = listed(service, "decisions")
    assert [(row["verdict"], row["note"], row["verdict_before"]) for row in history] == [
        ("withdrawn", "", "confirmed"),
        ("confirmed", "seen", ""),
    ]
    wrong = bookprint("decide", ids["salt"], ids["ferry"], "perhaps", "--url", service.url)
    assert (wrong.returncode, "perhaps is not a verdict" in wrong.stderr) == (2, True)
    file.write_text("left_id,verdict\n", encoding="utf-8")
    lacking = bookprint("decide", "--file", file, "--url", service.url)
    assert (lacking.returncode, "lacks the columns: right_id" in lacking.stderr) == (2, True)


def test_faults_of_scans_are_a_file_and_a_book_alone_is_refused(
    service: Service, ids: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "report.csv"
    done = bookprint("completeness", "--url", service.url, "--out", file)
    [row] = table(file)
    assert (row["kind"], row["title"], row["pages"], row["between"]) == ("missing", "Lacking", "", "11-12")
    assert (row["in_book"], row["in_pages"]) == (ids["whole"], "12-14")
    assert "other scan, pages or text: 2" in done.stderr
    assert documents(service, "completeness", ids["lacking"])[0]["between"] == [11, 12]
    refused = bookprint("completeness", "salt", "--url", service.url)
    assert (refused.returncode, "No other scan of the printing" in refused.stderr) == (1, True)


def test_clusters_are_listed_and_a_relation_is_printed_in_each_form(
    service: Service, ids: dict[str, str]
) -> None:
    [cluster] = listed(service, "clusters")
    assert (cluster["size"], cluster["founder_title"]) == ("2", "Lacking")
    assert [item["id"] for item in documents(service, "clusters", "--limit", "1")] == [cluster["id"]]
    printed = {
        form: bookprint("relation", "lacking", ids["whole"], "--url", service.url, "--format", form).stdout
        for form in ("json", "annotations", "csv")
    }
    relation = json.loads(printed["json"])
    assert json.loads(printed["annotations"])["total"] == len(relation["page_map"]) > 0
    assert len(printed["csv"].splitlines()) == 1 + len(relation["runs"])


def test_a_master_copy_is_printed_page_by_page(service: Service, ids: dict[str, str]) -> None:
    done = bookprint("master-copy", "lacking", "--url", service.url)
    assert (done.returncode, done.stdout.count("\f")) == (0, len(SCAN) - 1), done.stderr
    assert "2 copies have voted" in done.stderr
    cluster = f"same_text-{ids['lacking']}"
    pages = documents(service, "master-copy", cluster)
    assert "\f".join(page["text"] for page in pages) == done.stdout
    assert bookprint("master-copy", "nothing", "--url", service.url).returncode == 2


def test_changes_are_printed_from_a_cursor_on(service: Service, ids: dict[str, str]) -> None:
    def printed(*options: str) -> list[dict[str, Any]]:
        done = bookprint("changes", "--collection", "scans", "--url", service.url, *options)
        return [json.loads(line) for line in done.stdout.splitlines()]

    items = printed()
    assert [item["type"] for item in items[:2]] == ["book.created"] * 2
    assert printed("--after", str(items[0]["cursor"])) == items[1:]
    assert printed("--after", "now") == []


def test_the_audit_log_names_who_posts_and_who_runs_a_command(
    service: Service, ids: dict[str, str], tmp_path: Path
) -> None:
    cells = listed(service, "audit", "--object", ids["salt"])[-1]
    assert (cells["actor"], cells["name"], cells["address"]) == ("anyone", "anyone", "127.0.0.1")
    assert (cells["action"], cells["object_id"], cells["other_id"]) == ("book.created", ids["salt"], "")
    assert documents(service, "audit", "--until", cells["at"], "--object", ids["salt"]) == []
    assert bookprint("audit", "--limit", "1", "--url", service.url).stderr.endswith(
        "Entries: 1; there are more.\n"
    )

    (tmp_path / "book.txt").write_text(prose(1915, 80))
    assert in_a_process("ingest", tmp_path, **service.servers).returncode == 0
    key = bookprint("keys", "create", "--name", "k", "--scope", "read", **service.servers).stdout.strip()
    [key_id] = [
        line.split("\t")[0]
        for line in bookprint("keys", "list", **service.servers).stdout.splitlines()
        if "\tk\t" in line
    ]
    for act in ("rotate", "revoke"):
        assert bookprint("keys", act, key_id, **service.servers).returncode == 0
    done = documents(service, "audit", "--limit", "4")
    assert [each["action"] for each in done] == ["key.revoked", "key.rotated", "key.created", "book.created"]
    assert all(each["actor"] == COMMAND | {"address": socket.gethostname()} for each in done)
    assert key not in json.dumps(done)
    wrong = bookprint("audit", "--since", "yesterday", "--url", service.url)
    assert (wrong.returncode, "--since" in wrong.stderr) == (2, True)


@pytest.mark.slow
def test_similar_books_are_listed_once_vectors_are_computed(service: Service, ids: dict[str, str]) -> None:
    without = bookprint("similar", "salt", "--url", service.url)
    assert (without.returncode, "reindex --vectors" in without.stderr) == (1, True)
    computed = bookprint("reindex", "--vectors", **service.servers)
    assert computed.returncode == 0, computed.stderr
    rows = listed(service, "similar", "salt", "--k", "2")
    assert len({row["id"] for row in rows} - {ids["salt"]}) == 2
    assert sorted(rows, key=lambda row: -float(row["similarity"])) == rows
    unknown = bookprint("similar", "shelf 8", "--url", service.url)
    assert (unknown.returncode, "no book has this id" in unknown.stderr) == (2, True)


def test_contents_of_a_volume_are_a_table_with_its_gaps(
    service: Service, ids: dict[str, str], tmp_path: Path
) -> None:
    file, salt = tmp_path / "contents.csv", BOOKS["salt"]["pages"]
    volume = {"pages": salt + pages_of(prose(903, 1500)), "external_id": "tales"}
    posted = httpx.post(f"{service.url}/v1/books", json=volume, timeout=60).json()
    service.relate()

    done = bookprint("contents", "tales", "--url", service.url, "--csv", file)

    assert (done.returncode, done.stderr) == (0, "Parts: 2.\n")
    work, gap = table(file)
    ends = [len(salt), len(volume["pages"])]
    assert (work["kind"], work["pages"], work["title"], work["book_id"]) == (
        "work",
        f"0-{ends[0]}",
        "The Salt Road",
        ids["salt"],
    )
    assert (work["volume_id"], work["authors"], work["in_pages"]) == (posted["id"], "J. Moor", f"0-{ends[0]}")
    assert (gap["kind"], gap["pages"], gap["title"]) == ("gap", f"{ends[0]}-{ends[1]}", "")
