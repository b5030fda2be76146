"""Every command against a running service, from posting books to proving the index."""

import gzip
import json
import re
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest

from app.synthesis.library import SyntheticBook
from tests.cli.command_line import Service, bookprint, in_a_process
from tests.forks import Fork


@pytest.fixture(scope="module")
def posted(service: Service, folder: Path) -> dict[str, str]:
    """The ids of the books of the folder by their titles, after `ingest` has posted them."""
    done = bookprint("ingest", folder, "--url", service.url, "-j", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "9 created, 0 already there, 0 pending, 0 failed\n"
    items = httpx.get(f"{service.url}/v1/books", timeout=60).json()["items"]
    return {item["title"]: item["id"] for item in items}


def test_the_version_is_told() -> None:
    assert bookprint("--version").stdout == f"bookprint {version('bookprint')}\n"


def table(printed: str) -> list[dict[str, str]]:
    head, *rows = [line.split("\t") for line in printed.splitlines()]
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_ingest_posts_a_folder_once_and_finds_it_there_the_second_time(
    service: Service, folder: Path, posted: dict[str, str], books: list[SyntheticBook]
) -> None:
    assert set(posted) >= {book.id for book in books}
    again = bookprint("ingest", folder, "--url", service.url)
    assert again.returncode == 0, again.stderr
    assert again.stdout == "0 created, 9 already there, 0 pending, 0 failed\n"


def test_ingest_reads_json_lines_and_names_each_book_that_fails(service: Service, tmp_path: Path) -> None:
    lines = [
        {
            "id": "line-1",
            "title": "Pages",
            "author": "A. B.",
            "year": 1900,
            "pages": ["one page", "two pages"],
        },
        {"id": "line-2", "title": "Nothing", "text": "—"},
        {"id": "line-1", "title": "Same id", "text": "another text under the same id"},
    ]
    compressed, picture = tmp_path / "books.jsonl.gz", tmp_path / "picture.txt"
    compressed.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    picture.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    done = bookprint("ingest", tmp_path, "--url", service.url, "-j", "1")
    assert done.returncode == 1
    assert done.stdout == "1 created, 0 already there, 0 pending, 3 failed\n"
    assert f"{compressed}, line 2: There is no letter" in done.stderr
    assert f"{compressed}, line 3: HTTP 409" in done.stderr
    assert f"{picture}: picture.txt is a picture" in done.stderr
    items = httpx.get(f"{service.url}/v1/books", params={"title": "Pages"}, timeout=60).json()["items"]
    assert [(item["external_id"], item["authors"], item["year"], item["page_count"]) for item in items] == [
        ("line-1", ["A. B."], 1900, 2)
    ]


def test_lookup_of_a_file_and_of_an_id_find_the_copies(
    service: Service, folder: Path, posted: dict[str, str], books: list[SyntheticBook]
) -> None:
    first, copies = books[0], {book.id for book in books if book.work == books[0].work}
    by_id = bookprint("lookup", posted[first.id], "--url", service.url)
    assert by_id.returncode == 0, by_id.stderr
    assert {row["title"] for row in table(by_id.stdout)} == copies - {first.id}
    by_file = bookprint("lookup", folder / f"{first.id}.txt", "--k", "2", "--url", service.url)
    nearest = table(by_file.stdout)[0]
    assert (nearest["title"], nearest["distance"], nearest["id"]) == (first.id, "0", posted[first.id])
    alike = bookprint("lookup", folder / f"{first.id}.txt", "--jaccard", "0.9", "--url", service.url)
    assert table(alike.stdout)[0] == nearest
    assert "; 100% of the books with this similarity are found" in alike.stderr


def test_reindex_and_verify_work_beside_the_running_service(service: Service, posted: dict[str, str]) -> None:
    total = len(httpx.get(f"{service.url}/v1/books", timeout=60).json()["items"])
    rebuilt = bookprint("reindex", **service.servers)
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert rebuilt.stdout.startswith(f"{total} books indexed again")
    verdict = bookprint("verify", **service.servers)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    assert verdict.stdout.splitlines()[-1] == "clean"
    as_json = json.loads(bookprint("verify", "--json", **service.servers).stdout)
    assert as_json["clean"] is True
    assert as_json["books"] == total


def test_verify_waits_for_an_index_that_is_being_built(database_url: str, redis_url: str) -> None:
    servers = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    early = bookprint("verify", "--wait", "0", **servers)
    assert (early.returncode, early.stdout.splitlines()[-1]) == (3, "not complete yet")

    def build(_: Fork) -> None:
        assert bookprint("reindex", **servers).returncode == 0

    waited = in_a_process("verify", meanwhile=build, **servers)
    assert (waited.returncode, waited.stdout.splitlines()[-1]) == (0, "clean"), waited.stderr


def test_demo_on_a_running_service_finds_all_copies_and_leaves_nothing(service: Service) -> None:
    def books() -> int:
        return len(httpx.get(f"{service.url}/v1/books", params={"limit": 1000}, timeout=60).json()["items"])

    before = books()
    done = bookprint("demo", "--url", service.url, "--works", "8", "--seed", "3")
    assert done.returncode == 0, done.stderr
    assert "near-duplicates found" in done.stdout
    assert re.search(r"the service found (\d+) of \1 near-duplicates, and 0 books that are not", done.stdout)
    assert f"bookprint ingest FOLDER --url {service.url}\n" in done.stdout
    assert "bookprint serve" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 130
    assert books() == before
