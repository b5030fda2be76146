"""`bookprint similar`, and vectors computed by the commands that store books."""

import json
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from app.core.signatures.json_codec import encode
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_text
from tests.api.library import prose, scanned
from tests.cli.command_line import Service, bookprint


@pytest.mark.slow
def test_similar_books_are_printed_once_vectors_are_computed(service: Service, tmp_path: Path) -> None:
    url = ("--url", service.url)

    def post(**book: object) -> str:
        book_id: str = httpx.post(f"{service.url}/v1/books", json=book, timeout=60).json()["id"]
        return book_id

    book = post(text=prose(1), title="Emma")
    copy = post(text=scanned(prose(1), 3), title="Emma, scanned")
    signed = post(signatures=encode(sketch(content_from_text(prose(9)))))
    without = bookprint("similar", book, *url)
    assert (without.returncode, without.stdout) == (1, "")
    assert "reindex --vectors" in without.stderr
    computed = bookprint("reindex", "--vectors", **service.servers)
    assert computed.stdout == "2 books have got vectors\n", computed.stderr
    lonely = bookprint("similar", book, *url)
    assert lonely.stdout == "similarity\ttitle\tauthors\tid\n"
    assert "no other book has a vector" in lonely.stderr

    file = tmp_path / "books.jsonl"
    line = {
        "id": "shelf 7",
        "text": prose(2),
        "title": "Persuasion",
        "authors": ["Austen, Jane", "Somebody Else"],
    }
    file.write_text(json.dumps(line), encoding="utf-8")
    ingested = bookprint("ingest", file, **service.servers, BOOKPRINT_COMPUTE="vectors")
    assert ingested.returncode == 0, ingested.stderr
    found = bookprint("similar", book, *url)
    [_, row] = found.stdout.splitlines()
    similarity, title, authors, other = row.split("\t")
    assert (title, authors) == ("Persuasion", "Austen, Jane; Somebody Else")
    assert 0 < float(similarity) < 1
    [first, second] = bookprint("similar", book, "--copies", "--json", *url).stdout.splitlines()
    assert (json.loads(first)["id"], json.loads(second)["id"]) == (copy, other)
    assert json.loads(first)["similarity"] > 0.5
    assert len(bookprint("similar", book, "--copies", "--k", "1", *url).stdout.splitlines()) == 2

    by_own_id = bookprint("similar", "shelf 7", *url)
    rows = by_own_id.stdout.splitlines()[1:]
    assert rows
    assert {row.split("\t")[3] for row in rows} <= {book, copy}
    [_, row] = bookprint("lookup", "shelf 7", "--k", "1", *url).stdout.splitlines()
    assert row.split("\t")[5] in {book, copy}
    assert bookprint("master-copy", "shelf 7", *url).stdout.split() == prose(2).split()
    for command in ("similar", "lookup", "master-copy"):
        unknown = bookprint(command, "shelf 8", *url)
        assert (unknown.returncode, unknown.stdout) == (2, "")
        assert "no book has it as its id or external id" in unknown.stderr

    refused = bookprint("similar", signed, *url)
    assert refused.returncode == 1
    assert "text is not stored" in refused.stderr
    assert "No book has the id" in bookprint("similar", str(uuid4()), *url).stderr
    assert bookprint("similar", "emma", *url).returncode == 2
