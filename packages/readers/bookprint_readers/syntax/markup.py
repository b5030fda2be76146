"""The text of HTML and XHTML in document order, with the starts of printed pages.

Both are read as a sequence of tags, which accepts any markup: books are often not well-formed.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bookprint_core.book_rules import known_labels
from bookprint_core.model import Metadata, PageLabels
from bookprint_readers.gutenberg import without_licence
from bookprint_readers.source import Source
from bookprint_readers.syntax.encoding import Decoded, decoded
from bookprint_readers.syntax.tags import NOTE_NUMBER, Cfi, Outline, Tag, end_of, tags

PAGE, TARGET = "\ufdd0", "\ufdd1"
"""Noncharacters that mark, in a text, page breaks and the places that a page list names."""

_LINE = "\ufdd2"

_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog",
    "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4",
    "h5", "h6", "header", "hgroup", "hr", "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "section",
    "summary", "table", "td", "th", "tr", "ul",
    "docauthor", "doctitle", "level", "level1", "level2", "level3", "level4", "line", "linegroup", "list",
    "pagenum", "poem", "prodnote", "sidebar",
))  # fmt: skip
"""Elements that begin and end lines. The last two rows are from DTBook, which EPUB 2 allows."""

_REFERENCES = ("a", "sup")  # elements that may hold the number of a note

_LEFT_OUT = frozenset((
    "annotation", "annotation-xml", "audio", "button", "canvas", "noscript", "object", "rp", "rt", "select",
    "svg", "template", "title", "video",
))  # fmt: skip
"""Elements whose text does not belong to the book; ruby readings (rt) repeat the text beside them."""

_PAGE_NUMBERS = {"pagenum", "pageno", "pagenumber", "page-number", "x-ebookmaker-pageno"}
_LONGEST_NUMBER = 40  # maximum characters of a page number

_BEFORE_LABEL = re.compile(r"[\s\[({]*(?:page|pag|pg|p|seite|s)[.\s]+", re.IGNORECASE)
"""Text before the label in a mark of a page break, as in "page 12" and "[Pg 12]"."""

_LETTERS = re.compile("[^\\W\\d_\u2e80-\u9fff\uac00-\ud7ff]{1,30}")  # of scripts with spaces between words

_DECLARED = re.compile(
    rb"""<\?xml[^>]{,200}?encoding\s*=\s*["']([\w.:-]+)|<meta[^>]{,500}?charset\s*=\s*["']?([\w.:-]+)""",
    re.IGNORECASE,
)
_DECLARED_WITHIN = 4096

_NO_TARGETS: Mapping[str | Cfi, str | None] = {}


def decoded_markup(source: Source) -> Decoded | None:
    """Return the markup of a file, in its declared encoding, or None if its bytes are not text.

    Raises FileTooLarge.
    """
    data = source.read_text()
    declared = _DECLARED.search(data[:_DECLARED_WITHIN])
    return decoded(data, (declared[1] or declared[2]).decode() if declared else None)


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text with marks where pages begin, and the labels of the pages."""

    text: str
    labels: Mapping[str, Sequence[str | None]]  # by mark (PAGE or TARGET), one label per occurrence

    @classmethod
    def joined(cls, parts: Iterable["MarkedText"]) -> "MarkedText":
        """Join texts, with a blank line between them."""
        every = list(parts)
        labels = {mark: [label for part in every for label in part.labels[mark]] for mark in (PAGE, TARGET)}
        return cls("\n\n".join(part.text for part in every), labels)


def marked_text(markup: str, targets: Mapping[str | Cfi, str | None] = _NO_TARGETS) -> MarkedText:
    """Return the text of a document, with PAGE for each page break and TARGET for each target.

    `targets` contains labels by `id` of an element, by place in the document, or by "" for its start. Missing
    targets are ignored. Page numbers are left out of the text.
    """
    for mark in (PAGE, TARGET, _LINE):
        markup = markup.replace(mark, "")
    row = tags(markup)
    if places := {place: label for place, label in targets.items() if isinstance(place, Cfi)}:
        row = _with_targets(list(row), places)
    pieces = _pieces(row, {id_: label for id_, label in targets.items() if isinstance(id_, str)})
    text = "".join(pieces)
    marks = [piece for piece in pieces if isinstance(piece, _Mark)]
    labels = {mark: [each.label for each in marks if each == mark] for mark in (PAGE, TARGET)}
    for blank in "\r\n\t\f":
        text = text.replace(blank, " ")  # a line break of the source does not belong to the text
    text = "\n".join(map(str.strip, text.split(_LINE)))
    return MarkedText(_after_words(_after_words(text, PAGE), TARGET), labels)


class _Mark(str):
    """Piece of a text that is PAGE or TARGET, with the label of the page that begins there."""

    label: str | None

    def __new__(cls, mark: str, label: str | None) -> "_Mark":
        """Create a mark whose string value is PAGE or TARGET."""
        self = super().__new__(cls, mark)
        self.label = label
        return self


@dataclass(slots=True)
class _PageNumber:
    """An open element that contains a page number."""

    name: str
    start: int  # index in the pieces of the text
    depth: int = 1  # number of nested elements of this name

    def remove_from(self, pieces: list[str]) -> None:
        """Remove the number from the text, but not the marks within it."""
        held = pieces[self.start :]
        marks = [piece for piece in held if piece in {PAGE, TARGET}]
        if sum(map(len, held)) - len(marks) <= _LONGEST_NUMBER:
            pieces[self.start :] = marks
            mark = pieces[self.start - 1] if self.start else ""
            if isinstance(mark, _Mark) and mark == PAGE and mark.label is None:
                shown = "".join(piece for piece in held if piece not in marks).replace(_LINE, " ")
                pieces[self.start - 1] = _Mark(PAGE, _label(shown))


def _pieces(row: Iterator[Tag], targets: dict[str, str | None]) -> list[str]:
    """Return the texts and marks in a sequence of tags. Found targets are removed from `targets`."""
    pieces: list[str] = [_Mark(TARGET, _label(targets.pop("") or ""))] if "" in targets else []
    preformatted, number = False, None
    refers = referred = False  # whether the next text may refer to a note, and whether the last text did
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
            listed = None
            for target in targets.keys() & {attributes.get("id", ""), attributes.get("name", "")}:
                listed = _label(targets.pop(target) or "")
                pieces.append(_Mark(TARGET, listed))
            is_page = not tag.is_end and _marks_page(name, attributes)
            if is_page:
                said = attributes.get("title") or attributes.get("aria-label")
                pieces.append(_Mark(PAGE, _label(said or "") or listed))
            is_number = is_page or not _PAGE_NUMBERS.isdisjoint(attributes.get("class", "").split())
            if is_number and number is None and not tag.is_empty:
                number = _PageNumber(name, len(pieces))
        if name == TARGET:
            pieces.append(_Mark(TARGET, _label(tag.inside)))
        if name in _BLOCKS:
            pieces.append(_LINE)
            if name == "pre":
                preformatted = not tag.is_end
        if name == "img" and tag.text[:1].isalpha() and len(initial := tag.attributes().get("alt", "")) == 1:
            pieces.append(initial)  # a picture of an initial letter
        if name in _REFERENCES:
            refers = not tag.is_end
        if tag.text:
            if referred and tag.text[0].isalnum():
                pieces.append(" ")
            referred = refers and NOTE_NUMBER.fullmatch(tag.text) is not None
            if referred and pieces and pieces[-1][-1:].isalnum():
                pieces.append(" ")
            pieces.append(tag.text.replace("\n", _LINE) if preformatted else tag.text)
            refers = False
    return pieces


def _marks_page(name: str, attributes: Mapping[str, str]) -> bool:
    return (
        name == "pagenum"
        or "pagebreak" in attributes.get("epub:type", "").split()
        or "doc-pagebreak" in attributes.get("role", "").split()
    )


def _with_targets(row: list[Tag], places: Mapping[Cfi, str | None]) -> Iterator[Tag]:
    """Yield the tags, with an additional tag TARGET, which contains the label, at each place."""
    outline = Outline(row)
    labels = defaultdict[int, dict[int, str | None]](dict)
    for place, label in places.items():
        found = outline.place_of(place)
        if found is not None:
            labels[found.tag].setdefault(found.offset, label)
    for position, tag in enumerate(row):
        if position not in labels:
            yield tag
            continue
        cuts = sorted(labels[position])
        yield tag._replace(text=tag.text[: cuts[0]])
        for start, end in pairwise([*cuts, len(tag.text)]):
            yield Tag(TARGET, False, labels[position][start] or "", tag.text[start:end])


@dataclass(frozen=True, slots=True)
class LabelledPages:
    """Pages of a book, or its whole text, with page labels and metadata of Project Gutenberg's header."""

    pages: list[str]
    header: Metadata
    labels: PageLabels = ()


def pages_of(marked: MarkedText) -> LabelledPages:
    """Return the pages of a text without Project Gutenberg's licence; one page if there are no marks.

    Pages begin at PAGE or TARGET, whichever is more frequent. Text before the first
    mark is a page if it contains a letter or digit.
    """
    book = without_licence(marked.text)
    text = book.text
    if PAGE not in text and TARGET not in text:
        return LabelledPages([text.strip()], book.metadata)
    by, other = (TARGET, PAGE) if text.count(TARGET) > text.count(PAGE) else (PAGE, TARGET)
    first, *pages = (page.strip() for page in text.replace(other, "").split(by))
    before = marked.text.count(by, 0, marked.text.index(text))
    labels = marked.labels[by][before : before + len(pages)]
    if pages and not any(map(str.isalnum, first)):
        return LabelledPages(pages, book.metadata, known_labels(labels))
    return LabelledPages([first, *pages], book.metadata, known_labels([None, *labels]))


def _label(said: str) -> str | None:
    """Return the label in the text of a page break, such as "12" in "page 12." and in "[Pg 12]"."""
    before = _BEFORE_LABEL.match(said)
    bare = said[before.end() :].rstrip(")]} ") if before else said
    return bare.strip().rstrip(".") or None


def _after_words(text: str, mark: str) -> str:
    """Move each mark within a word to the end of the word. Pages divide words only at hyphens."""
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
