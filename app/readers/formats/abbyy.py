"""ABBYY FineReader XML, versions 6 to 10: pages of recognised text, one element for each character.

A document of one page may have `page` as its root. White space within `charParams` is a space of the text,
white space between them is none (FineReader_xml schema, CharParamsType).
"""

import re

from app.readers.extraction import Extraction
from app.readers.source import Source
from app.readers.syntax.xml import Element, elements, local_name

NAME = "abbyy"
ROOTS = ("document", "page")
"""Names of the document's element, which other formats use, too."""

_SIGN = re.compile(
    rb"abbyy|FineReader|\bblockType\s*=|<(?:\w+:)?charParams\b|\boriginalCoords\s*=", re.IGNORECASE
)


def recognises(head: bytes) -> bool:
    """Whether a document with one of ROOTS is FineReader's."""
    return _SIGN.search(head.replace(b"\0", b"")) is not None


def read(source: Source) -> Extraction:
    """The pages of the file, blank ones too; raises BrokenFile."""
    pages = ["\n".join(map(_line, page.iter("{*}line"))) for page in elements(source, "page")]
    return Extraction(NAME, pages, paginated=True, printed_lines=True)


def _line(line: Element) -> str:
    parts: list[str] = []
    for formatting in line:
        if len(formatting) == 0:
            parts.append(formatting.text or "")
        else:
            parts.extend(_character(child) for child in formatting if local_name(child) == "charParams")
    return " ".join("".join(parts).split())


def _character(element: Element) -> str:
    """The character; an empty element is a space from which a program has taken the white space."""
    text = element.text or ""
    # Variants of the recognition stand before the character or behind it.
    return text.strip() or "".join(child.tail or "" for child in element).strip() or " "
