"""HTML and XHTML as a row of tags, each with the text behind it; no tree is built.

A tree costs a parser of HTML time and memory by the square of what a hostile file holds, since elements are
moved and opened anew. A row of tags is read in time and memory that grow with its length alone.
"""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import NamedTuple

VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
"""Elements without content."""

_READINGS = ("rp", "rt")
_IN_RUBY = ("rb", "rtc", "ruby", *_READINGS)
"""Tags that end a reading, since its own end may be left out."""

_RAW = ("iframe", "script", "style", "textarea")
"""Elements in which no tags stand."""

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
        """The values by the names in lower case; of two of one name the first."""
        found: dict[str, str] = {}
        for name, *values in _ATTRIBUTE.findall(self.inside):
            found.setdefault(name.lower(), characters("".join(values)))
        return found


def tags(markup: str) -> Iterator[Tag]:
    """The tags of a document in order (HTML standard, section 13.2.5).

    Scripts, styles and the like are one tag without a name, and none of the text.

    >>> [tag.text for tag in tags("a<b>c &amp; d<script>x</script>e")]
    ['a', 'c & d', 'e']
    """
    parts = iter(("", "", "", *_TAG.split(markup)))
    for slash, name, inside, text in zip(parts, parts, parts, parts, strict=True):
        yield _new(Tag, ((name or "").lower(), slash == "/", inside or "", characters(text)))


def end_of(name: str, row: Iterator[Tag], pieces: list[str]) -> Tag:
    """The tag that ends an element whose text is left out; of one that never ends the text is kept."""
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
    """The text with characters for references to them."""
    if "&" not in text:
        return text
    try:
        return unescape(text)
    except ValueError:  # a number of thousands of digits
        return text
