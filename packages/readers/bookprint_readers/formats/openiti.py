"""OpenITI mARkdown: Islamicate texts with metadata and tags at page ends (mARkdown scheme, 2022)."""

import re

from bookprint_core.book_rules import known_labels
from bookprint_core.errors import UnsupportedFormat
from bookprint_core.model import Metadata
from bookprint_readers.extraction import Extraction, description, identifier
from bookprint_readers.source import Source
from bookprint_readers.syntax.encoding import decoded

NAME = "openiti"

_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*#{4,6} ?OpenITI#")
_HEADER_END = re.compile(r"^#META#Header#End#.*$", re.MULTILINE)
_EMPTY = re.compile(r"NODATA|NOTGIVEN|NOCODE|[-\s]*", re.IGNORECASE)
_PAGE_END = re.compile(r"PageV(\d+)P(\d+[AB]?)")
"""Tag at the end of a page; V00P000 if the number is unknown."""

_MARKS = re.compile(
    r"^(?:#{3}[ \t]*(?:\|[A-Z]+\||\|+|\$+(?:[A-Z_]+\$)?)|#{1,2}(?:[ \t]*\$[A-Z_]*\$?)?|~~)[ \t]*"  # of a line
    r"|\bms[A-Z]?\d{1,6}\b"  # a milestone after 300 words
    r"|%~?%|(?<!\w)%(?!\w)"  # between halves of a verse
    r"|@[A-Z]{2,4}(?:@|\d+\b)?|\bY[BDY]?\d{1,4}Y?\b(?=[ \t]*$)",  # quotations, names and dates
    re.MULTILINE,
)
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
"""Year of the common era. Years of the Hijra are below 1500."""


def recognises(head: bytes) -> bool:
    """Return whether a file starts with the mark of mARkdown."""
    return _START.match(head) is not None


def read(source: Source) -> Extraction:
    """Return the pages without tags. Text after the last tag is a page, too. Raises UnsupportedFormat."""
    found = decoded(source.read_text())
    if found is None:
        raise UnsupportedFormat(f"{source.name} starts as OpenITI mARkdown does, but its bytes are not text.")
    header, *body = _HEADER_END.split(found.text.replace("\r\n", "\n"), maxsplit=1)
    text = body[0] if body else header.partition("\n")[2]
    first, *rest = _PAGE_END.split(text)
    # `rest` repeats three strings: volume, page number, and text of the next page.
    pages = [
        "\n".join(filter(None, map(str.strip, _MARKS.sub("", page).split("\n"))))
        for page in [first, *rest[2::3]]
    ]
    volumes, numbers = [[part.lstrip("0") for part in rest[start::3]] for start in (0, 1)]
    several = len({*volumes} - {""}) > 1
    labels = [
        f"{volume}:{number}" if several and number else number or None
        for volume, number in zip(volumes, numbers, strict=True)
    ]
    if not rest or any(map(str.isalnum, pages[-1])):
        labels.append(None)
    else:
        pages.pop()
    if len(pages) > 1 and not pages[0] and labels[0] is None:
        del pages[0], labels[0]  # a text may begin with a tag that ends no page
    return Extraction(
        NAME,
        pages,
        paginated=bool(rest),
        metadata=_metadata(header if body else ""),
        labels=known_labels(labels),
        warnings=found.warnings,
    )


def _metadata(header: str) -> Metadata:
    fields: dict[str, str] = {}
    for line in header.split("\n"):
        name, _, value = line.removeprefix("#META#").partition(":")
        value = value.strip(": \t")
        if not _EMPTY.fullmatch(value):
            fields.setdefault("".join(filter(str.isalpha, name.casefold())), value)
    years = _YEAR.findall(" ".join(fields.get(name, "") for name in ("edyear", "ednumber", "edall")))
    return description(
        title=fields.get("booktitle") or fields.get("title"),
        authors=[fields.get("authorname") or fields.get("authoraka") or fields.get("author")],
        date=years[0] if years else None,
        volume=fields.get("edvolume"),
        identifiers=[
            identifier("openiti", fields.get("bookuri", "").lstrip("#")),
            identifier("isbn", fields.get("edisbn")),
        ],
    )
