"""The text elements of a TEI file, as a target that lxml's parser writes to; no tree is built.

Notes are read where they stand, as plain texts of the same files have them: at the ends of pages they move
fingerprints of 24 books of the Deutsches Textarchiv .7 bits further away. What an editor chose (`reg`,
`corr`, `expan`) stands for what is printed. Running heads (`fw`) stay where lines are those of the print.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from lxml import etree

from app.core.errors import FileTooLarge, SeveralBooks
from app.core.model import PageLabels
from app.core.text.page_labels import known_labels
from app.readers.source import MOST_PAGES, too_many_pages
from app.readers.syntax.xml import Element

Attributes = Mapping[str, str]
_Handler = Callable[..., None]

_MOST_IN_HEADER = 200_000
_LONGEST_HEADING = 200
"""Characters; so much before the first page break is the heading of what the pages are part of, no page."""

# Pieces of the text besides the text itself; XML allows none of these characters.
_PAGE = "\f"
_LINE = "\n"
_JOINED = ""  # a word goes on, whatever blanks follow
_BEFORE_TEXT = (_LINE, _PAGE, _JOINED)

_HYPHENS = "-\u00ac\u00ad\u2010\u2e17"
_OTHER_HYPHENS = "\u00ac\u2e17"  # not sign, double oblique hyphen: the normal form knows neither
_DIVISION = re.compile(rf"[{_OTHER_HYPHENS}](?= *[{_LINE}{_PAGE}])")

_BLOCKS = (
    "ab", "argument", "body", "byline", "castitem", "cb", "cell", "closer", "dateline", "div", "div0",
    "div1", "div2", "div3", "div4", "div5", "div6", "div7", "docimprint", "doctitle", "epigraph", "figure",
    "floatingtext", "front", "back", "group", "head", "imprimatur", "item", "l", "label", "lg", "list",
    "opener", "p", "postscript", "row", "salute", "signed", "sp", "speaker", "stage", "table", "titlepage",
    "titlepart", "trailer", "u",
)  # fmt: skip
_LEFT_OUT = (
    "binaryobject", "del", "desc", "figdesc", "fs", "graphic", "index", "interp", "interpgrp",
    "linkgrp", "rt", "spangrp",
)  # fmt: skip
_PREFERRED = {"reg": 0, "corr": 0, "expan": 0, "ex": 0, "lem": 0}
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


@dataclass(slots=True)
class _Choice:
    """Readings of one place, of which one is kept."""

    outer: list[str]
    labels_before: int
    depth: int = 0  # elements open within it
    rank: int = 0  # of the reading that is open; lower is better
    best: str = ""
    best_rank: int = 2
    labels: list[str | None] = field(default_factory=list)  # of the page breaks, by the reading with most


@dataclass(frozen=True, slots=True)
class TextPages:
    """The text of a TEI file."""

    pages: list[str]
    paginated: bool
    labels: PageLabels = ()


class _ByTag(dict[str, _Handler | None]):
    """Handlers by the tag of an element, found once by its local name."""

    def __init__(self, by_name: Mapping[str, _Handler]) -> None:
        self._by_name = by_name

    def __missing__(self, tag: str) -> _Handler | None:
        handler = self[tag] = self._by_name.get(_local_name(tag))
        return handler


class TextTarget:
    """Takes the events of a parser; raises SeveralBooks and FileTooLarge."""

    def __init__(self) -> None:
        self.texts = 0
        self.header: Element = etree.Element("teiHeader")
        self.language: str | None = None
        self._pieces = [_LINE]
        self._page_breaks = 0
        self._labels: list[str | None] = []
        self._line_breaks = 0
        self._edition: str | None = None  # of which page breaks are read, where there are those of several
        self._choices: list[_Choice] = []
        self._text_depth = 0
        self._left_out_depth = 0
        self._header_builder: etree.TreeBuilder | None = None
        self._header_elements = 0
        self._word_end = -1
        self._plain = False  # in a text, and neither in a choice nor in what is left out
        self._starts = _ByTag(_STARTS)
        self._ends = _ByTag(_ENDS)

    def pages(self) -> "TextPages":
        """The text of each page, or one text."""
        text = "".join(self._pieces)
        if any(hyphen in text for hyphen in _OTHER_HYPHENS):
            text = _DIVISION.sub("-", text)
        if not self._page_breaks:
            return TextPages([text.strip()], False)
        before, *pages = text.split(_PAGE)
        labels = self._labels if len(self._labels) == len(pages) else []
        if len(before) > _LONGEST_HEADING:
            pages.insert(0, before)
            labels = [None, *labels]
        return TextPages([page.strip() for page in pages], True, known_labels(labels))

    @property
    def has_printed_lines(self) -> bool:
        """Whether the lines are those of the print, not paragraphs."""
        return self._line_breaks > self._page_breaks

    def start(self, tag: str, attributes: Attributes) -> None:
        """Take the start of an element."""
        if self._plain:
            start = self._starts[tag]
            if start is not None:
                start(self, attributes)
            return
        name = _local_name(tag)
        if self._header_builder is not None:
            self._start_in_header(tag, attributes)
        elif not self._text_depth:
            self._start_outside(name, tag, attributes)
        elif self._left_out_depth:
            self._left_out_depth += 1
            if name == "pb":
                self._start_page(attributes)
        else:
            if self._choices:
                choice = self._choices[-1]
                choice.depth += 1
                if choice.depth == 1:
                    self._pieces = [_LINE]
                    choice.rank = _PREFERRED.get(name, 1)
            start = self._starts[tag]
            if start is not None:
                start(self, attributes)

    def end(self, tag: str) -> None:
        """Take the end of an element."""
        if self._plain:
            end = self._ends[tag]
            if end is not None:
                end(self)
            return
        if self._header_builder is not None:
            self._header_builder.end(tag)
            if _local_name(tag) == "teiheader":
                self.header = self._header_builder.close()
                self._header_builder = None
            return
        if not self._text_depth:
            return
        if self._left_out_depth:
            self._left_out_depth -= 1
            if self._left_out_depth:
                return
        else:
            end = self._ends[tag]
            if end is not None:
                end(self)
        if self._choices:
            choice = self._choices[-1]
            choice.depth -= 1
            if choice.depth == 0:
                self._end_reading(choice)
        else:
            self._plain = self._text_depth > 0

    def data(self, text: str) -> None:
        """Take a part of the text between two tags."""
        if not self._plain:
            if self._header_builder is not None:
                self._header_builder.data(text)
            if not self._text_depth or self._left_out_depth:
                return
        pieces = self._pieces
        if "\n" in text:
            text = text.replace("\n", " ")
        if pieces[-1] in _BEFORE_TEXT:
            text = text.lstrip()
            if not text:
                return
        pieces.append(text)

    def close(self) -> None:
        """Take the end of the document."""

    def _start_outside(self, name: str, tag: str, attributes: Attributes) -> None:
        if name == "text":
            self.texts += 1
            if self.texts > 1:
                raise SeveralBooks("The TEI file holds several books. Send them one by one, or in bulk.")
            self._text_depth = 1
            self._plain = True
        elif name == "teiheader":
            self._header_builder = etree.TreeBuilder()
            self._start_in_header(tag, attributes)
        if not self.texts or name == "text":
            self.language = attributes.get(_LANGUAGE) or attributes.get("lang") or self.language

    def _start_in_header(self, tag: str, attributes: Attributes) -> None:
        assert self._header_builder is not None
        self._header_elements += 1
        if self._header_elements > _MOST_IN_HEADER:
            raise FileTooLarge(f"The header has more than {_MOST_IN_HEADER:,} elements.")
        self._header_builder.start(tag, cast(dict[str | bytes, str | bytes], dict(attributes)))

    def _start_text(self, _: Attributes) -> None:
        self._text_depth += 1
        self._start_line()

    def _end_text(self) -> None:
        self._text_depth -= 1
        self._plain = self._text_depth > 0
        self._start_line()

    def _leave_out(self, _: Attributes) -> None:
        self._left_out_depth = 1
        self._plain = False

    def _start_line(self, _: Attributes | None = None) -> None:
        if self._pieces[-1] not in _BEFORE_TEXT:
            self._pieces.append(_LINE)

    def _break_line(self, attributes: Attributes) -> None:
        self._line_breaks += 1
        if attributes.get("break") == "no":
            self._join()
        else:
            self._start_line()

    def _start_furniture(self, attributes: Attributes) -> None:
        # Among printed lines it is known as in other formats, where nothing marks it.
        if self.has_printed_lines:
            self._start_line()
        else:
            self._leave_out(attributes)

    def _start_page(self, attributes: Attributes) -> None:
        edition = attributes.get("ed")
        self._edition = self._edition or edition
        if edition and edition != self._edition:
            return
        self._page_breaks += 1
        if self._page_breaks > MOST_PAGES:
            raise too_many_pages("The file")
        if attributes.get("break") == "no":
            self._join()
        if self._pieces[-1] == _JOINED:
            self._pieces.append("-")  # by which the normal form joins the word across the pages
        self._pieces.append(_PAGE)
        self._labels.append(attributes.get("n"))

    def _start_milestone(self, attributes: Attributes) -> None:
        if attributes.get("unit") == "page":
            self._start_page(attributes)

    def _join(self) -> None:
        """Let the word before go on, without its hyphen."""
        pieces, page_breaks = self._pieces, 0
        while pieces and not pieces[-1].strip():
            page_breaks += pieces.pop().count(_PAGE)
        if pieces:
            pieces[-1] = pieces[-1].rstrip().rstrip(_HYPHENS)
        pieces += ["-", *[_PAGE] * page_breaks] if page_breaks else [_JOINED]

    def _start_word(self, attributes: Attributes) -> None:
        if self._word_end == len(self._pieces) and attributes.get("part") not in {"M", "F"}:
            self._pieces.append(" ")

    def _end_word(self) -> None:
        self._word_end = len(self._pieces)

    def _space(self, _: Attributes | None = None) -> None:
        self._pieces.append(" ")

    def _start_choice(self, _: Attributes) -> None:
        self._choices.append(_Choice(self._pieces, len(self._labels)))
        self._plain = False
        self._pieces = [_LINE]

    def _end_choice(self) -> None:
        choice = self._choices.pop()
        self._pieces = choice.outer
        self._labels += choice.labels
        lost = len(choice.labels) - choice.best.count(_PAGE)
        if choice.best or lost:
            self._pieces += [choice.best, *[_PAGE] * lost]

    def _end_reading(self, choice: _Choice) -> None:
        text, self._pieces = "".join(self._pieces).strip("\n"), [_LINE]
        labels, self._labels = self._labels[choice.labels_before :], self._labels[: choice.labels_before]
        choice.labels = max(choice.labels, labels, key=len)
        if choice.rank < choice.best_rank:
            choice.best, choice.best_rank = text, choice.rank


def _local_name(tag: str) -> str:
    return tag.rpartition("}")[2].lower()


_STARTS: Mapping[str, _Handler] = {
    **dict.fromkeys(_BLOCKS, TextTarget._start_line),
    **dict.fromkeys(_LEFT_OUT, TextTarget._leave_out),
    **dict.fromkeys(("choice", "app", "rdggrp"), TextTarget._start_choice),
    "fw": TextTarget._start_furniture,
    "lb": TextTarget._break_line,
    "milestone": TextTarget._start_milestone,
    "note": TextTarget._space,
    "pb": TextTarget._start_page,
    "text": TextTarget._start_text,
    "w": TextTarget._start_word,
}
_ENDS: Mapping[str, _Handler] = {
    **dict.fromkeys(_BLOCKS, TextTarget._start_line),
    **dict.fromkeys(("choice", "app", "rdggrp"), TextTarget._end_choice),
    "fw": TextTarget._start_line,
    "note": TextTarget._space,
    "text": TextTarget._end_text,
    "w": TextTarget._end_word,
}
