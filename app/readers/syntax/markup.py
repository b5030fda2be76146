"""The text of HTML and XHTML in document order, with the places where printed pages begin.

Both are read as the row of their tags, which refuses nothing: books are often not well-formed.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.readers.source import Source
from app.readers.syntax.cfi import Cfi, Outline
from app.readers.syntax.encoding import Decoded, bytes_of_text, decoded
from app.readers.syntax.tags import Tag, end_of, tags

PAGE, TARGET = "\ufdd0", "\ufdd1"
"""Noncharacters that stand in a text for a mark of a page break, and for a place that a page list names."""

_LINE = "\ufdd2"

_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog",
    "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4",
    "h5", "h6", "header", "hgroup", "hr", "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "section",
    "summary", "table", "td", "th", "tr", "ul",
    "docauthor", "doctitle", "level", "level1", "level2", "level3", "level4", "line", "linegroup", "list",
    "pagenum", "poem", "prodnote", "sidebar",
))  # fmt: skip
"""Elements that begin and end lines; the last row is of DTBook, which EPUB 2 allows."""

_LEFT_OUT = frozenset((
    "annotation", "annotation-xml", "audio", "button", "canvas", "noscript", "object", "rp", "rt", "select",
    "svg", "template", "title", "video",
))  # fmt: skip
"""Elements whose text is none of the book; ruby readings (rt) repeat what they stand beside."""

_PAGE_NUMBERS = {"pagenum", "pageno", "pagenumber", "page-number", "x-ebookmaker-pageno"}
_LONGEST_NUMBER = 40
"""Characters; what is longer is text."""

_LETTERS = re.compile("[^\\W\\d_\u2e80-\u9fff\uac00-\ud7ff]{1,30}")  # of scripts that part words

_DECLARED = re.compile(
    rb"""<\?xml[^>]{,200}?encoding\s*=\s*["']([\w.:-]+)|<meta[^>]{,500}?charset\s*=\s*["']?([\w.:-]+)""",
    re.IGNORECASE,
)
_DECLARED_WITHIN = 4096


def decoded_markup(source: Source) -> Decoded | None:
    """The markup of a file, by the encoding that it declares; None where its bytes are no text.

    Raises FileTooLarge.
    """
    data = bytes_of_text(source)
    declared = _DECLARED.search(data[:_DECLARED_WITHIN])
    return decoded(data, (declared[1] or declared[2]).decode() if declared else None)


def marked_text(markup: str, targets: Sequence[str | Cfi] = ()) -> str:
    """The text of a document, with PAGE for each mark of a page break and TARGET for each of the targets.

    A target is the `id` of an element, a place in the document, or empty for its start. One that is missing
    is passed over. Page numbers are left out. Raises FileTooLarge.
    """
    for mark in (PAGE, TARGET, _LINE):
        markup = markup.replace(mark, "")
    row: Iterable[Tag] = tags(markup)
    places = [target for target in targets if isinstance(target, Cfi)]
    if places:
        row = _with_targets(list(row), places)
    text = "".join(_pieces(iter(row), {target for target in targets if isinstance(target, str)}))
    for blank in "\r\n\t\f":
        text = text.replace(blank, " ")  # a line break of the source is none of the text
    text = "\n".join(map(str.strip, text.split(_LINE)))
    return _after_words(_after_words(text, PAGE), TARGET)


@dataclass(slots=True)
class _PageNumber:
    """An element that holds the number of a page, while it is open."""

    name: str
    start: int  # in the pieces of the text
    depth: int = 1  # elements of its name within one another

    def remove_from(self, pieces: list[str]) -> None:
        """Take the number out of the text, but no mark of a page that stands in it."""
        held = pieces[self.start :]
        marks = [piece for piece in held if piece in {PAGE, TARGET}]
        if sum(map(len, held)) - len(marks) <= _LONGEST_NUMBER:
            pieces[self.start :] = marks


def _pieces(row: Iterator[Tag], targets: set[str]) -> list[str]:
    """The texts and marks along a row of tags; of the targets, those that are found are taken out."""
    pieces = [TARGET] if "" in targets else []
    targets.discard("")
    preformatted, number = False, None
    for tag in row:
        name = tag.name
        if name in _LEFT_OUT and not (tag.is_end or tag.is_empty):
            tag = end_of(name, row, pieces)
            name = tag.name
        if number is not None and name == number.name:
            number.depth += -1 if tag.is_end else not tag.is_empty
            if number.depth == 0:
                number.remove_from(pieces)
                number = None
        inside = "" if tag.is_end else tag.inside
        if "page" in inside or (targets and ("id" in inside or "name" in inside)) or name == "pagenum":
            attributes = tag.attributes()
            for target in targets & {attributes.get("id", ""), attributes.get("name", "")}:
                pieces.append(TARGET)
                targets.discard(target)
            is_page = not tag.is_end and _marks_page(name, attributes)
            if is_page:
                pieces.append(PAGE)
            is_number = is_page or not _PAGE_NUMBERS.isdisjoint(attributes.get("class", "").split())
            if is_number and number is None and not tag.is_empty:
                number = _PageNumber(name, len(pieces))
        if name in _BLOCKS:
            pieces.append(_LINE)
            if name == "pre":
                preformatted = not tag.is_end
        if tag.text:
            pieces.append(tag.text.replace("\n", _LINE) if preformatted else tag.text)
    return pieces


def _marks_page(name: str, attributes: Mapping[str, str]) -> bool:
    return (
        name == "pagenum"
        or "pagebreak" in attributes.get("epub:type", "").split()
        or "doc-pagebreak" in attributes.get("role", "").split()
    )


def _with_targets(row: list[Tag], places: Sequence[Cfi]) -> list[Tag]:
    """The tags with TARGET in the texts at these places."""
    outline = Outline(row)
    offsets = defaultdict[int, set[int]](set)
    for place in map(outline.place_of, places):
        if place is not None:
            offsets[place.tag].add(place.offset)
    for position, found in offsets.items():
        text = row[position].text
        cuts = [0, *sorted(found), len(text)]
        parts = [text[start:end] for start, end in pairwise(cuts)]
        row[position] = row[position]._replace(text=TARGET.join(parts))
    return row


def pages_of(text: str) -> list[str]:
    """The pages of a text with PAGE or TARGET in it, by whichever there are more of; one without them.

    What stands before the first of them is a page where it has a letter or a digit.
    """
    if PAGE not in text and TARGET not in text:
        return [text.strip()]
    by, other = (TARGET, PAGE) if text.count(TARGET) > text.count(PAGE) else (PAGE, TARGET)
    first, *pages = (page.strip() for page in text.replace(other, "").split(by))
    return [first, *pages] if not pages or any(map(str.isalnum, first)) else pages


def _after_words(text: str, mark: str) -> str:
    """The text with each mark after the word that it stands in: a page divides none without a hyphen."""
    if mark not in text:
        return text
    before, *rest = text.split(mark)
    parts = [before]
    for part in rest:
        word = _LETTERS.match(part) if parts[-1][-1:].isalpha() else None
        end = word.end() if word else 0
        parts[-1] += part[:end]
        parts.append(part[end:])
    return mark.join(parts)
