"""XML from libraries, read as a stream without entities, network access or huge trees (lxml).

Ill-formed XML is repaired: forbidden characters, bare ampersands, HTML's entities, undeclared prefixes, and
wrong encodings. A truncated file is refused.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html.entities import html5
from itertools import islice

from lxml import etree

from bookprint_core.errors import BrokenFile
from bookprint_readers.source import MOST_TEXT_BYTES, Source
from bookprint_readers.syntax.markup import decoded_markup

Element = etree._Element

_PART = 1 << 10

_BEFORE_ROOT = re.compile(r"\A[^<]*(?:<\?xml\b[^>]*>)?")
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST_FORBIDDEN, _LONGEST_BEFORE_ROOT = 0.01, 200
"""Maximum share of forbidden characters in a text, and maximum characters before its root element."""

_REFERENCE = re.compile(
    r"(<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z))"  # stays unchanged
    r"|&(?:#(?:([0-9]{1,7})|[xX]([0-9a-fA-F]{1,6}));|([A-Za-z][\w.-]{0,30};))?"
    r"|<(?![A-Za-z_/!?])",
    re.DOTALL,
)
_PREDEFINED = ("amp;", "lt;", "gt;", "quot;", "apos;")
_ENTITY = re.compile(r"<!ENTITY\s+([\w.-]+)")
_START = re.compile(r"<((?:[A-Za-z_][\w.-]*:)?[A-Za-z_][\w.-]*)(?=[\s/>])[^<>]*>")
_PREFIX = re.compile(r"(?:<|\s)([A-Za-z_][\w.-]{0,30}):[A-Za-z_][\w.-]*(?=[\s=/>])")
_DECLARATION = re.compile(r"xmlns:([\w.-]+)")
_MOST_PREFIXES, _LONGEST_ROOT = 100, 1 << 14
"""Maximum number of prefixes to declare, and maximum characters of the root's start tag."""

_NAMESPACES = {"xlink": "http://www.w3.org/1999/xlink"}
MENDED = "It was mended and read."
_MOST_NAMED = 5  # pages that a warning names


def root_name(head: bytes) -> str | None:
    """Return the local name of the root element from the first bytes of a file; None if not XML."""
    parser = etree.XMLPullParser(events=("start",), resolve_entities=False, no_network=True, recover=True)
    head = head.lstrip()
    try:
        for start in range(0, len(head), _PART):
            parser.feed(head[start : start + _PART])
            for _, element in parser.read_events():
                assert isinstance(element, Element)  # the event is "start"
                return local_name(element)
    except (etree.XMLSyntaxError, UnicodeDecodeError):
        pass  # recovered names may contain half surrogate pairs
    return None


def local_name(element: Element) -> str:
    """Return an element's name without namespace; empty for comments and processing instructions."""
    tag: object = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def elements(source: Source, *names: str, repairs: list[str]) -> Iterator[Element]:
    """Yield the complete elements with these local names. Each is cleared when the next is requested.

    Elements must not contain one another. Ill-formed XML is mended, with warnings in `repairs`. An element
    that cannot be mended is empty. Raises BrokenFile if the file is truncated, or if most pages (elements
    with the first name) cannot be mended.
    """
    count = 0
    try:
        for element in _streamed(source, names):
            yield element
            count += 1
    except BrokenFile as damage:
        yield from islice(_mended_elements(source, names, damage, repairs), count, None)


def _streamed(source: Source, names: Sequence[str]) -> Iterator[Element]:
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
                del element.getparent()[0]  # otherwise earlier elements would stay in memory


def _mended_elements(
    source: Source, names: Sequence[str], damage: BrokenFile, repairs: list[str]
) -> Iterator[Element]:
    """Yield the elements, each parsed separately within the root's start tag."""
    text = mended(source)
    root = _START.search(text)
    of_names = rf"(?:[\w.-]+:)?({'|'.join(names)})"
    one = re.compile(rf"<{of_names}(?:\s[^<>]*)?(?:/>|>.*</{of_names}\s*>)", re.DOTALL)
    starts = list(re.finditer(rf"<{of_names}(?=[\s/>])", text))
    if (
        root is None
        or len(root[0]) > _LONGEST_ROOT
        or not starts
        or f"</{root[1]}" not in text[starts[-1].start() :]
    ):
        raise damage
    opening, closing = ("", "") if root.start() == starts[0].start() else (root[0], f"</{root[1]}>")
    found: list[tuple[str, Element | None]] = []
    for start, end in zip(starts, [*(start.start() for start in starts[1:]), len(text)], strict=True):
        whole = one.match(text, start.start(), end)
        if whole is None and end == len(text):
            raise damage
        found.append((start[1], whole and _parsed(f"{opening}{whole[0]}{closing}".encode(), start[1])))
    pages = [element for name, element in found if name == names[0]]
    broken = [str(number) for number, element in enumerate(pages, start=1) if element is None]
    if 2 * len(broken) > len(pages):
        raise damage
    repairs.append(f"{damage} {MENDED}")
    if broken:
        listed = ", ".join(broken[:_MOST_NAMED]) + (", …" if len(broken) > _MOST_NAMED else "")
        repairs.append(f"{len(broken):,} pages of {source.name} are too damaged and left blank: {listed}.")
    yield from (etree.Element(name) if element is None else element for name, element in found)


def _parsed(data: bytes, name: str) -> Element | None:
    try:
        root = etree.fromstring(data, _parser(recover=False))
    except etree.XMLSyntaxError:
        return None
    return next(root.iter(f"{{*}}{name}"), None)


def document(source: Source, repairs: list[str]) -> Element:
    """Return the root element with its whole tree, for files that are much smaller than a book.

    Ill-formed XML is mended, with a warning in `repairs`. Parts that cannot be mended or were cut off are
    left out. Raises BrokenFile if no element is found.
    """
    try:
        with source.opened() as stream, broken_named(source.name):
            return etree.parse(stream, _parser(recover=False)).getroot()
    except BrokenFile as damage:
        text = mended(source).encode()
        with broken_named(source.name):
            root: Element | None = etree.fromstring(text, _parser(recover=True)) if text else None
        if root is None:
            raise
        repairs.append(f"{damage} {MENDED}")
        return root


def _parser(*, recover: bool) -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=recover
    )


def mended(source: Source) -> str:
    """Return the text of an XML file from its DOCTYPE or root on, mended except for unbalanced tags.

    The result is empty if the file is not text, is too long, or contains too many forbidden characters.
    """
    found = decoded_markup(source) if source.size <= MOST_TEXT_BYTES else None
    if found is None:
        return ""
    text = _FORBIDDEN.sub("", _BEFORE_ROOT.sub("", found.text, count=1))
    if len(found.text) - len(text) > _MOST_FORBIDDEN * len(text) + _LONGEST_BEFORE_ROOT:
        return ""
    declared = {f"{name};" for name in _ENTITY.findall(text)}.union(_PREDEFINED)

    def reference(found: re.Match[str]) -> str:
        kept, decimal, hexadecimal, name = found.groups()
        if kept or name in declared:
            return found[0]
        if decimal or hexadecimal:
            number = int(decimal) if decimal else int(hexadecimal, 16)
            return "" if number > 0x10FFFF or _FORBIDDEN.match(chr(number)) else found[0]
        if name in html5:
            return "".join(f"&#{ord(character)};" for character in html5[name])
        return "&lt;" if found[0] == "<" else f"&amp;{found[0][1:]}"

    text = _REFERENCE.sub(reference, text)
    root = _START.search(text)
    if root is None:
        return text
    prefixes = {*_PREFIX.findall(text)} - {"xml", "xmlns", *_DECLARATION.findall(text)}
    namespaces = (
        f' xmlns:{prefix}="{_NAMESPACES.get(prefix, f"urn:{prefix}")}"'
        for prefix in sorted(prefixes)[:_MOST_PREFIXES]
    )
    return text[: root.end(1)] + "".join(namespaces) + text[root.end(1) :]


@contextmanager
def broken_named(name: str) -> Iterator[None]:
    """Convert the parser's errors into BrokenFile."""
    try:
        yield
    except etree.XMLSyntaxError as exc:
        if getattr(exc, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from exc
        raise BrokenFile(f"{name} is not well-formed XML: {exc.msg}.") from exc
