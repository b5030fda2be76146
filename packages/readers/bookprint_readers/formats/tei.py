"""TEI P5 and P4: the text of one book, with pages if `pb` marks them, and the metadata of its header.

Notes stay in place, as in plain texts of the same files. Notes at the ends of pages would move the
fingerprints of 24 books of the Deutsches Textarchiv 0.7 bits further away. An editor's choice (`reg`, `corr`,
`expan`) replaces the printed form. Page furniture (`fw`) is left out. A file without a `text` is
read from `sourceDoc`, whose surfaces are pages.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from html.entities import html5
from typing import Any, cast

from lxml import etree

from bookprint_core.book_rules import known_labels
from bookprint_core.errors import BrokenFile, NoText, SeveralBooks
from bookprint_core.model import Metadata
from bookprint_readers.extraction import (
    Extraction,
    clean,
    description,
    identifier,
    is_furniture,
    printed_label,
)
from bookprint_readers.source import Source
from bookprint_readers.syntax.tags import NOTE_NUMBER
from bookprint_readers.syntax.xml import MENDED, Element, broken_named, local_name, mended

NAME = "tei"
ROOTS = ("TEI", "TEI.2", "teiCorpus", "teiCorpus.2")

_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]*;)")
_PREDEFINED = frozenset((b"amp;", b"lt;", b"gt;", b"quot;", b"apos;"))

_LONGEST_HEADING = 200
"""Maximum characters of a heading before the first page break. A longer text is a page."""

# Pieces of the text other than words. XML forbids these characters, or `_add` replaces them.
_PAGE = "\f"
_LINE = "\n"
_JOINED = ""  # the word continues after any blanks
_BEFORE_TEXT = (_LINE, _PAGE, _JOINED)

_HYPHENS = ("-", "\u00ac", "\u00ad", "\u2010", "\u2e17")
_OTHER_HYPHENS = "\u00ac\u2e17"  # not sign, double oblique hyphen; not hyphens in the normal form
_DIVISION = re.compile(rf"[{_OTHER_HYPHENS}](?= *[{_LINE}{_PAGE}])")

_BLOCKS = frozenset((
    "ab", "address", "addrline", "argument", "back", "body", "byline", "castgroup", "castitem", "cb", "cell",
    "closer", "dateline", "div", "div0", "div1", "div2", "div3", "div4", "div5", "div6", "div7",
    "docimprint", "doctitle", "entry", "epigraph", "epilogue", "figure", "floatingtext", "front", "fw",
    "group", "head", "imprimatur", "item", "l", "label", "lg", "line", "list", "listbibl", "listperson",
    "opener", "p", "performance", "postscript", "prologue", "roledesc", "row", "salute", "sense", "set",
    "signed", "sp", "speaker", "stage", "table", "text", "titlepage", "titlepart", "trailer", "u", "zone",
))  # fmt: skip
_APART = _BLOCKS | frozenset((
    "addname", "bibl", "biblstruct", "cit", "date", "docauthor", "docdate", "docedition", "forename",
    "publisher", "pubplace", "q", "quote", "rolename", "s", "said", "surname",
))  # fmt: skip
"""Elements that do not form a word with a neighbour, even without a blank between them."""

_LEFT_OUT = frozenset((
    "binaryobject", "del", "desc", "figdesc", "fs", "graphic", "index", "interp", "interpgrp",
    "linkgrp", "rt", "spangrp",
))  # fmt: skip
_CHOICES = frozenset(("choice", "app", "rdggrp"))
_PREFERRED = frozenset(("reg", "corr", "expan", "ex", "lem"))
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_ABOUT_THE_FILE = re.compile(r"\s*:\s*[^:]*\bELTeC\b[^:]*$|^DUMMYHEADER$")
"""Part of a title that names the corpus, not the book."""

_STC = re.compile(r"(E?STC|Wing|Evans|Thomason)\s+(?=\S)")
_NAME_PARTS = ("forename", "nameLink", "surname")


def read(source: Source) -> Extraction:
    """Return the text of the file, with pages if it contains `pb`.

    Raises BrokenFile, SeveralBooks, FileTooLarge, and NoText if there is neither `text` nor `sourceDoc`.
    """
    repairs: list[str] = []
    header = etree.Element("teiHeader")
    language: str | None = None
    text: Element | None = None
    transcriptions: list[Element] = []
    for element in _outermost(_tree(source, repairs)):
        name = _name(element)
        if text is None or name == "text":
            language = element.get(_LANGUAGE) or element.get("lang") or language
        if name == "teiheader":
            header = element
        elif name == "text":
            if text is not None:
                raise SeveralBooks("The TEI file holds several books. Send them one by one, or in bulk.")
            text = element
        elif name == "sourcedoc":
            transcriptions.append(element)
    if text is not None and not (transcriptions and not any(map(str.strip, map(str, text.itertext())))):
        transcriptions = [text]
    if text is None and not transcriptions:
        raise NoText(f"{source.name} is a TEI file without a text. Send the file that holds the text.")
    found = _Text()
    for part in transcriptions:
        found.read(part)
    return replace(found.extraction(_metadata(header, language)), warnings=repairs)


def _tree(source: Source, repairs: list[str]) -> Element:
    """Return the root element, without references to entities of a DTD outside the file.

    Ill-formed markup is repaired, with a warning in `repairs`. Raises BrokenFile.
    """
    try:
        return _parsed(source.read_text(), source.name)
    except BrokenFile as damage:
        try:
            root = _parsed(mended(source).encode(), source.name)
        except BrokenFile:
            raise damage from None
        repairs.append(f"{damage} {MENDED}")
        return root


def _parsed(data: bytes, name: str) -> Element:
    parser = etree.XMLParser(
        resolve_entities=cast(Any, "internal"),
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        recover=True,  # otherwise, such references are errors; fatal errors are raised below
    )
    with broken_named(name):
        root = etree.fromstring(_ENTITY.sub(_character, data), parser)
    for error in parser.error_log.filter_from_fatals():
        where = f"line {error.line}, column {error.column}"
        raise BrokenFile(f"{name} is not well-formed XML: {error.message}, {where}.")
    return root


def _outermost(element: Element) -> Iterator[Element]:
    """Yield the elements in the order of the document, except those within headers and texts."""
    yield element
    if _name(element) not in {"teiheader", "text", "sourcedoc"}:
        for child in element:
            yield from _outermost(child)


def _character(entity: re.Match[bytes]) -> bytes:
    """Return a reference to a named character that TEI P4 takes from DTDs, which are not loaded."""
    if entity[1] in _PREDEFINED:
        return entity[0]
    characters = html5.get(entity[1].decode("ascii"), "")
    return "".join(f"&#{ord(character)};" for character in characters).encode() or entity[0]


class _Text:
    """The text of an element, collected in pieces."""

    def __init__(self) -> None:
        self._pieces = [_LINE]
        self._page_breaks = 0
        self._labels: list[str | None] = []
        self._line_breaks = 0
        self._edition: str | None = None  # the edition whose page breaks are read
        self._word_end = -1

    def read(self, element: Element) -> None:
        name = _name(element)
        kind = element.get("type", "").casefold()
        if name in _LEFT_OUT or name == "fw" or (name == "zone" and is_furniture(kind)):
            if kind.startswith("page") and self._labels and self._labels[-1] is None:
                self._labels[-1] = printed_label(_text(element) or "")
            for inner in element.iter("*"):
                if _name(inner) == "pb":
                    self._start_page(inner)
            return
        if name in _CHOICES:
            self._choose(element)
            return
        if name in _BLOCKS:
            self._start_line()
        elif name == "note":
            self._pieces.append(" ")
        elif name == "w":
            if self._word_end == len(self._pieces) and element.get("part") not in {"M", "F"}:
                self._pieces.append(" ")
        elif name == "lb":
            self._break_line(element)
        elif name == "surface":
            if all(_name(parent) != "surface" for parent in element.iterancestors()):
                self._start_page(element)
        elif name == "pb" or (name == "milestone" and element.get("unit") == "page"):
            self._start_page(element)
        if name == "line":
            self._line_breaks += 1
        refers = name == "ref" or (
            name == "hi" and "sup" in element.get("rend", element.get("rendition", ""))
        )
        if refers and (shown := element.text or next((child.text for child in element), "")):
            refers = NOTE_NUMBER.fullmatch(shown) is not None
        if refers and self._pieces[-1][-1:].isalnum():
            self._pieces.append(" ")
        self._add(element.text)
        before: Element | None = None
        for child in element:
            if before is not None and not before.tail and {_name(before), _name(child)} <= _APART:
                self._start_line()
            self.read(child)
            self._add(child.tail)
            before = child
        if refers and (element.tail or "")[:1].isalnum():
            self._pieces.append(" ")
        if name in _BLOCKS:
            self._start_line()
        elif name == "note":
            self._pieces.append(" ")
        elif name == "w":
            self._word_end = len(self._pieces)

    def extraction(self, metadata: Metadata) -> Extraction:
        """Return the book with the text of each page, or with one text."""
        text = "".join(self._pieces)
        if any(hyphen in text for hyphen in _OTHER_HYPHENS):
            text = _DIVISION.sub("-", text)
        before, *pages = text.split(_PAGE)
        labels = self._labels if len(self._labels) == len(pages) else []
        if not pages or len(before) > _LONGEST_HEADING:
            pages.insert(0, before)
            labels = [None, *labels]
        return Extraction(
            NAME,
            [page.strip() for page in pages],
            paginated=self._page_breaks > 0,
            printed_lines=self._line_breaks > self._page_breaks,  # otherwise lines are paragraphs
            metadata=metadata,
            labels=known_labels(labels),
        )

    def _add(self, text: str | None) -> None:
        if not text:
            return
        text = text.replace("\n", " ")
        if self._pieces[-1] in _BEFORE_TEXT:
            text = text.lstrip()
        if text:
            self._pieces.append(text)

    def _start_line(self) -> None:
        if self._pieces[-1] not in _BEFORE_TEXT:
            self._pieces.append(_LINE)

    def _break_line(self, line_break: Element) -> None:
        self._line_breaks += 1
        if line_break.get("break") == "no":
            self._join()
        else:
            self._start_line()

    def _start_page(self, page_break: Element) -> None:
        edition = page_break.get("ed")
        self._edition = self._edition or edition
        if edition and edition != self._edition:
            return
        self._page_breaks += 1
        if page_break.get("break") == "no":
            self._join()
        if self._pieces[-1] == _JOINED:
            self._pieces.append("-")  # the normal form joins the word at this hyphen
        self._pieces.append(_PAGE)
        self._labels.append(page_break.get("n"))

    def _join(self) -> None:
        """Join the last word, without its hyphen, to the text that follows."""
        pieces, page_breaks = self._pieces, 0
        while pieces and not pieces[-1].strip():
            page_breaks += pieces.pop().count(_PAGE)
        if pieces:
            text = pieces[-1].rstrip()
            # If hyphens of two kinds follow each other, the first one belongs to the word.
            pieces[-1] = text.rstrip(text[-1]) if text.endswith(_HYPHENS) else text
        pieces += ["-", *[_PAGE] * page_breaks] if page_breaks else [_JOINED]

    def _choose(self, choice: Element) -> None:
        """Read the alternatives for one place. Keep the first preferred alternative, or else the first.

        The page breaks come from the alternative with most page breaks.
        """
        outer, labels_before = self._pieces, len(self._labels)
        kept: str | None = None
        kept_is_preferred = False
        labels: list[str | None] = []
        for reading in choice:
            self._pieces = [_LINE]
            self.read(reading)
            labels = max(labels, self._labels[labels_before:], key=len)
            del self._labels[labels_before:]
            is_preferred = _name(reading) in _PREFERRED
            if kept is None or (is_preferred and not kept_is_preferred):
                kept, kept_is_preferred = "".join(self._pieces).strip("\n"), is_preferred
        self._pieces = outer
        self._labels += labels
        lost = len(labels) - (kept or "").count(_PAGE)
        if kept or lost:
            self._pieces += [kept or "", *[_PAGE] * lost]


def _name(element: Element) -> str:
    return local_name(element).lower()


def _metadata(header: Element, language: str | None) -> Metadata:
    """Read the metadata in a `teiHeader`. `language` is the language that the text itself names."""
    titles = _all(header, "fileDesc/titleStmt/title")
    numbers = _all(header, "fileDesc/publicationStmt//idno")
    return description(
        title=_title(titles),
        authors=[_author(author) for author in _all(header, "fileDesc/titleStmt/author")],
        language=language or _language(header),
        date=_date(header),
        publisher=next(map(_text, _printed(header, "publisher")), None),
        volume=_volume(titles + _all(header, "fileDesc/sourceDesc//biblScope")),
        identifiers=map(_identifier, numbers),
    )


def _title(titles: list[Element]) -> str | None:
    titles = [title for title in titles if title.get("type") not in {"volume", "sub", "short"}] or titles
    main = next((title for title in titles if title.get("type") == "main"), titles[0] if titles else None)
    return None if main is None else _ABOUT_THE_FILE.sub("", _text(main) or "")


def _identifier(number: Element) -> str | None:
    """Return the identifier. A short-title catalogue named in the value overrides the type."""
    text = _text(number) or ""
    catalogue = _STC.match(text)
    return identifier(
        catalogue[1] if catalogue else number.get("type", ""), text[catalogue.end() :] if catalogue else text
    )


def _author(author: Element) -> str | None:
    """Return the name of an author, without identifiers."""
    name = next(iter(_all(author, ".//persName")), author)
    parts = [_text(part) for kind in _NAME_PARTS for part in _all(name, f".//{kind}")]
    return " ".join(filter(None, parts)) or _text(name)


def _language(header: Element) -> str | None:
    """Return the language of most of the text, or the first language if no shares are given."""
    languages = _all(header, "profileDesc/langUsage/language")
    most = max(languages, key=lambda language: _share(language.get("usage")), default=None)
    return None if most is None else most.get("ident") or most.get("id") or _text(most)


def _date(header: Element) -> str | None:
    """Return the publication date of the book, or else of the file."""
    for date in _printed(header, "date") + _all(header, "fileDesc/publicationStmt/date"):
        for given in (date.get("when"), date.get("value"), _text(date), date.get("notBefore")):
            if given and _YEAR.search(given):
                return given
    return None


def _printed(header: Element, name: str) -> list[Element]:
    """Return the elements of this name that describe the printed source."""
    return [
        element
        for element in _all(header, f"fileDesc/sourceDesc//{name}")
        if not any(parent.get("type") == "digitalSource" for parent in element.iterancestors())
    ]


def _volume(places: list[Element]) -> str | None:
    for place in places:
        if "volume" in {place.get("type"), place.get("unit")}:
            return place.get("n") or _text(place)
    return None


def _share(usage: str | None) -> int:
    return int(usage) if usage and usage.isdecimal() and len(usage) < 4 else 0


def _text(element: Element) -> str | None:
    return clean(" ".join(text for text in element.itertext() if isinstance(text, str)))


def _all(element: Element, path: str) -> list[Element]:
    """Return the elements of a path of local names, in any namespace."""
    return list(element.iterfind(re.sub(r"\w+", r"{*}\g<0>", path)))
