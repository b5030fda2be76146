"""Taking in many books where the database is reached: the outcome is that of one post after the other."""

import csv
import gzip
import json
import os
import signal
import subprocess
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.synthesis.library import SyntheticBook, synthetic_library
from tests.cli.command_line import BOOKPRINT, Service, bookprint, environment


@pytest.fixture(autouse=True)
def _emptied(service: Service) -> Iterator[None]:
    yield
    service.delete_books()


@pytest.fixture(scope="module")
def library() -> list[SyntheticBook]:
    return list(synthetic_library(9, 30, copies=(1, 1), characters=(4_000, 9_000)))


def books(service: Service) -> list[dict[str, object]]:
    items: list[dict[str, object]] = httpx.get(f"{service.url}/v1/books?limit=1000", timeout=60).json()[
        "items"
    ]
    return items


def described(items: Sequence[Mapping[str, object]]) -> list[tuple[object, ...]]:
    """Books without what differs from one run to the next."""
    names = ("title", "external_id", "identifier", "page_count", "word_count", "year")
    return sorted((tuple(item[name] for name in names) for item in items), key=repr)


def ingest(service: Service, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return bookprint("ingest", *arguments, **service.servers)


def refused(report: Path) -> list[tuple[str, str, str]]:
    """Name of the file, place in it, and kind of problem."""
    with report.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert all(row["reason"] for row in rows)
    return [(os.path.basename(row["path"]), row["place"], row["type"].rpartition(":")[2]) for row in rows]


def mixed(folder: Path, library: Sequence[SyntheticBook]) -> None:
    """Seven books in as many ways, and five things that are none."""
    first, second, third, fourth, fifth, sixth, seventh, *_ = library
    folder.mkdir()
    (folder / "a.txt").write_text(first.text)
    lines = [
        {"id": "second", "title": second.title, "pages": second.pages},
        {"id": "second", "text": third.text},
        {"title": "Nothing", "text": "—"},
        {"title": "Too long a language", "language": "x" * 36, "text": third.text},
        {"title": "The second again", "id": "second", "pages": second.pages},
    ]
    (folder / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    (folder / "c.html").write_text(f"<html><title>Third</title><p>{third.text}")
    pages = folder / "d_pages"
    pages.mkdir()
    for number, page in enumerate(fourth.pages, start=1):
        (pages / f"{number:08}.txt").write_text(page)
    with zipfile.ZipFile(folder / "e.zip", "w") as archive:
        archive.writestr("fifth.txt", fifth.text)
    pq.write_table(
        pa.table({"htid": ["uc1.6", None], "title": ["Sixth", None], "pages": [list(sixth.pages), None]}),
        folder / "f.parquet",
    )
    (folder / "g.pdf").write_bytes(b"%PDF-1.7\nnothing")
    (folder / "h.epub").write_bytes(b"PK\x03\x04" + b"\0" * 50)
    inner = folder / "i"
    inner.mkdir()
    (inner / "same.txt").write_text(first.text)
    (inner / "text").write_text(seventh.text)
    (inner / "list.tsv").write_text("path\tid\ttitle\ntext\tseventh\tA title of the manifest\n")


@pytest.mark.slow
def test_mixed_files_are_taken_in_directly_as_over_http_and_what_is_refused_is_listed(
    service: Service, tmp_path: Path, library: list[SyntheticBook]
) -> None:
    mixed(tmp_path / "in", library)
    report = tmp_path / "refused.csv"
    directly = ingest(service, tmp_path / "in", "--report", report)
    assert directly.returncode == 1, directly.stderr
    assert directly.stdout == "7 created, 2 already there, 0 pending, 6 failed\n"
    assert refused(report) == [
        ("b.jsonl.gz", "line 2", "conflict"),
        ("b.jsonl.gz", "line 3", "empty-text"),
        ("b.jsonl.gz", "line 4", "invalid"),
        ("f.parquet", "row 2", "no-text"),
        ("g.pdf", "", "broken-file"),
        ("h.epub", "", "broken-file"),
    ]
    items = books(service)
    assert {item["title"] for item in items} == {
        *("a", library[1].title, "Third", "d pages", "e", "Sixth", "A title of the manifest")
    }
    assert all(item["status"] == "indexed" for item in items)
    verdict = bookprint("verify", **service.servers)
    assert verdict.stdout.splitlines()[-1] == "clean", verdict.stdout
    for item in items:
        near = httpx.get(f"{service.url}{item['links']['near_duplicates']}?d=0", timeout=60).json()  # type: ignore[index]
        assert near["exact"] is True

    service.delete_books()
    over_http = ("--url", service.url, "-j", "1", "--report", tmp_path / "b.csv")
    posted = bookprint("ingest", tmp_path / "in", *over_http)
    assert posted.stdout == directly.stdout
    told = (directly.stderr.splitlines()[0], posted.stderr.splitlines()[0])
    assert told == (
        "Storing books directly; their texts are stored (BOOKPRINT_TEXTS=postgres).",
        f"Posting books to {service.url}.",
    )
    assert described(books(service)) == described(items)
    assert refused(tmp_path / "b.csv") == refused(report)


@pytest.mark.slow
def test_after_a_kill_a_second_run_gives_the_library_of_one_run(service: Service, tmp_path: Path) -> None:
    # Words of one book alone: books that share words would all be related.
    texts = [" ".join(f"w{book}x{n}" for n in range(200)) for book in range(300)]
    lines = [
        json.dumps({"id": f"book-{n % 300}", "title": f"{n}", "text": texts[n % 300]}) for n in range(340)
    ]
    file = tmp_path / "books.jsonl"
    file.write_text("\n".join(lines))
    arguments = [*BOOKPRINT, "ingest", str(file)]
    process = subprocess.Popen(
        arguments, env=environment(service.servers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    with httpx.Client(base_url=service.url, timeout=60) as client:
        while not client.get("/v1/books?limit=1").json()["items"]:
            time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    stored = len(books(service))
    assert 0 < stored < 300
    done = ingest(service, file)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) <= 300 - stored
    items = books(service)
    assert {item["external_id"] for item in items} == {f"book-{n}" for n in range(300)}
    assert {item["title"] for item in items} == {str(n) for n in range(300)}
    # What the killed run stored last is pending, and is found, until a worker comes to it.
    verdict = json.loads(bookprint("verify", "--json", **service.servers).stdout)
    assert (verdict["books"], verdict["missing"], verdict["superfluous"]) == (300, 0, 0)


@pytest.mark.slow
def test_signatures_made_offline_are_taken_in_elsewhere(
    service: Service, tmp_path: Path, library: list[SyntheticBook]
) -> None:
    (tmp_path / "in").mkdir()
    for book in library[:4]:
        (tmp_path / "in" / f"{book.id}.txt").write_text(book.text)
    (tmp_path / "in" / "z.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    table = tmp_path / "signatures.parquet"
    signed = bookprint("sign", tmp_path / "in", "--out", table, "--report", tmp_path / "refused.csv")
    assert (signed.returncode, signed.stdout) == (1, "4 signed, 1 refused\n")
    assert refused(tmp_path / "refused.csv") == [("z.png", "", "unsupported-format")]
    data = table.read_bytes()
    assert not any(word.encode() in data for word in library[0].text.split() if len(word) > 7)
    done = ingest(service, table)
    assert done.stdout == "4 created, 0 already there, 0 pending, 0 failed\n", done.stderr
    from_signatures = described(books(service))
    over_http = bookprint("ingest", table, "--url", service.url)
    assert over_http.stdout == "0 created, 4 already there, 0 pending, 0 failed\n", over_http.stderr
    printed = bookprint("sign", tmp_path / "in")
    lines = tmp_path / "signatures.jsonl"
    lines.write_text(printed.stdout)
    assert ingest(service, lines).stdout == "0 created, 4 already there, 0 pending, 0 failed\n"
    service.delete_books()
    for outcome in ("4 created, 0 already there", "0 created, 4 already there"):
        assert ingest(service, tmp_path / "in").stdout == f"{outcome}, 0 pending, 1 failed\n"
        assert described(books(service)) == from_signatures


def test_what_cannot_run_ends_with_status_2(service: Service, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a book")
    (tmp_path / "empty").mkdir()
    assert ingest(service, tmp_path / "missing").returncode == 2
    assert ingest(service, tmp_path / "empty").returncode == 2
    assert ingest(service, tmp_path / "a.txt", "--column", "words=x").returncode == 2
    assert bookprint("ingest", tmp_path / "a.txt", "--url", "http://127.0.0.1:9").returncode == 2
