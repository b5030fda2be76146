"""`bookprint dedupe` on ten small books, from the command to what is kept."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bookprint_corpus.dedupe.filtering import DUPLICATES
from tests.api.library import prose, scanned, sharing

pytestmark = pytest.mark.engine

SCHEMA_TYPES: dict[str, pa.DataType] = {
    "barcode_src": pa.string(),
    "title_src": pa.string(),
    "page_count_src": pa.int32(),
    "language_gen": pa.string(),
    DUPLICATES: pa.list_(pa.string()),
    "text_by_page_src": pa.list_(pa.large_string()),
    "text_by_page_gen": pa.list_(pa.large_string()),
}
SCHEMA = pa.schema(SCHEMA_TYPES, metadata={b"huggingface": b"{}"})
"""Some columns of Institutional Books 1.0."""


def paged(text: str, words: int = 250) -> list[str]:
    """The text on pages of so many words."""
    every = text.split()
    return [" ".join(every[start : start + words]) for start in range(0, len(every), words)]


def row(barcode: str, pages: list[str] | None) -> dict[str, Any]:
    return {"barcode_src": barcode, "title_src": barcode, "language_gen": "eng", "text_by_page_src": pages}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables: A, B, C have one text, C other pages; D is half of A; E there is twice; F is empty.

    H and I have one preface.
    """
    folder = tmp_path_factory.mktemp("shelf")
    text, other, (play, with_its_preface) = prose(1), prose(2), sharing(1_500)
    first = [
        row("A", paged(scanned(text, 1, 0.01))),
        row("E", paged(scanned(other, 2, 0.005))),
        row("D", paged(text)[:8]),
        row("F", None),
    ]
    second = [
        row("B", paged(text)),
        row("E2", paged(other)),
        row("G", paged(prose(3))),
        row("C", paged(text, 180)),
        row("H", paged(play)),
        row("I", paged(with_its_preface)),
    ]
    for name, rows in (("first.parquet", first), ("more/second.parquet", second)):
        (folder / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), folder / name, row_group_size=3)
    return folder


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all runs share, so that the corpus is computed once."""
    return tmp_path_factory.mktemp("out")


def run_dedupe(shelf: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app.cli", "dedupe", str(shelf), "--out", str(out), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def barcodes(out: Path) -> list[Sequence[str]]:
    names = ("first.parquet", "more/second.parquet")
    tables = [pq.read_table(out / "dedupe" / "tables" / name) for name in names]
    return [table.column("barcode_src").to_pylist() for table in tables]


def test_one_copy_of_each_text_is_kept_in_its_place(shelf: Path, out: Path) -> None:
    run = run_dedupe(shelf, out)
    assert "6 of 9 books are kept, 3 are left out" in run.stdout
    assert run.returncode == 1  # F was refused
    assert "first.parquet, row 4" in run.stderr
    assert barcodes(out) == [["D", "F"], ["B", "E2", "G", "H", "I"]]
    rows = {
        each["external_id"] or each["place"]: each
        for each in pq.read_table(out / "dedupe" / "clusters.parquet").to_pylist()
    }
    assert [rows[name]["cluster"] for name in "ABCDE"] == ["A", "A", "A", "D", "E"]
    assert rows["A"]["because"] == "It is a copy of B, which is kept."
    assert rows["B"]["size"] == 3
    assert rows["E2"]["because"].startswith("Fewest of its words occur only once, as ")
    refused = rows[f"{shelf}/first.parquet, row 4"]
    assert refused["keep"]
    assert refused["because"].startswith("It could not be compared.")
    books = pq.read_table(out / "books", columns=["external_id", "book"]).to_pylist()
    names = {each["book"]: each["external_id"] for each in books}
    related = pq.read_table(out / "relations", columns=["left", "right", "verdict"]).to_pylist()
    verdicts = {names[each["left"]] + names[each["right"]]: each["verdict"] for each in related}
    assert (verdicts["AB"], verdicts["HI"]) == ("near_duplicate", "common_matter")
    # The column is filled where it stands, and all else is as it was.
    kept = pq.read_table(out / "dedupe" / "tables" / "more" / "second.parquet")
    assert kept.schema.equals(pq.read_schema(shelf / "more" / "second.parquet"), check_metadata=True)
    assert kept.column(DUPLICATES).to_pylist() == [["A", "C"], ["E"], None, None, None]
    assert not (out / "dedupe" / "keep.txt").exists()
