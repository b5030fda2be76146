"""Every real file of BOOKPRINT_FORMATS is read, or refused, as its `expected.csv` says.

Files of one format are chosen with -k, as `-k "alto and not works"`.
"""

import csv
import os
import re
from functools import cache
from pathlib import Path

import pytest

from app.core.errors import (
    BrokenFile,
    EncryptedFile,
    NoText,
    SeveralBooks,
    UnsupportedFormat,
    UnusableFile,
)
from app.core.model import Content
from app.core.text.content import content_from_text
from app.core.text.normal_form import normalise
from app.readers.extraction import Extraction, to_content
from app.readers.recognition import read_book
from app.readers.source import Source

FOLDER = Path(os.environ.get("BOOKPRINT_FORMATS", "/nonexistent"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.formats,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="BOOKPRINT_FORMATS names no folder"),
]

REFUSALS: dict[type[UnusableFile], str] = {
    UnsupportedFormat: "unsupported-format",
    EncryptedFile: "encrypted",
    NoText: "no-text",
    BrokenFile: "broken-file",
    SeveralBooks: "several-books",
}
HEADS = 0.006
"""The share of words that may be missing from a row's least: page furniture, marked as such or found."""

CAPITALS = 1
"""Words more in front: the rows join words that a line divides before a capital, the normal form does not."""

APART = {"hocr/broken-entities.html"}
"""Rows whose last words have two halves of a word that a soft hyphen joins."""

HEADED = {"page/simple.xml": 3}
"""Words more in front, of a heading whose text stands in its region alone, which the rows leave out."""

REFERRED = {"tei/dta-lessing-fabeln-1759.xml": 60}
"""Words more at the end, of numbers in an index that the rows join to the word before."""

UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


@cache
def expected() -> dict[str, dict[str, str]]:
    if not FOLDER.is_dir():
        return {}
    with (FOLDER / "expected.csv").open(encoding="utf-8", newline="") as file:
        return {row["path"]: row for row in csv.DictReader(file)}


def words_of(text: str) -> list[str]:
    """The words of a text in normal form; in scripts without spaces each character is one."""
    return UNSPACED.sub(r" \g<0> ", text).split()


def normal_words(content: Content) -> list[str]:
    return words_of(str(normalise(content)))


def outcome(path: str) -> tuple[str, Extraction | None, Content | None]:
    try:
        extraction = read_book(Source.of_file(FOLDER / path))
        return "read", extraction, to_content(extraction)
    except UnusableFile as exc:
        return f"refused:{REFUSALS[type(exc)]}", None, None


def position(words: list[str], wanted: list[str]) -> int | None:
    """Where these words stand in a row."""
    for place in range(len(words) - len(wanted) + 1):
        if words[place] == wanted[0] and words[place : place + len(wanted)] == wanted:
            return place
    return None


@pytest.mark.parametrize("path", expected())
def test_the_file_is_read_or_refused_as_expected(path: str) -> None:
    row = expected()[path]
    result, extraction, content = outcome(path)
    assert result in row["outcome"].split("|"), result
    if extraction is None or content is None:
        return
    assert extraction.format in row["format"].split("|")
    if row["pages"]:
        least, _, most = row["pages"].partition("-")
        assert content.page_count is not None
        assert int(least) <= content.page_count <= int(most or least)
    else:
        assert content.page_count is None
    words = normal_words(content)
    if row["words"]:
        least, _, most = row["words"].partition("-")
        assert int(least) * (1 - HEADS) <= len(words) <= int(most)
    if row["first_words"]:
        first = normal_words(content_from_text(row["first_words"]))
        place = position(words, first)
        assert place is not None, words[:30]
        assert place <= int(row["before"] or 0) + HEADED.get(path, CAPITALS), words[:30]
    if row["last_words"] and path not in APART:
        last = words_of(row["last_words"])
        place = position(words[::-1], last[::-1])
        assert place is not None, words[-30:]
        assert place <= int(row["after"] or 0) + REFERRED.get(path, 0), words[-30:]
    if row["title"]:
        found = re.sub(r"\W+", " ", (extraction.metadata.title or "").casefold()).strip()
        wanted = re.sub(r"\W+", " ", row["title"].casefold()).strip()
        assert found
        assert found in wanted or wanted in found, found
