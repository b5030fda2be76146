"""Lists that were sent: what a stranger puts into one takes little memory, row by row."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.catalog import holdings
from app.services.bulk.lists import LONGEST_ROW, listed_books, sent_rows
from bookprint_core.errors import InvalidInput
from bookprint_readers.unread import Unread

_MOST_BYTES = 24 << 20
"""Bytes of memory beside the list itself; without bounds the lists here take 80 MiB and more."""

_LEADER = "00000nam a2200000 a 4500"


def filled(start: str, part: str, end: str, size: int = 4 << 20) -> bytes:
    """A text of about so many bytes, most of them copies of one part."""
    return (start + part * (size // len(part)) + end).encode()


def names(count: int) -> str:
    return ",".join(f"n{number}" for number in range(count))


HOSTILE = {
    "unknown field": ("a.jsonl", filled('{"title":"x","z":[', "{},", "{}]}\n")),
    "unknown field of a short line": (
        "a.jsonl",
        filled('{"title":"x","z":[', "{},", "{}]}\n", LONGEST_ROW - 40),
    ),
    "known field": ("a.jsonl", filled('{"authors":[', '{"a":0},', "0]}\n", LONGEST_ROW - 40)),
    "many names": ("a.jsonl", b"{%s}" % ",".join(f'"{n}":0' for n in range(90_000)).encode()),
    "commas": ("a.csv", filled("title,author\n", "ab,", "\n")),
    "a row of many lines": ("a.csv", filled("title,author\n", '"ab\n",', "\n")),
    "columns": ("a.csv", f"title,{names(100_000)}\nx\n".encode()),
    "one long column": ("a.csv", filled("title", "x", "\n")),
    "MARC in JSON": (
        "a.json",
        filled(f'[{{"leader":"{_LEADER}","fields":[', '{"001":"x"},', '{"001":"x"}]}]', LONGEST_ROW // 2),
    ),
    "MARC in JSON without end": ("a.json", filled(f'[{{"leader":"{_LEADER}","fields":[', '{"001":"x"},', "")),
}


def read(rows: Iterator[Unread]) -> Iterator[str]:
    for row in rows:
        try:
            yield str(row.read().metadata.title)
        except InvalidInput as error:
            yield f"refused: {error}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_row_that_is_no_book_is_refused_before_it_fills_the_memory(kind: str) -> None:
    name, data = HOSTILE[kind]
    tracemalloc.start()
    try:
        answers = [answer[:500] for answer in read(sent_rows(data, name) or iter(()))]
    except InvalidInput as error:  # of the table as a whole
        answers = [f"refused: {error}"]
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < _MOST_BYTES
    assert answers
    assert all(answer.startswith("refused: ") for answer in answers), answers


def test_a_record_as_xml_ends_the_list_where_it_is_too_long_and_has_only_so_many_elements() -> None:
    field = '<controlfield tag="001">x</controlfield>'
    record = f"<collection><record><leader>{_LEADER}</leader>"
    [long] = read(sent_rows(filled(record, field, "</record></collection>"), "a.xml") or iter(()))
    assert "longer than" in long
    many = filled(record, "<a/>", "</record></collection>", 220_000)
    [refused] = read(sent_rows(many, "a.xml") or iter(()))
    assert "elements" in refused


def test_rows_between_those_that_are_refused_are_read() -> None:
    long = '{"title":"' + "x" * LONGEST_ROW + '"}'
    lines = f'{{"title":"a"}}\n{long}\n{{"title":"b","z":[{{}}]}}\n'.encode()
    first, refused, last = read(sent_rows(lines, "a.jsonl") or iter(()))
    assert (first, last) == ("a", "b")
    assert refused.startswith("refused: The line is longer")


def test_a_title_that_a_table_of_holdings_marks_is_read_as_it_was(tmp_path: Path) -> None:
    path, titles = tmp_path / "holdings.csv", ["=1+1", "'-' and other signs", "Emma"]
    rows = [{name: title if name == "title" else None for name in holdings.COLUMNS} for title in titles]
    holdings.write(path, iter([row | {"authors": [], "identifiers": []} for row in rows]))
    assert "'=1+1" in path.read_text()
    assert list(read(listed_books(path, {}))) == titles
