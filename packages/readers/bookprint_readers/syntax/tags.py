"""HTML and XHTML as a sequence of tags, each with the text after it. No tree is built.

For a malicious file, a tree of HTML needs time and memory quadratic in the size of the file, because elements
are moved and reopened. A sequence of tags needs time and memory proportional to the size. The tree of libxml2
loses line breaks at end tags without a start tag, and all text after an unclosed `title`, `select` or `svg`.

EPUB's canonical fragment identifiers (EPUB CFI 1.1) name places in the sequence.
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
"""References to notes, which are separated from the preceding word."""

_READINGS = ("rp", "rt")
_IN_RUBY = ("rb", "rtc", "ruby", *_READINGS)  # tags that end a reading, whose end tag is optional
_RAW = ("iframe", "script", "style", "textarea")  # elements that cannot contain tags

# Each branch matches from its start, if necessary to the end of the file, without backtracking.
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
_new = tuple.__new__  # a fast constructor for millions of tags

_STEP = re.compile(r"/(\d{1,6})(?:\[([^\]]*)\])?")
_PATH = r"(?:[^,\[]++|\[[^\]]*+\]?)*+"
_RANGE = re.compile(f"({_PATH}),({_PATH}),{_PATH}")
"""Parent path, start and end of a range. Commas within assertions are ignored."""

_ASSERTION = re.compile(r"\[[^\]]*\]")
_LONGEST_CFI = 2_000
_OFFSET = re.compile(r":(\d{1,9})")


class Tag(NamedTuple):
    """A tag and the text up to the next tag. Text before the first tag follows a tag without a name."""

    name: str  # in lower case; empty for comments and the like
    is_end: bool
    inside: str  # the rest of the tag after the name, unchanged
    text: str  # with character references replaced

    @property
    def is_empty(self) -> bool:
        """Whether it starts an element without content, by XHTML's syntax or by HTML's names."""
        return self.inside.endswith("/") or self.name in VOID

    def attributes(self) -> Mapping[str, str]:
        """Return the values by lower-case name. The first of two attributes with one name is used."""
        found: dict[str, str] = {}
        for name, *values in _ATTRIBUTE.findall(self.inside):
            found.setdefault(name.lower(), characters("".join(values)))
        return found


def tags(markup: str) -> Iterator[Tag]:
    """Yield the tags of a document in order (HTML standard, section 13.2.5).

    A comment, or an element without tags such as a script, is one nameless tag. Its content is left out.

    >>> [tag.text for tag in tags("a<b>c &amp; d<script>x</script>e")]
    ['a', 'c & d', 'e']
    """
    parts = iter(("", "", "", *_TAG.split(markup)))
    for slash, name, inside, text in zip(parts, parts, parts, parts, strict=True):
        yield _new(Tag, ((name or "").lower(), slash == "/", inside or "", characters(text)))


def end_of(name: str, row: Iterator[Tag], pieces: list[str]) -> Tag:
    """Skip an element and return its end tag. The text of an unclosed element is added to `pieces`."""
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
    """Replace character references with their characters."""
    if "&" not in text:
        return text
    try:
        return unescape(text)
    except ValueError:  # a number of thousands of digits
        return text


@dataclass(frozen=True, slots=True)
class Step:
    """Step to a child. Elements have even numbers, and the texts between elements have odd numbers."""

    number: int
    id: str | None  # id of the element, if the step asserts it


@dataclass(frozen=True, slots=True)
class Cfi:
    """A place in a document of the spine."""

    itemref: int  # position in the spine, from 0
    steps: tuple[Step, ...]
    offset: int  # characters from the start of the text that the last step names


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a sequence of tags."""

    tag: int  # position in the sequence, from 0
    offset: int  # characters from the start of the tag's text


def parse_cfi(fragment: str) -> Cfi | None:
    """Return the place, or the start of the range, that `epubcfi(…)` names; None if it is not in a spine."""
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
    """The nested elements and texts of a document, in which places are found."""

    def __init__(self, row: Iterable[Tag]) -> None:
        self._root = _Element(0)
        self._by_id: dict[str, _Element] = {}
        self._lengths: list[int] = []  # of the tags' texts
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
        """Return the position of a place in the document, or None if the place does not exist.

        An `id` that a step asserts overrides the step's number.
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
    tag: int  # position of the tag before the text
    start: int  # characters before it in the same text, which nameless tags divide
    end: int


@dataclass(frozen=True, slots=True)
class _Element:
    tag: int
    elements: "list[_Element]" = field(default_factory=list)
    texts: dict[int, list[_Text]] = field(default_factory=dict)  # by the number of a step

    def add_text(self, tag: int, length: int) -> None:
        """Add a text after the elements so far."""
        texts = self.texts.setdefault(2 * len(self.elements) + 1, [])
        start = texts[-1].end if texts else 0
        texts.append(_Text(tag, start, start + length))

    def element(self, number: int) -> "_Element | None":
        """Return the child element that a step names, or None if it is missing."""
        place = number // 2 - 1
        return self.elements[place] if 0 <= place < len(self.elements) else None

    def place_in_text(self, number: int, offset: int) -> Place | None:
        """Return a place in the text between two child elements, or at the end of it."""
        texts = self.texts.get(number)
        if not texts:
            return None
        text = texts[min(bisect_left(texts, offset, key=attrgetter("end")), len(texts) - 1)]
        return Place(text.tag, min(offset, text.end) - text.start)
