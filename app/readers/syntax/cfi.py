"""Places in EPUB documents, written as canonical fragment identifiers (EPUB CFI 1.1)."""

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter

from app.readers.syntax.tags import Tag

_STEP = re.compile(r"/(\d{1,6})(?:\[([^\]]*)\])?")
_ASSERTION = re.compile(r"\[[^\]]*\]")
_LONGEST = 2_000
_OFFSET = re.compile(r":(\d{1,9})")


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
    """The place that `epubcfi(…)` names, of a range its start; None where it is none in a spine."""
    if not (fragment.startswith("epubcfi(") and fragment.endswith(")") and len(fragment) <= _LONGEST):
        return None
    path = fragment[8:-1]
    parts = _split_range(path)
    if len(parts) == 3:
        path = parts[0] + parts[1]
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
        """Where a place of the document stands; None where there is no such place.

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


def _split_range(path: str) -> list[str]:
    """The parent path, start and end of a range; commas within assertions do not count."""
    parts, depth = [""], 0
    for character in path:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


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
        """The child element that a step names; None where there is none."""
        place = number // 2 - 1
        return self.elements[place] if 0 <= place < len(self.elements) else None

    def place_in_text(self, number: int, offset: int) -> Place | None:
        """A place in the text between two child elements, or at the end of it."""
        texts = self.texts.get(number)
        if not texts:
            return None
        text = texts[min(bisect_left(texts, offset, key=attrgetter("end")), len(texts) - 1)]
        return Place(text.tag, min(offset, text.end) - text.start)
