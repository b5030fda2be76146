"""Places in EPUB documents, written as canonical fragment identifiers (EPUB CFI 1.1)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

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


def mark_at(root: LexborNode, ids: Mapping[str, LexborNode], place: Cfi, mark: str) -> bool:
    """Put `mark` at a place in the document whose element is `root`; False where there is no such place.

    `ids` has the elements by their `id`, which outranks the number of a step.
    """
    node = root
    for step in place.steps:
        if step.number % 2:
            return _mark_text(node, step.number, place.offset, mark)
        found = ids.get(step.id or "") or _element(node, step.number)
        if found is None:
            return False
        node = found
    node.insert_before(mark)
    return True


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


def _element(parent: LexborNode, number: int) -> LexborNode | None:
    for position, child in enumerate(parent.iter(), start=1):
        if position * 2 == number:
            return child
    return None


def _mark_text(parent: LexborNode, number: int, offset: int, mark: str) -> bool:
    """Put the mark into the text between two child elements, or at the end of it."""
    position = 1
    last = None
    for child in parent.iter(include_text=True):
        if child.is_element_node:
            if position == number:
                child.insert_before(mark)
                return True
            position += 2
        elif position == number and child.is_text_node:
            text = child.text(deep=False)
            if offset <= len(text):
                child.replace_with(text[:offset] + mark + text[offset:])
                return True
            offset -= len(text)
        last = child
    if position == number and last is not None:
        last.insert_after(mark)
        return True
    return False
