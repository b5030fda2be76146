"""HTML and XHTML as a row of tags, each with the text behind it; no tree is built.

A tree costs a parser of HTML time and memory by the square of what a hostile file holds, since elements are
moved and opened anew. A row of tags is read in time and memory that grow with its length alone. The tree of
libxml2 also loses what books have: the lines that end tags without a start begin, and all text behind a
`title`, `select` or `svg` that does not end.

EPUB's canonical fragment identifiers (EPUB CFI 1.1) name places in it.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from operator import attrgetter
from typing import NamedTuple

VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
"""Elements without content."""

NOTE_NUMBER = re.compile(r"\s*[\[(]?\d{1,4}[a-z]?[\])]?\s*")
"""Marks of references to notes, which are separated from the word before."""

_READINGS = ("rp", "rt")
_IN_RUBY = ("rb", "rtc", "ruby", *_READINGS)  # tags that end a reading, since its own end may be left out
_RAW = ("iframe", "script", "style", "textarea")  # elements in which no tags stand

# Every branch takes what its start promises, to the end of the file if need be: none goes back.
_INSIDE = r"""(?:[^>=]++|=\s*+(?:"[^"]*+"?|'[^']*+'?)?)*+"""
_TAG = re.compile(
    "<(?:"
    + "".join(rf"(?i:{name})(?=[\s/>]){_INSIDE}(?<!/)>.*?(?:</(?i:{name})[^>]*+>?|\Z)|" for name in _RAW)
    + rf"(/?)([a-zA-Z][^\s/>]*+)({_INSIDE})>?"
    + r"|!--(?:-?>|.*?(?:--!?>|\Z))"
    + r"|[!?/][^>]*+>?"
    + ")",
    re.DOTALL | re.ASCII,
)
_ATTRIBUTE = re.compile(r"""([^\s=/>"']++)(?:\s*+=\s*+(?:"([^"]*+)"?|'([^']*+)'?|([^\s>"']++)))?""", re.ASCII)
_new = tuple.__new__  # since a million tags are made

_STEP = re.compile(r"/(\d{1,6})(?:\[([^\]]*)\])?")
_PATH = r"(?:[^,\[]++|\[[^\]]*+\]?)*+"
_RANGE = re.compile(f"({_PATH}),({_PATH}),{_PATH}")
"""Parent path, start and end; commas within assertions do not count."""

_ASSERTION = re.compile(r"\[[^\]]*\]")
_LONGEST_CFI = 2_000
_OFFSET = re.compile(r":(\d{1,9})")


class Tag(NamedTuple):
    """A tag and the text up to the next one; before the first tag stands one without a name."""

    name: str  # in lower case; empty for comments and the like
    is_end: bool
    inside: str  # what stands behind the name, as it is written
    text: str  # with characters for references

    @property
    def is_empty(self) -> bool:
        """Whether it is the start of an element without content, as XHTML writes it or HTML knows it."""
        return self.inside.endswith("/") or self.name in VOID

    def attributes(self) -> Mapping[str, str]:
        """Return the values by the names in lower case; of two of one name the first."""
        found: dict[str, str] = {}
        for name, *values in _ATTRIBUTE.findall(self.inside):
            found.setdefault(name.lower(), characters("".join(values)))
        return found


def tags(markup: str) -> Iterator[Tag]:
    """Yield the tags of a document in order (HTML standard, section 13.2.5).

    Scripts, styles and the like are one tag without a name, and none of the text.

    >>> [tag.text for tag in tags("a<b>c &amp; d<script>x</script>e")]
    ['a', 'c & d', 'e']
    """
    parts = iter(("", "", "", *_TAG.split(markup)))
    for slash, name, inside, text in zip(parts, parts, parts, parts, strict=True):
        yield _new(Tag, ((name or "").lower(), slash == "/", inside or "", characters(text)))


def end_of(name: str, row: Iterator[Tag], pieces: list[str]) -> Tag:
    """Return the tag that ends an element whose text is left out; of one that never ends the text is kept."""
    depth, passed = 1, []
    for tag in row:
        if name in _READINGS:
            depth -= tag.name in _IN_RUBY
        elif tag.name == name:
            depth += -1 if tag.is_end else not tag.is_empty
        if depth == 0:
            return tag
        passed.append(tag.text)
    pieces += passed
    return Tag("", True, "", "")


def characters(text: str) -> str:
    """Return the text with characters for references to them."""
    if "&" not in text:
        return text
    try:
        return unescape(text)
    except ValueError:  # a number of thousands of digits
        return text


@dataclass(frozen=True, slots=True)
class Step:
    """A child to go to: elements have even numbers, the text between them odd ones."""

    number: int
    id: str | None  # of the element, where the step asserts one


@dataclass(frozen=True, slots=True)
class Cfi:
    """A place in a document of the spine."""

    itemref: int  # position in the spine, from 0
    steps: tuple[Step, ...]
    offset: int  # characters into the text that the last step names


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a row of tags."""

    tag: int  # its position in the row, from 0
    offset: int  # characters into the text behind it


def parse_cfi(fragment: str) -> Cfi | None:
    """Return the place that `epubcfi(…)` names, or the start of a range; None if it is not in a spine."""
    if not (fragment.startswith("epubcfi(") and fragment.endswith(")") and len(fragment) <= _LONGEST_CFI):
        return None
    path = fragment[8:-1]
    if parts := _RANGE.fullmatch(path):
        path = parts[1] + parts[2]
    package, _, inside = path.partition("!")
    in_package = _STEP.findall(package)
    if len(in_package) < 2 or int(in_package[1][0]) < 2:
        return None
    steps = tuple(Step(int(number), name.split(";")[0] or None) for number, name in _STEP.findall(inside))
    offset = _OFFSET.search(_ASSERTION.sub("", inside))
    return Cfi(int(in_package[1][0]) // 2 - 1, steps, int(offset[1]) if offset else 0)


class Outline:
    """The elements and texts of a document as its tags nest them, to find places in."""

    def __init__(self, row: Iterable[Tag]) -> None:
        self._root = _Element(0)
        self._by_id: dict[str, _Element] = {}
        self._lengths: list[int] = []  # of the texts behind the tags
        open_elements, names = [self._root], [""]
        for position, tag in enumerate(row):
            self._lengths.append(len(tag.text))
            if tag.is_end:
                if names[-1] == tag.name and len(names) > 1:
                    open_elements.pop()
                    names.pop()
            elif tag.name:
                element = _Element(position)
                open_elements[-1].elements.append(element)
                self._by_id.setdefault(tag.attributes().get("id", ""), element)
                if not tag.is_empty:
                    open_elements.append(element)
                    names.append(tag.name)
            if tag.text:
                open_elements[-1].add_text(position, len(tag.text))

    def place_of(self, cfi: Cfi) -> Place | None:
        """Return the position of a place of the document, None if it does not exist.

        An `id` that a step asserts outranks its number.
        """
        element = next(iter(self._root.elements), None)
        for step in cfi.steps:
            if element is None:
                return None
            if step.number % 2:
                return element.place_in_text(step.number, cfi.offset)
            asserted = self._by_id.get(step.id) if step.id else None
            element = asserted or element.element(step.number)
        return Place(element.tag - 1, self._lengths[element.tag - 1]) if element else None


@dataclass(frozen=True, slots=True)
class _Text:
    tag: int  # behind which it stands
    start: int  # characters of the same text before it, which tags without a name part
    end: int


@dataclass(frozen=True, slots=True)
class _Element:
    tag: int
    elements: "list[_Element]" = field(default_factory=list)
    texts: dict[int, list[_Text]] = field(default_factory=dict)  # by the number of a step

    def add_text(self, tag: int, length: int) -> None:
        """Add what stands behind the elements so far."""
        texts = self.texts.setdefault(2 * len(self.elements) + 1, [])
        start = texts[-1].end if texts else 0
        texts.append(_Text(tag, start, start + length))

    def element(self, number: int) -> "_Element | None":
        """Return the child element that a step names; None where there is none."""
        place = number // 2 - 1
        return self.elements[place] if 0 <= place < len(self.elements) else None

    def place_in_text(self, number: int, offset: int) -> Place | None:
        """Return a place in the text between two child elements, or at the end of it."""
        texts = self.texts.get(number)
        if not texts:
            return None
        text = texts[min(bisect_left(texts, offset, key=attrgetter("end")), len(texts) - 1)]
        return Place(text.tag, min(offset, text.end) - text.start)
