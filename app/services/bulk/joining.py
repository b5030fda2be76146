"""MARC records joined with the texts of their books: files in a folder that are named after the records."""

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from urllib.parse import unquote, urlsplit

from app.catalog.marc import forms
from app.catalog.marc.description import metadata_of
from app.catalog.marc.forms import NumberedRecord
from app.catalog.marc.record import InvalidRecord, MarcRecord
from app.catalog.marc.values import plain
from bookprint_core.errors import InvalidInput, NoText
from bookprint_readers.files import BookFiles
from bookprint_readers.source import gunzipped
from bookprint_readers.unread import Unread, Unreadable, UnreadFile

_SUFFIX = re.compile(r"\.[A-Za-z]\w{0,7}$")
_HEAD_BYTES = 1 << 12
_SHOWN = 5
"""Maximum number of names of a record in a refusal."""


def joined(paths: Iterable[str], texts: BookFiles) -> Iterator[Unread]:
    """Yield the books of the records in some files, each with the text named after the record.

    Texts that no record names follow at the end, as unreadable books. Records are read one at a time.
    """
    names = _Names.of(texts)
    taken: dict[str, str] = {}
    ends = dict(zip(texts.sizes, accumulate(texts.sizes.values()), strict=True))
    position = 0
    for path in paths:
        for numbered in _records_in(path):
            if isinstance(numbered, InvalidInput):
                yield Unreadable(path, "", position, numbered)
                continue
            part = f"record {numbered.number}"
            try:
                text = names.text_of(numbered)
                if text in taken:
                    raise InvalidInput(f"Its text {text} belongs to {taken[text]} already.")
            except InvalidInput as exc:
                yield Unreadable(path, part, position, exc)
                continue
            taken[text] = f"{part} of {path}"
            position = max(position, ends[text])
            yield _book(text, position, numbered)
    for text in texts.sizes:
        if text not in taken and text not in names.disputed:
            reason = InvalidInput("No record names this text in 001, 024, 035 or 856 $u.")
            yield Unreadable(text, "", texts.size, reason)


def names_of(record: MarcRecord) -> Iterator[str]:
    """Yield the possible names of a record's text: 001, 035, 024, and the last parts of URLs in 856 $u."""
    yield plain(record.control("001") or "")
    for tag in ("035", "024"):
        for given in record.data(tag):
            for value in map(plain, given.values("a")):
                yield from (value, value.rpartition(")")[2].strip(), value.rpartition("/")[2])
    for given in record.data("856"):
        for address in given.values("u"):
            last = unquote(urlsplit(address).path.rstrip("/").rpartition("/")[2])
            yield from (last, _SUFFIX.sub("", last))


@dataclass(slots=True)
class _Names:
    """The texts by their names, with and without suffixes."""

    paths: dict[str, list[str]] = field(default_factory=dict)
    disputed: set[str] = field(default_factory=set)  # texts that share the name of a record

    @classmethod
    def of(cls, texts: BookFiles) -> "_Names":
        names = cls()
        for path in texts.sizes:
            name = os.path.basename(path)
            bare = _SUFFIX.sub("", name.removesuffix(".gz"))
            for each in dict.fromkeys((name, name.removesuffix(".gz"), bare)):
                names.paths.setdefault(each, []).append(path)
        return names

    def text_of(self, numbered: NumberedRecord) -> str:
        """Return the text of a record; raises InvalidInput for a damaged record, or unless one text fits."""
        if isinstance(numbered.record, InvalidRecord):
            raise numbered.record
        names = [name for name in dict.fromkeys(names_of(numbered.record)) if name]
        for name in names:
            found = self.paths.get(name, [])
            if len(found) == 1:
                return found[0]
            if found:
                self.disputed.update(found)
                raise InvalidInput(f"Several texts are called {name}: {', '.join(found)}. Keep one of them.")
        shown = ", ".join(names[:_SHOWN]) or "nothing"
        raise NoText(f"No text has a name of this record ({shown}).")


def _records_in(path: str) -> Iterator[NumberedRecord | InvalidInput]:
    """Yield the records of a file; if it cannot be read to its end, the reason follows as the last item."""
    try:
        with open(path, "rb") as raw:
            stream = gunzipped(raw)
            head = stream.read(_HEAD_BYTES)
            stream.seek(0)
            yield from forms.records(stream, forms.format_of(head))
    except (OSError, EOFError, zlib.error) as exc:
        yield InvalidInput(f"The file cannot be read: {exc}.")


def _book(text: str, position: int, numbered: NumberedRecord) -> Unread:
    assert isinstance(numbered.record, MarcRecord)
    return UnreadFile(text, "", position, metadata_of(numbered.record), numbered.source)
