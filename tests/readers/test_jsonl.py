"""JSON Lines, plain and compressed."""

import gzip
import json
from io import BytesIO
from pathlib import Path

import orjson
import pytest

from bookprint_core.errors import InvalidInput
from bookprint_core.metadata import FIELDS
from bookprint_core.model import Metadata
from bookprint_readers import jsonl

BOOK = {
    "id": "se-emma",
    "title": "Emma",
    "author": "Jane Austen",
    "lang": "en",
    "year": 1815,
    "source": "somewhere",
    "text": "Emma Woodhouse, handsome, clever, and rich",
    "pages": None,
}


def line(**changes: object) -> bytes:
    return json.dumps(BOOK | changes).encode() + b"\n"


def test_fields_become_metadata_and_text_becomes_content() -> None:
    book = jsonl.submission(line())
    assert book.metadata == Metadata(
        title="Emma", authors=("Jane Austen",), language="en", year=1815, external_id="se-emma"
    )
    assert book.content.text == BOOK["text"]
    assert book.content.page_count is None


def test_pages_count_more_than_text() -> None:
    content = jsonl.submission(line(pages=["one", "", "three"])).content
    assert (content.text, content.page_count) == ("one\f\fthree", 3)


def test_every_field_of_the_metadata_is_read() -> None:
    made = {str: "de", int: 1815, tuple: ("oclc:1", "oclc:2")}
    values = {each.name: made[each.kind] for each in FIELDS}
    data = orjson.dumps(values | {"text": "Emma"})
    assert jsonl.submission(data).metadata == Metadata(**values)
    assert jsonl.submission(line(id=7)).metadata.external_id == "7"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "Not JSON"),
        (b"[]", "Not a JSON object"),
        (b'{"title": "x"}', "`text` or `pages`"),
        (line(title=3), "`title` must be a string or null, not a number"),
        (line(year="1815"), "`year` must be a whole number or null, not a string"),
        (line(year=True), "`year`"),
        (line(pages="one"), "`pages` must be a list of strings or null, not a string"),
        (line(pages=["one", 2]), r"`pages\[1\]` must be a string, not a number"),
        (line(text=""), "no letter"),
        (b'{"text": "\\ud800"}', "Not JSON|surrogate"),
        (b'{"text": "\xff"}', "Not JSON"),
    ],
)
def test_a_line_that_is_no_book_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        jsonl.submission(data)


@pytest.mark.parametrize("name", ["books.jsonl", "books.jsonl.gz"])
def test_one_bad_line_does_not_stop_the_others(tmp_path: Path, name: str) -> None:
    data = line() + b"\n" + b"oops\n" + line(id="other").rstrip()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    first, bad, last = jsonl.lines(path)
    assert [found.data for found in (first, bad, last)] == [line(), b"oops\n", data.splitlines()[-1]]
    assert [found.number for found in (first, bad, last)] == [1, 3, 4]
    assert last.position == path.stat().st_size


def test_a_compressed_file_cut_short_says_so_after_its_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "books.jsonl.gz"
    noise = "".join(chr(97 + (n * n * 7919 + n // 3) % 26) for n in range(60_000))
    data = gzip.compress(line() + line(id="2", text=noise))
    path.write_bytes(data[: len(data) // 2])
    *_, last = jsonl.lines(path)
    assert "damaged" in str(last.data)


def test_a_line_too_long_for_one_book_is_passed_over_and_reported() -> None:
    long, whole = jsonl.lines_in(BytesIO(line(text="a" * 5000) + line()), longest=1000)
    assert "longer than" in str(long.data)
    assert (whole.number, whole.data) == (2, line())
