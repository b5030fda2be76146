"""JSON Lines, plain or compressed with gzip: one book a line.

Fields: `id` (kept as external_id), `title`, `author` or `authors`, `lang` or `language`, `year`, `volume`,
`identifiers`, and `pages` (list of page texts) or, where that is null or absent, `text`. Others are ignored.
"""

import gzip
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, cast

import orjson

from app.core.errors import InvalidInput, InvalidText
from app.core.model import Content, Metadata, Submission
from app.core.text.content import content_from_pages, content_from_text
from app.readers.record import Record

LONGEST_LINE = 1 << 29
"""Bytes; a longer line is not one book."""


def submission(line: bytes) -> Submission:
    """The book that one line describes; raises InvalidInput that names the field."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as exc:
        raise InvalidText(f"Not JSON: {exc}") from exc
    if not isinstance(fields, dict):
        raise InvalidInput("Not a JSON object: a line holds one book as {…}.")
    return Submission(_metadata(fields), _content(fields))


def read(path: Path) -> Iterator[Record]:
    """The books of a file of any size, one at a time; a blank line is no book."""
    with path.open("rb") as raw:
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if path.suffix.lower() == ".gz" else raw
        number = 0
        try:
            for number, line in enumerate(_lines(stream), start=1):
                if line is not None and not line.strip():
                    continue
                yield Record(f"{path}, line {number}", raw.tell(), _book(line))
        except (EOFError, zlib.error, gzip.BadGzipFile) as exc:
            broken = InvalidInput(f"The compressed file is damaged from here on: {exc}")
            yield Record(f"{path}, line {number + 1}", raw.tell(), broken)


def _book(line: bytes | None) -> Submission | InvalidInput:
    if line is None:
        return InvalidInput(f"The line is longer than {LONGEST_LINE:,} bytes.")
    try:
        return submission(line)
    except InvalidInput as exc:
        return exc


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """The lines; None for one that is too long, which is passed over without being held."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) <= LONGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_LINE)
        yield None


def _metadata(fields: Mapping[str, object]) -> Metadata:
    external_id = fields.get("id")
    if isinstance(external_id, int) and not isinstance(external_id, bool):
        external_id = str(external_id)
    return Metadata(
        title=_string(fields, "title"),
        authors=_authors(fields),
        language=_string(fields, "language" if "language" in fields else "lang"),
        year=_year(fields),
        volume=_string(fields, "volume"),
        external_id=_string({"id": external_id}, "id"),
        identifiers=_strings(fields, "identifiers") or (),
    )


def _content(fields: Mapping[str, object]) -> Content:
    pages = _strings(fields, "pages")
    if pages is not None:
        return content_from_pages(pages)
    text = _string(fields, "text")
    if text is None:
        raise InvalidInput("A book needs `text` or `pages`.", "text")
    return content_from_text(text)


def _authors(fields: Mapping[str, object]) -> tuple[str, ...]:
    authors = _strings(fields, "authors")
    if authors is not None:
        return authors
    author = _string(fields, "author")
    return (author,) if author else ()


def _year(fields: Mapping[str, object]) -> int | None:
    year = fields.get("year")
    if year is None or (isinstance(year, int) and not isinstance(year, bool)):
        return year
    raise InvalidInput(f"`year` must be a whole number or null, not {_kind(year)}.", "year")


def _string(fields: Mapping[str, object], name: str) -> str | None:
    value = fields.get(name)
    if value is None or isinstance(value, str):
        return value
    raise InvalidInput(f"`{name}` must be a string or null, not {_kind(value)}.", name)


def _strings(fields: Mapping[str, object], name: str) -> tuple[str, ...] | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, list):
        raise InvalidInput(f"`{name}` must be a list of strings or null, not {_kind(value)}.", name)
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise InvalidInput(f"`{name}[{index}]` must be a string, not {_kind(item)}.", f"{name}[{index}]")
    return tuple(value)


def _kind(value: object) -> str:
    """JSON's name for the value's type."""
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "null" if value is None else "an object")
