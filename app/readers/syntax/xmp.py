"""XMP: the properties that a file states of itself, found by scanning it for their packet.

A packet can be found without knowing the file's format (XMP specification, part 1, section 7.3).
"""

from collections.abc import Iterator, Mapping

from app.core.errors import BrokenFile
from app.readers.source import Source
from app.readers.syntax.xml import document, local_name

_BEGIN, _END = b"<?xpacket begin", b"<?xpacket end"

_OF_A_PDF = (b"ns.adobe.com/pdf/", b"application/pdf")
"""What tells the packet of a PDF from those of the pictures in it."""

_LONGEST = 1 << 20
"""Bytes of a packet."""


def pdf_properties(source: Source) -> Mapping[str, tuple[str, ...]]:
    """The values of each property of a PDF by its local name, as "title"; empty without a packet."""
    last = None
    for packet in _packets(source):
        if any(mark in packet for mark in _OF_A_PDF):
            last = packet  # since changes are appended to a PDF
    if last is None:
        return {}
    try:
        root = document(Source.of_bytes(last, source.name))
    except BrokenFile:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for description in root.iter("{*}Description"):
        for name, value in description.attrib.items():
            found.setdefault(str(name).rpartition("}")[2], (str(value),))
        for element in description:
            texts = (str(text).strip() for text in element.itertext())
            found.setdefault(local_name(element), tuple(filter(None, texts)))
    return found


def _packets(source: Source) -> Iterator[bytes]:
    held = b""
    with source.opened() as stream:
        while part := stream.read(_LONGEST):
            held += part
            position = 0
            while (start := held.find(_BEGIN, position)) >= 0 and (end := held.find(_END, start)) >= 0:
                yield held[start:end]
                position = end
            begun = start >= 0 and len(held) - start <= _LONGEST
            held = held[start:] if begun else held[1 - len(_BEGIN) :]
