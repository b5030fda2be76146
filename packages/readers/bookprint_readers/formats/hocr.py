"""hOCR 1.2, as HTML or XHTML: pages of recognised text, read with HTML's own tolerance for damage.

Each page is read alone. A file of any size needs the memory of one page, and damage affects only its page.
"""

import codecs
import re
from collections import defaultdict
from collections.abc import Iterator

from bookprint_core.model import Metadata
from bookprint_readers.extraction import Extraction, description, identifier
from bookprint_readers.source import Source
from bookprint_readers.syntax.encoding import MARKS
from bookprint_readers.syntax.tags import end_of, tags

NAME = "hocr"

_SIGN = re.compile(
    rb"<[^<>]*\b(?:ocr_page|ocr_line|ocrx_word|ocr_carea|ocrx_block|ocr-system|ocr-capabilities)\b",
    re.IGNORECASE,
)
_PAGE_CLASS = re.compile(r"ocr_page(?![\w-])")
_CLASS_BEFORE = re.compile(r"""\sclass\s*+=\s*+(?:"(?:[^"]*\s)?|'(?:[^']*\s)?)?\Z""", re.IGNORECASE)
_LONGEST_CLASS = 200
_LONGEST_TAG = 4096
_CHARACTER = "ocrx_cinfo"
_BEFORE_CHARACTER = re.compile(r"(?<=>)\s++(?=<[^<>]*\bocrx_cinfo\b)")
_PART = 1 << 20

_CLASS = re.compile(
    r"\b(?:(x?ocrx?_word)|ocrx?_line|ocr_(?:header|footer|caption|textfloat|pageno|par|carea)|ocrx_block)(?![\w-])"
)
_BLOCKS = frozenset(("br", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "p", "pre", "td", "tr"))
_LEFT_OUT = ("title", "del")  # `del` contains less likely readings
_LINE_BREAK = "\u2028"  # unlike U+000A it is not a blank of the source

_SCHEME = re.compile(r"\s*(?:urn:)?(?!https?:)([a-z]+):", re.IGNORECASE)

_DECLARED = re.compile(
    rb"<(?:\?xml|meta)\b[^<>]*?\b(?:encoding|charset)\s*+=\s*+[\"']?+\s*+([\w.:-]+)", re.IGNORECASE
)
_READABLE = re.compile(
    r"utf-?8|iso[-_]?(?:8859|2022)|windows|cp\d|ibm\d|koi8|kz|mac|big5|gb|shift|euc|tis|johab|hz"
)
"""Names of text encodings. Python also has codecs that are not for texts."""


def recognises(head: bytes) -> bool:
    """Return whether HTML contains or announces elements of hOCR's classes (hOCR 1.2, section 12)."""
    return _SIGN.search(head.replace(b"\0", b"")) is not None


def read(source: Source) -> Extraction:
    """Return the lines of every page, including blank pages."""
    encoding = _encoding(source.head())
    chunks = _chunks(source, encoding)
    beginning = next(chunks)
    pages, damaged = [], False
    for chunk in chunks:
        pages.append(_text(chunk))
        damaged = damaged or "\ufffd" in chunk
    return Extraction(
        NAME,
        pages or [_text(beginning)],  # a file without page elements is one page
        paginated=True,
        printed_lines=True,
        metadata=_metadata(beginning),
        warnings=[f"Some bytes are not {encoding}; U+FFFD stands for them."] if damaged else [],
    )


def _chunks(source: Source, encoding: str) -> Iterator[str]:
    """Yield the text before the first page, then each page up to the tag of the next page."""
    held, position = "", 0
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    with source.opened() as stream:
        while part := stream.read(_PART):
            held += decoder.decode(part)
            start = 0
            # The next character must be read, because it decides whether the class name is complete.
            while (found := _PAGE_CLASS.search(held, position)) and found.end() < len(held):
                position = found.end()
                if not _CLASS_BEFORE.search(held, max(found.start() - _LONGEST_CLASS, 0), found.start()):
                    continue
                tag = held.rfind("<", max(found.start() - _LONGEST_TAG, start), position)
                if tag >= 0 and held[tag + 1].isalpha():
                    yield held[start:tag]
                    start = tag
            position = max(position, len(held) - len("ocr_page")) - start
            held = held[start:]
    yield held + decoder.decode(b"", final=True)


def _text(page: str) -> str:
    if _CHARACTER in page:
        page = _BEFORE_CHARACTER.sub("", page)
    pieces: list[str] = []
    line, depth = "", 0  # name of the line's element, and number of open elements of that name
    row = tags(page)
    for tag in row:
        if tag.name in _LEFT_OUT and not tag.is_end:
            tag = end_of(tag.name, row, pieces)
        if tag.name == line:
            depth += -1 if tag.is_end else not tag.is_empty
            if depth == 0:
                line = ""
                pieces.append(_LINE_BREAK)
        kind = None if tag.is_end else _CLASS.search(tag.inside)
        if kind and kind[1]:
            pieces.append(" ")
        elif kind:
            pieces.append(_LINE_BREAK)
            if not tag.is_empty:
                line, depth = tag.name, 1
        elif tag.name in _BLOCKS:
            pieces.append(_LINE_BREAK)
        pieces.append(tag.text)
    lines = (" ".join(line.split()) for line in "".join(pieces).split(_LINE_BREAK))
    return "\n".join(filter(None, lines))


def _metadata(beginning: str) -> Metadata:
    """Read Dublin Core from `meta` elements: the value is in `content` or, in older files, in `value`."""
    found = defaultdict[str, list[str | None]](list)
    for tag in tags(beginning):
        if tag.name == "meta":
            said = tag.attributes()
            name = re.sub(r"^dc(?:terms)?[.:]", "dc.", said.get("name", "").strip().lower())
            found[name].append(said.get("content") or said.get("value"))
    languages = found["dc.language"] or found["ocr-langs"]
    return description(
        title=next(iter(found["dc.title"]), None),
        authors=found["dc.creator"],
        language=languages[0] if len(languages) == 1 else None,
        date=next(iter(found["dc.date"] or found["dc.issued"]), None),
        identifiers=map(_identifier, found["dc.identifier"] + found["dc.id"]),
    )


def _identifier(value: str | None) -> str | None:
    scheme = _SCHEME.match(value or "")
    return identifier(scheme[1], value) if scheme else None


def _encoding(head: bytes) -> str:
    """Return the declared encoding. Without one, return UTF-8, or cp1252 if the bytes are not UTF-8."""
    for mark, name in MARKS:
        if head.startswith(mark):
            return name
    declared = _DECLARED.search(head)
    name = declared[1].decode("ascii", "replace").lower() if declared else ""
    try:
        if _READABLE.match(name) and codecs.lookup(name).name not in {"iso8859-1", "ascii"}:
            return name
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except LookupError:
        return "utf-8"
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
