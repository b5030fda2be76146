"""Changing the recipe of a running service from the command line."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.synthesis.library import SyntheticBook
from tests.cli.running import Service, bookprint, serving

OLD, NEW = "gap-simhash128-v1", "tf-simhash128-v1"


@pytest.fixture
def own_service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path / "data") as service:
        yield service


def test_reindex_lets_another_recipe_serve_and_drops_the_old_one(
    own_service: Service, books: list[SyntheticBook]
) -> None:
    url, data_dir = own_service.url, ("--data-dir", own_service.data_dir)
    posted = [
        httpx.post(f"{url}/v1/books", json={"text": book.text}, timeout=60).json() for book in books[:4]
    ]
    changed = bookprint("reindex", "--recipe", NEW, *data_dir)
    assert changed.returncode == 0, changed.stderr
    assert changed.stdout == f"{NEW} serves: 4 books; 4 fingerprints computed\n"
    again = bookprint("reindex", "--recipe", NEW, *data_dir)
    assert (again.returncode, "serves already" in again.stderr) == (1, True)
    for book in posted:
        assert httpx.get(f"{url}/v1/books/{book['id']}").json()["fingerprint"]["recipe"] == NEW
        old = {"identifier": book["identifier"]}
        assert httpx.post(f"{url}/v1/lookups?d=0", json=old).json()["items"][0]["id"] == book["id"]
    file = own_service.data_dir.parent / "book.txt"
    file.write_text(books[0].text, encoding="utf-8")
    signatures = json.loads(bookprint("sign", file, "--recipe", NEW).stdout)
    same = httpx.post(f"{url}/v1/lookups?d=0", json={"signatures": signatures}).json()
    assert same["items"][0]["id"] == posted[0]["id"]
    verdict = bookprint("verify", *data_dir)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    dropped = bookprint("reindex", "--drop", OLD, *data_dir)
    assert dropped.returncode == 0, dropped.stderr
    assert dropped.stdout == f"{OLD} is no longer indexed\n"
    assert httpx.post(f"{url}/v1/lookups?d=0", json={"identifier": posted[0]["identifier"]}).is_error
    assert bookprint("verify", *data_dir).returncode == 0


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    for options in (("--recipe", NEW, "--drop", OLD), ("--allow-missing",)):
        done = bookprint("reindex", *options, "--data-dir", tmp_path)
        assert done.returncode == 2
        assert "--recipe" in done.stderr
