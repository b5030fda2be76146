"""What the corpus mode finds in a library, as its tables have it."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from bookprint_corpus import storage
from tests.engines.findings import Candidate, Findings, Membership, Pair

_DOCUMENTS = ("confidences", "signals")


def findings_of_corpus(folder: Path) -> Findings:
    """The findings in the tables of a corpus, whose books have external ids."""
    books = _rows(folder, "books")
    names = {row["book"]: row["external_id"] for row in books}
    return Findings(
        {_pair(row, names): Candidate(**row) for row in _rows(folder, "candidates")},
        {_pair(row, names): _relation(row) for row in _rows(folder, "relations")},
        {_pair(row, names): _page_map(row) for row in _rows(folder, "page_maps")},
        {
            (row["by"], names[row["book"]]): Membership(
                names[row["founder"]], row["size"], row["best"], row["because"]
            )
            for row in _rows(folder, "clusters")
        },
        {row["external_id"]: row["passed_over"] for row in books if row["passed_over"]},
    )


def sorted_rows(folder: Path, table: str) -> list[str]:
    """The rows of a table, in an order that only depends on them."""
    return sorted(json.dumps(row, sort_keys=True, default=bytes.hex) for row in _rows(folder, table))


def _rows(folder: Path, table: str) -> list[dict[str, Any]]:
    read: pa.Table = storage.read(str(folder), table)
    rows: list[dict[str, Any]] = read.to_pylist()
    return rows


def _pair(row: dict[str, Any], names: dict[int, str]) -> Pair:
    left, right = row.pop("left"), row.pop("right")
    assert left < right
    return names[left], names[right]


def _relation(row: dict[str, Any]) -> dict[str, Any]:
    del row["verdict"]  # a service gives it with each answer
    return row | {name: None if row[name] is None else json.loads(row[name]) for name in _DOCUMENTS}


def _page_map(row: dict[str, Any]) -> dict[str, Any]:
    runs = ("left_first", "left_end", "right_first", "right_end")
    pages = ("left", "right", "similarity")
    return {
        "runs": [tuple(run[name] for name in runs) for run in row["runs"]],
        "pages": [tuple(page[name] for name in pages) for page in row["pages"]],
    }
