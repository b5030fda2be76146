"""TEI P5 and P4: the text of one book, in pages where `pb` marks them."""

import re
from html.entities import html5
from typing import Any, BinaryIO, cast

from lxml import etree

from app.core.errors import BrokenFile, FileTooLarge, NoText
from app.readers.extraction import Extraction
from app.readers.formats.tei_header import metadata
from app.readers.formats.tei_text import TextTarget
from app.readers.source import Source
from app.readers.syntax.xml import broken_named

NAME = "tei"
ROOTS = ("TEI", "TEI.2", "teiCorpus", "teiCorpus.2")

LARGEST = 1 << 26
"""Bytes of the text of one book with its tags."""

_PART = 1 << 16
_LONGEST_ENTITY = 64
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]*;)")
_PREDEFINED = frozenset((b"amp;", b"lt;", b"gt;", b"quot;", b"apos;"))


def read(source: Source) -> Extraction:
    """The text of the file, with pages if `pb` stands in it.

    Raises BrokenFile, SeveralBooks, FileTooLarge, and NoText where there is no `text` element.
    """
    if source.size > LARGEST:
        raise FileTooLarge(f"{source.name} has more than {LARGEST:,} bytes. Split it into its books.")
    target = TextTarget()
    parser = etree.XMLParser(
        target=cast(Any, target),
        resolve_entities=cast(Any, "internal"),
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    with source.opened() as stream, broken_named(source.name):
        try:
            _feed(parser, stream)
        except ValueError as exc:  # lxml refuses names in the header that its parser lets pass
            raise BrokenFile(f"{source.name} is not well-formed XML: {exc}.") from exc
    if not target.texts:
        raise NoText(f"{source.name} is a TEI file without a text. Send the file that holds the text.")
    found = target.pages()
    return Extraction(
        NAME,
        found.pages,
        found.paginated,
        printed_lines=target.has_printed_lines,
        metadata=metadata(target.header, target.language),
        labels=found.labels,
    )


def _feed(parser: etree.XMLParser, stream: BinaryIO) -> None:
    rest = b""
    while part := stream.read(_PART):
        head, mark, tail = (rest + part).rpartition(b"&")
        # The last entity may go on in the next part.
        rest = mark + tail if len(tail) < _LONGEST_ENTITY and b";" not in tail else b""
        parser.feed(_with_characters(head if rest else head + mark + tail))
    parser.feed(rest)
    parser.close()


def _with_characters(data: bytes) -> bytes:
    """The XML with the named characters that TEI P4 takes from DTDs, which are not loaded."""
    return _ENTITY.sub(_character, data) if b"&" in data else data


def _character(entity: re.Match[bytes]) -> bytes:
    if entity[1] in _PREDEFINED:
        return entity[0]
    characters = html5.get(entity[1].decode("ascii"), "")
    return "".join(f"&#{ord(character)};" for character in characters).encode() or entity[0]
