"""JSON Lines, plain or compressed with gzip: one book per line.

Fields with metadata: `id` or `external_id`, `title`, `author` or `authors`, `lang` or `language`, `year`,
`volume`, `identifiers`, `collection` (a string) and `page_labels`. The content is the first of `datasketch`
(a MinHash), `pages` (list of page texts), `text`, `signatures` and `identifier` (bp1:… or bp2:…) that is not
null. A line that `bookprint sign` prints contains only signatures: a book without text. Other fields are
ignored.
"""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from bookprint_core.book_rules import checked_labels
from bookprint_core.errors import BrokenFile, InvalidInput, InvalidText
from bookprint_core.metadata import FIELDS, metadata_from
from bookprint_core.model import Content, Metadata, PageLabels, Sketch, Submission
from bookprint_core.signatures import json_codec, lean_minhash
from bookprint_core.signatures.identifier import decode, known_by
from bookprint_core.text.content import content_from_pages, content_from_text
from bookprint_readers.source import gunzipped

LONGEST_LINE = 1 << 29
"""Maximum length of a line, in bytes."""

BEGINNING = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:')
"""First bytes of an object with a key. A text or RTF file may begin with a brace, too."""

_CONTENTS = ("pages", "text", "signatures")
_SIGNATURE_FIELDS = {"fingerprint", "minhash", "word_count", "character_count"}


@dataclass(frozen=True, slots=True)
class BookLine:
    """A line of a file, or the reason why it cannot be read."""

    number: int  # from 1
    position: int  # bytes of the file up to the end of the line
    data: bytes | InvalidInput
    start: int | None = None  # offset of the line in the file, in bytes; None in a compressed file


def submission(line: bytes) -> Submission:
    """Return the book that a line describes. Raises InvalidInput, which names the field."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as exc:
        raise InvalidText(f"Not JSON: {exc}") from exc
    if not isinstance(fields, dict):
        raise InvalidInput("Not a JSON object: a line holds one book as {…}.")
    if fields.keys() >= _SIGNATURE_FIELDS:
        return Submission(sketch=json_codec.decode(fields))
    if isinstance(datasketch := fields.get("datasketch"), dict):
        return Submission(_metadata(fields), sketch=lean_minhash.decode(datasketch))
    identifier = _string(fields, "identifier")
    if identifier is not None and not any(fields.get(name) is not None for name in _CONTENTS):
        return known_by(decode(identifier), _metadata(fields))
    content, sketch = _content_or_sketch(fields)
    return Submission(_metadata(fields), content, sketch, _page_labels(fields, content or sketch))


def lines(path: Path) -> Iterator[BookLine]:
    """Yield the lines of a file of any size, one at a time, without blank lines."""
    with path.open("rb") as raw:
        yield from lines_in(raw)


def lines_in(raw: BinaryIO, longest: int = LONGEST_LINE) -> Iterator[BookLine]:
    """Yield the lines of an open file, without blank lines. `longest` is the maximum length in bytes."""
    stream = gunzipped(raw)
    number = 0
    try:
        for number, line in enumerate(_lines(stream, longest), start=1):
            if line is None:
                too_long = InvalidInput(f"The line is longer than {longest:,} bytes.")
                yield BookLine(number, raw.tell(), too_long)
            elif line.strip():
                data, end = line.removeprefix(b"\xef\xbb\xbf"), raw.tell()
                yield BookLine(number, end, data, end - len(data) if stream is raw else None)
    except (EOFError, zlib.error, gzip.BadGzipFile) as exc:
        broken = BrokenFile(f"The compressed file is damaged from here on: {exc}")
        yield BookLine(number + 1, raw.tell(), broken)


def _lines(stream: BinaryIO, longest: int) -> Iterator[bytes | None]:
    """Yield the lines. None replaces a line that is too long, which is skipped in parts."""
    while line := stream.readline(longest + 1):
        if len(line) <= longest:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(longest)
        yield None


def _metadata(fields: Mapping[str, object]) -> Metadata:
    values: dict[str, Any] = {
        each.name: _READ[each.kind](fields, each.name) for each in FIELDS if each.name not in _READ_APART
    }
    if "language" not in fields:
        values["language"] = _string(fields, "lang")
    if values["authors"] is None and (author := _string(fields, "author")):
        values["authors"] = (author,)
    own_id = fields.get("id", fields.get("external_id"))
    if isinstance(own_id, int) and not isinstance(own_id, bool):
        own_id = str(own_id)
    values["external_id"] = _string({"id": own_id}, "id")
    collection = fields.get("collection")
    values["collection"] = collection if isinstance(collection, str) else None
    return metadata_from(values)


def _content_or_sketch(fields: Mapping[str, object]) -> tuple[Content | None, Sketch | None]:
    pages = _strings(fields, "pages")
    if pages is not None:
        return content_from_pages(pages), None
    text = _string(fields, "text")
    if text is not None:
        return content_from_text(text), None
    signatures = fields.get("signatures")
    if isinstance(signatures, dict):
        return None, json_codec.decode(signatures)
    if signatures is None:
        raise InvalidInput(
            "A book needs `text` or `pages`, or `signatures` or its `identifier` instead.", "text"
        )
    raise InvalidInput(f"`signatures` must be an object or null, not {_kind(signatures)}.", "signatures")


def _page_labels(fields: Mapping[str, object], book: Content | Sketch | None) -> PageLabels:
    labels = fields.get("page_labels")
    if labels is None:
        return ()
    if not isinstance(labels, list):
        raise InvalidInput(f"`page_labels` must be a list or null, not {_kind(labels)}.", "page_labels")
    for index, label in enumerate(labels):
        _string({f"page_labels[{index}]": label}, f"page_labels[{index}]")
    # As in the HTTP API, `text` allows no labels, even if form feeds divide it.
    has_pages = fields.get("pages") is not None or isinstance(book, Sketch)
    return checked_labels(labels, book.page_count if book is not None and has_pages else None)


def _number(fields: Mapping[str, object], name: str) -> int | None:
    value = fields.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InvalidInput(f"`{name}` must be a whole number or null, not {_kind(value)}.", name)


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
    """Return JSON's name for the value's type."""
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "null" if value is None else "an object")


_READ: Mapping[type, Callable[[Mapping[str, object], str], object]] = {
    str: _string,
    int: _number,
    tuple: _strings,
}
"""Reader of a field, by the type of its value."""

_READ_APART = ("external_id", "collection")
