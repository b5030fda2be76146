"""`bookprint ingest` of MARC records and the texts that are named after them."""

import csv
import os
from pathlib import Path

import httpx
import pytest

from app.catalog.marc import forms
from app.core.model import CatalogRecord
from app.synthesis.library import SyntheticBook
from tests.catalog.marc.made_records import data, named, written
from tests.cli.command_line import Service, bookprint


@pytest.mark.parametrize("way", [pytest.param("direct", marks=pytest.mark.slow), "url"])
def test_records_and_texts_are_taken_in(
    service: Service, tmp_path: Path, books: list[SyntheticBook], way: str
) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    number = f"{way}-1"
    (texts / f"{number}.txt").write_text(f"{way} " + books[0].text)
    (texts / "left.txt").write_text(books[1].text)
    made = named(number, "The ferry /", data("020", "  ", "a 0141439602", "q pbk."))
    records = written(tmp_path / "records.mrc", made, named("nowhere"))
    options, variables = (("--url", service.url), {}) if way == "url" else ((), service.servers)
    report = tmp_path / "refused.csv"

    done = bookprint("ingest", records, "--texts", texts, "--report", report, *options, **variables)

    assert done.returncode == 1, done.stderr
    assert done.stdout == "1 created, 0 already there, 0 pending, 2 failed\n"
    with report.open(newline="") as stream:
        rows = [(os.path.basename(row["path"]), row["place"]) for row in csv.DictReader(stream)]
    assert rows == [("records.mrc", "record 2"), ("left.txt", "")]
    [book] = httpx.get(
        f"{service.url}/v1/books", params={"identifier": f"control-number:{number}"}, timeout=60
    ).json()["items"]
    assert (book["title"], book["identifiers"][0]) == ("The ferry", "isbn:9780141439600")
    answer = httpx.get(
        f"{service.url}/v1/books/{book['id']}", headers={"Accept": "application/marc"}, timeout=60
    )
    again = forms.single(CatalogRecord("marc", answer.content))
    assert again.fields[: len(made.fields)] == made.fields
    httpx.delete(f"{service.url}/v1/books/{book['id']}", timeout=60)
