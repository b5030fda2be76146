"""XML as libraries write it, read as a stream without entities, networks or huge trees (lxml)."""

from collections.abc import Iterator
from contextlib import contextmanager

from lxml import etree

from app.core.errors import BrokenFile
from app.readers.source import Source

Element = etree._Element

_PART = 1 << 10


def root_name(head: bytes) -> str | None:
    """The local name of the document's element, from the first bytes of a file; None where it is no XML."""
    parser = etree.XMLPullParser(events=("start",), resolve_entities=False, no_network=True, recover=True)
    head = head.lstrip()
    try:
        for start in range(0, len(head), _PART):
            parser.feed(head[start : start + _PART])
            for _, element in parser.read_events():
                assert isinstance(element, Element)  # the event is "start"
                return local_name(element)
    except (etree.XMLSyntaxError, UnicodeDecodeError):
        pass  # what is repaired may be halves of surrogate pairs
    return None


def local_name(element: Element) -> str:
    """The name of an element without its namespace; empty for comments and processing instructions."""
    tag: object = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def elements(source: Source, *names: str) -> Iterator[Element]:
    """The elements of these local names, each whole when it comes and emptied when the next one is asked for.

    Elements must not contain one another. Raises BrokenFile where the XML is not well-formed.
    """
    with source.opened() as stream, broken_named(source.name):
        events = etree.iterparse(
            stream,
            events=("end",),
            tag=[f"{{*}}{name}" for name in names],
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
        )
        for _, element in events:
            yield element
            element.clear(keep_tail=True)
            while element.getprevious() is not None:
                del element.getparent()[0]  # what is behind would pile up for the whole file


def document(source: Source) -> Element:
    """The document's element with all that is in it, for files that are small beside a book.

    Raises BrokenFile where the XML is not well-formed.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    with source.opened() as stream, broken_named(source.name):
        return etree.parse(stream, parser).getroot()


@contextmanager
def broken_named(name: str) -> Iterator[None]:
    """Turn errors of the parser into BrokenFile."""
    try:
        yield
    except etree.XMLSyntaxError as exc:
        if getattr(exc, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from exc
        raise BrokenFile(f"{name} is not well-formed XML: {exc.msg}.") from exc
