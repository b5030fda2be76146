"""Plain text: one book a file, U+000C between its pages, the title taken from the file's name.

The encoding is that of the byte order mark, else UTF-8. Other encodings are refused, never guessed: a wrong
guess turns letters into other letters, and the book would not be found again.
"""

import codecs
from collections.abc import Iterator
from pathlib import Path

from app.core.errors import InvalidInput, InvalidText
from app.core.model import Metadata, Submission
from app.core.text.content import content_from_text
from app.readers.record import Record

LARGEST_FILE = 1 << 29
"""Bytes; a larger file is not one book."""

# Longest first: the mark of UTF-32 little-endian starts with that of UTF-16 little-endian.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(data: bytes) -> str:
    """The text of a file; raises InvalidText where the bytes are not in the encoding of their mark."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as exc:
        raise InvalidText(
            f"Not {encoding.removesuffix('-sig').upper()} at byte {exc.start}. Convert a text in another "
            "encoding first, for example: iconv -f ISO-8859-1 -t UTF-8 OLD > NEW"
        ) from exc


def submission(data: bytes, name: str) -> Submission:
    """The book in a text file called `name`; raises InvalidInput."""
    return Submission(Metadata(title=title_of(name)), content_from_text(decode(data)))


def title_of(name: str) -> str | None:
    """The file's name without folder and suffix, underscores as spaces; None where nothing is left."""
    readable = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return " ".join(Path(readable).stem.replace("_", " ").split()) or None


def read(path: Path) -> Iterator[Record]:
    """The one book of a text file."""
    size = path.stat().st_size
    if size > LARGEST_FILE:
        too_large = InvalidInput(f"{size:,} bytes are too many for one book. Split the file.")
        yield Record(str(path), size, too_large)
        return
    try:
        yield Record(str(path), size, submission(path.read_bytes(), path.name))
    except InvalidInput as exc:
        yield Record(str(path), size, exc)
