"""Signing stored books from the command line."""

import json
from pathlib import Path

import httpx
import psycopg

from app.synthesis.library import SyntheticBook
from tests.api.library import prose
from tests.cli.command_line import Service, bookprint


def test_reindex_computes_the_digests_that_sign_prints(
    service: Service, books: list[SyntheticBook], tmp_path: Path
) -> None:
    url, servers = service.url, service.servers
    text = books[0].text
    posted = httpx.post(f"{url}/v1/books", json={"text": text}, timeout=60).json()
    assert posted["digests"] == {}
    file = tmp_path / "book.jsonl"
    file.write_text(json.dumps({"text": text}), encoding="utf-8")
    printed = json.loads(bookprint("sign", file).stdout)["digests"]
    assert list(printed) == ["md5-text", "textprofile-md5-v1"]
    computed = bookprint("reindex", "--digests", **servers)
    assert computed.returncode == 0, computed.stderr
    assert computed.stdout == "1 books now have digests\n"
    assert httpx.get(f"{url}/v1/books/{posted['id']}", timeout=60).json()["digests"] == printed
    for name, digits in printed.items():
        [found] = httpx.get(f"{url}/v1/books", params={"digest": f"{name}:{digits}"}, timeout=60).json()[
            "items"
        ]
        assert found["id"] == posted["id"]
    both = bookprint("reindex", "--digests", "--vectors", **servers)
    assert both.returncode == 2
    assert "--digests" in both.stderr


def test_reindex_signs_books_of_another_recipe_and_says_what_it_cannot(service: Service) -> None:
    for body in ({"text": prose(77)}, {"text": prose(78)}):
        assert httpx.post(f"{service.url}/v1/books", json=body, timeout=60).status_code == 201
    with psycopg.connect(service.servers["DATABASE_URL"].replace("+psycopg", "")) as connection:
        aged = connection.execute(
            "UPDATE signatures SET recipe = 'older-v0' WHERE recipe LIKE 'gap-%'"
            " AND entry_id IN (SELECT entry_id FROM books ORDER BY entry_id DESC LIMIT 2) RETURNING entry_id"
        ).fetchall()
        connection.execute("DELETE FROM texts WHERE entry_id = %s", aged[0])
    done = bookprint("reindex", **service.servers)
    assert (done.returncode, ", 1 of them signed again" in done.stdout) == (0, True), done.stderr
    assert "1 books were signed by other recipes" in done.stderr
    with psycopg.connect(service.servers["DATABASE_URL"].replace("+psycopg", "")) as connection:
        connection.execute("DELETE FROM signatures WHERE recipe = 'older-v0'")
