"""The books and pairs of a corpus come in the order of their numbers, however rows were dealt to files."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bookprint_core.errors import BrokenFile
from bookprint_core.recipe import DEFAULT_FINGERPRINT
from bookprint_corpus import books, pairs
from bookprint_corpus.books import CorpusBooks
from bookprint_corpus.folder import CorpusFolder
from bookprint_corpus.pairs import CorpusPairs
from bookprint_corpus.tables import TABLES, schema
from tests.made_corpus import SPLIT, write_progress

AT_ONCE = 10
NUMBERS = [split * SPLIT + book for split in range(3) for book in range(1, 41)]
SHUFFLED = random.Random(29).sample(NUMBERS, len(NUMBERS))
DEALINGS: dict[str, list[list[int]]] = {
    "one file": [NUMBERS],
    "batches in turns": [
        [number for start in range(first, 120, 12) for number in NUMBERS[start : start + 3]]
        for first in range(0, 12, 3)
    ],
    "splits at once": [[number for each in zip(NUMBERS, NUMBERS[60:], strict=False) for number in each]],
    "falling": [NUMBERS[60:][::-1], NUMBERS[:60][::-1]],
    "at random": [SHUFFLED[:7], [], SHUFFLED[7:90], SHUFFLED[90:]],
    "a file for each": [[number] for number in SHUFFLED],
}
"""Numbers of books in the files of a table."""


def write(folder: Path, table: str, files: list[list[dict[str, Any]]]) -> None:
    (folder / table).mkdir()
    for file, rows in enumerate(files):
        made = pa.Table.from_pylist(rows, schema=schema(table))
        pq.write_table(made, folder / table / f"part-{file:03}.parquet", row_group_size=4)


def written(folder: Path, dealt: list[list[int]]) -> CorpusFolder:
    """A corpus in which each book is paired with the first one and the one before it."""
    write(folder, "sketches", [[_described(number) for number in file] for file in dealt])
    write(folder, "books", [[_described(number) | {"passed_over": number % 7} for number in NUMBERS]])
    pairs = [[pair for number in file for pair in pairs_of(number)] for file in dealt]
    write(folder, "relations", [[_pair(pair) | {"unit": "page"} for pair in file] for file in pairs])
    maps = [[_pair(pair) | {"runs": [_run(pair)], "pages": []} for pair in file] for file in reversed(pairs)]
    write(folder, "page_maps", maps)
    write(folder, "clusters", [[]])
    write_progress(folder)
    return CorpusFolder(folder)


def pairs_of(number: int) -> list[tuple[int, int]]:
    place = NUMBERS.index(number)
    return [(left, number) for left in sorted({NUMBERS[0], NUMBERS[place - 1]}) if left < number]


def _described(number: int) -> dict[str, Any]:
    counts = dict.fromkeys(("word_count", "character_count", "page_count"), 1)
    fingerprint = {"fingerprint_recipe": DEFAULT_FINGERPRINT, "fingerprint": bytes(16)}
    named = {"book": number, "place": str(number), "content_key": b"", "title": f"Book {number}"}
    return named | counts | fingerprint


def _pair(pair: tuple[int, int]) -> dict[str, Any]:
    return dict(zip(("left", "right"), pair, strict=True))


def _run(pair: tuple[int, int]) -> dict[str, int]:
    """A run that no other pair has."""
    first, second = map(NUMBERS.index, pair)
    return {"left_first": first, "left_end": first + 1, "right_first": second, "right_end": second + 1}


def _run_read(pair: tuple[int, int]) -> dict[str, list[int]]:
    first, second = map(NUMBERS.index, pair)
    return {"left": [first, first + 1], "right": [second, second + 1]}


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(books, "_ROWS_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(pairs, "_READ_AHEAD", AT_ONCE)


@pytest.mark.parametrize("dealing", DEALINGS)
def test_books_come_in_order_and_from_any_of_them_on(tmp_path: Path, dealing: str) -> None:
    books = CorpusBooks(written(tmp_path, DEALINGS[dealing]))
    assert books.count == len(NUMBERS)
    assert [(row.number, row.place) for row in books.descriptions()] == [
        (number, str(number)) for number in NUMBERS
    ]
    for after in (-1, NUMBERS[0], NUMBERS[0] + 1000, NUMBERS[57], NUMBERS[-1]):
        read = [(book.number, book.submission.metadata.title, book.passed_over) for book in books.read(after)]
        assert read == [(n, f"Book {n}", n % 7) for n in NUMBERS if n > after]


@pytest.mark.parametrize("dealing", DEALINGS)
def test_pairs_come_by_the_younger_book_with_their_page_maps(tmp_path: Path, dealing: str) -> None:
    pairs = CorpusPairs(written(tmp_path, DEALINGS[dealing]))
    assert pairs.count == 2 * len(NUMBERS) - 3
    pairs.skip(NUMBERS[4])
    for first in range(5, len(NUMBERS), 9):
        books = NUMBERS[first : first + 9]
        taken = [(pair.left, pair.right, pair.runs) for pair in pairs.up_to(books[-1])]
        expected = [pair for number in books for pair in pairs_of(number)]
        assert taken == [(*pair, json.dumps([_run_read(pair)])) for pair in expected]


def test_a_book_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, [*DEALINGS["falling"], [NUMBERS[5]]])
    with pytest.raises(BrokenFile, match=f"contains book {NUMBERS[5]} twice"):
        CorpusBooks(folder)


def test_tables_without_rows_have_no_books_and_no_pairs(tmp_path: Path) -> None:
    for table in TABLES:
        write(tmp_path, table, [])
    write_progress(tmp_path)
    folder = CorpusFolder(tmp_path)
    assert list(CorpusBooks(folder).read()) == []
    assert CorpusPairs(folder).up_to(1) == []
