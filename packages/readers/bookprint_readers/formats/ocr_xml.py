"""Recognised text in XML: ABBYY FineReader, ALTO, DjVuXML and PAGE, page by page and line by line."""

import math
import re
from collections import defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain

from bookprint_core.book_rules import known_labels
from bookprint_readers.extraction import Extraction, is_furniture, plain_kind, printed_label
from bookprint_readers.source import Source
from bookprint_readers.syntax.xml import Element, elements, local_name

ABBYY_ROOTS = ("document", "page")
"""Names of the root element, which other formats use, too."""

_ABBYY_SIGN = re.compile(
    rb"abbyy|FineReader|\bblockType\s*=|<(?:\w+:)?charParams\b|\boriginalCoords\s*=", re.IGNORECASE
)

_ALTO_BLOCKS = ("{*}TextBlock", "{*}ComposedBlock", "{*}Illustration", "{*}GraphicalElement")
_ALTO_MARGINS = ("TopMargin", "BottomMargin")
_FOOT_LINES = 3  # lines at the foot of a page that may be page furniture

_HYPHENS = ("-", "\u00ac", "\u00ad", "\u2010", "\u2e17")

_ORDER = re.compile(r"readingOrder\s*\{\s*index:\s*(\d{1,9})")
_STRUCTURE = re.compile(r"structure\s*\{[^}]*?type:\s*([\w-]+)")  # in Transkribus's attribute `custom`

_DJVU_SEPARATORS = {"PAGECOLUMN": "\n", "REGION": "\n", "PARAGRAPH": "\n", "LINE": "\n", "WORD": " "}
_DJVU_WITHOUT_BLANKS = {"WORD", "CHARACTER"}

_READING_ORDER = frozenset((
    "OrderedGroup", "UnorderedGroup", "OrderedGroupIndexed", "UnorderedGroupIndexed", "RegionRef",
    "RegionRefIndexed",
))  # fmt: skip
"""Elements of PAGE's reading order: groups, and references to regions."""


def is_abbyy(head: bytes) -> bool:
    """Return whether a document with one of ABBYY_ROOTS comes from FineReader."""
    return _ABBYY_SIGN.search(head.replace(b"\0", b"")) is not None


def read_abbyy(source: Source) -> Extraction:
    """Return the pages of FineReader XML, versions 6 to 10, including blank pages. Raises BrokenFile.

    A document of one page may have `page` as its root. White space within `charParams` belongs to the text.
    White space between these elements is ignored (FineReader_xml schema, CharParamsType).
    """
    repairs: list[str] = []
    found = elements(source, "page", repairs=repairs)
    pages = ["\n".join(map(_abbyy_line, page.iter("{*}line"))) for page in found]
    return Extraction("abbyy", pages, paginated=True, printed_lines=True, warnings=repairs)


def _abbyy_line(line: Element) -> str:
    parts: list[str] = []
    for formatting in line:
        if len(formatting) == 0:
            parts.append(formatting.text or "")
        else:
            parts.extend(_abbyy_character(child) for child in formatting if local_name(child) == "charParams")
    return " ".join("".join(parts).split())


def _abbyy_character(element: Element) -> str:
    """Return the character. An empty element is a space that a program has stripped."""
    text = element.text or ""
    # Alternative readings precede or follow the character.
    return text.strip() or "".join(child.tail or "" for child in element).strip() or " "


def read_alto(source: Source) -> Extraction:
    """Return the pages of ALTO, versions 1 to 4, with any namespace or none. Raises BrokenFile.

    Blocks follow ReadingOrder (ALTO 4.3), else IDNEXT, else the order of the file. Page furniture consists of
    the top and bottom margins, and of the blocks and lines that tags mark.
    """
    pages, labels = [], []
    repairs: list[str] = []
    tags: set[str] = set()
    order: list[str] = []
    for element in elements(source, "Page", "ReadingOrder", "Tags", repairs=repairs):
        name = local_name(element)
        if name == "Tags":
            tags.update(tag.get("ID", "") for tag in element if is_furniture(tag.get("LABEL")))
        elif name == "ReadingOrder":
            order += [name for part in element.iter("*") for name in part.get("REF", "").split()]
        else:
            lines, furniture = _alto_lines(element, order or _chained(element), tags)
            text, apart = _alto_text(lines), _alto_text(furniture)
            pages.append(text or apart)
            labels.append(element.get("PRINTED_IMG_NR") or printed_label(apart))
    return Extraction(
        "alto", pages, paginated=True, printed_lines=True, labels=known_labels(labels), warnings=repairs
    )


def _chained(page: Element) -> list[str]:
    """Return the ids of the blocks of a page in the order of IDNEXT; an empty list without IDNEXT."""
    following = {block.get("ID", ""): block.get("IDNEXT", "") for block in page.iter(*_ALTO_BLOCKS)}
    targets = set(following.values())
    order: dict[str, None] = {}
    for name in [*(name for name in following if name not in targets), *following]:
        while targets != {""} and name in following and name not in order:
            order[name] = None
            name = following[name]
    return list(order)


def _alto_lines(
    page: Element, order: Iterable[str], tags: Container[str]
) -> tuple[list[Element], list[Element]]:
    """Return the lines of a page, with those that `order` omits last, and its lines of page furniture."""
    named: dict[str, list[Element]] = {name: [] for name in order}
    rest: list[Element] = []
    furniture: list[Element] = []
    marked: dict[Element, bool] = {}
    for line in page.iter("{*}TextLine"):
        around = [line, *line.iterancestors()]
        for part in around:
            if part not in marked:
                marked[part] = local_name(part) in _ALTO_MARGINS or any(
                    tag in tags for tag in part.get("TAGREFS", "").split()
                )
        if any(map(marked.__getitem__, around)):
            furniture.append(line)
        else:
            name = next((name for part in around if (name := part.get("ID", "")) in named), "")
            named.get(name, rest).append(line)
    return [*chain(*named.values()), *rest], furniture


def _alto_text(lines: Iterable[Element]) -> str:
    """Return the text of lines, with each divided word whole in the place of its first half.

    SUBS_CONTENT of both halves contains the whole word (ALTO schema, String). A second half alone stays as it
    is printed. A first half alone becomes the whole word, except at the foot of the page. This half keeps its
    hyphen, so that the normal form joins the word.
    """
    rows = [[part for part in line if local_name(part) in {"String", "HYP"}] for line in lines]
    strings = [
        (part, number) for number, row in enumerate(rows) for part in row if local_name(part) == "String"
    ]
    wholes = _alto_wholes(strings, len(rows) - _FOOT_LINES)
    words: list[list[str]] = [[] for _ in rows]
    divided: dict[int, int] = {}  # by line: number of words up to a first half
    for (string, number), whole in zip(strings, wholes, strict=True):
        if whole != "":
            words[number].append(string.get("CONTENT", "") if whole is None else whole)
            if whole is not None:
                divided[number] = len(words[number])
    for number, row in enumerate(rows):
        end = divided.get(number)
        if end is not None:
            if not any(sum(map(str.isalnum, word)) > 1 for word in words[number][end:]):
                del words[number][end:]  # the hyphen, and marks between columns
        elif row and local_name(row[-1]) == "HYP" and not (words[number] or [""])[-1].endswith(_HYPHENS):
            words[number][-1:] = [f"{word}-" for word in words[number][-1:] or [""]]
    return "\n".join(map(" ".join, words))


def _alto_wholes(strings: Sequence[tuple[Element, int]], foot: int) -> list[str | None]:
    """Return the text of each String: None for its own content, "" if its first half contains the word.

    From the line `foot` on, a first half alone stays a half: the other half may begin the next page.
    """
    seconds = defaultdict[str, deque[int]](deque)
    for position, (string, _) in enumerate(strings):
        if string.get("SUBS_TYPE") == "HypPart2":
            seconds[string.get("SUBS_CONTENT", "")].append(position)
    wholes: list[str | None] = [None] * len(strings)
    for position, (string, line) in enumerate(strings):
        content, whole = string.get("CONTENT", ""), string.get("SUBS_CONTENT")
        if not whole or string.get("SUBS_TYPE") != "HypPart1" or wholes[position] == "":
            continue
        later = seconds[whole]
        while later and later[0] < position:
            later.popleft()
        after = position + 1 if position + 1 < len(strings) else None
        bare = content.rstrip("".join(_HYPHENS)).casefold()
        if later:
            wholes[later.popleft()] = ""
        elif after and bare + strings[after][0].get("CONTENT", "").casefold() == whole.casefold():
            wholes[after] = ""
        elif line >= foot:
            whole = content if content.endswith(_HYPHENS) else f"{content}-"
        wholes[position] = whole
    return wholes


def read_djvu(source: Source) -> Extraction:
    """Return the pages of DjVuXML, the Internet Archive's `_djvu.xml`. Raises BrokenFile.

    Each OBJECT contains the hidden text of a page, which may be blank. The text may be divided into words,
    into lines, or not at all (DjVuXML 1.1 DTD, HIDDENTEXT).
    """
    repairs: list[str] = []
    pages = [_djvu_page(page) for page in elements(source, "OBJECT", repairs=repairs)]
    return Extraction("djvu", pages, paginated=True, printed_lines=True, warnings=repairs)


def _djvu_page(page: Element) -> str:
    parts: list[str] = []
    for element in page.iter("*"):
        name, text = local_name(element), element.text or ""
        parts.append(_DJVU_SEPARATORS.get(name, ""))
        parts.append(text.strip() if name in _DJVU_WITHOUT_BLANKS else text)
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(filter(None, lines))


def read_page(source: Source) -> Extraction:
    """Return the pages of PAGE-XML, usually one, in any version (2009 to 2024). Raises BrokenFile.

    Regions follow the reading order, or the order of the file without one (PAGE schema, ReadingOrder).
    """
    repairs: list[str] = []
    found = [_page_of_regions(page) for page in elements(source, "Page", repairs=repairs)]
    return Extraction(
        "page",
        [text for text, _ in found],
        paginated=True,
        printed_lines=True,
        labels=known_labels([label for _, label in found]),
        warnings=repairs,
    )


def _page_of_regions(page: Element) -> tuple[str, str | None]:
    """Return the text of a page without page furniture, and the page number if a region contains it."""
    regions = [part for part in page.iter() if _is_region(part)]
    by_id = {region.get("id"): region for region in reversed(regions)}
    names = [name for order in page.iterchildren("{*}ReadingOrder") for name in _names(order)]
    apart = dict.fromkeys(by_id[name] for name in names if name in by_id)
    order = [*apart, *_in_order(part for part in page if _is_region(part) and part not in apart)]
    texts = [(_region(region, apart), _furniture_of(region)) for region in order]
    body: list[str] = []
    for text, furniture in texts:
        # Some engines call headings within a page `header`, too.
        if text and (furniture is None or (furniture == "header" and body)):
            body.append(text)
    label = printed_label("\n".join(text for text, furniture in texts if furniture == "pagenumber"))
    return "\n".join(body if any(map(str.strip, body)) else (text for text, _ in texts if text)), label


def _furniture_of(region: Element) -> str | None:
    """Return the kind of page furniture in a region, from `type` or Transkribus's `custom`, or None."""
    kind = region.get("type") or "".join(_STRUCTURE.findall(region.get("custom", ""))[:1])
    return plain_kind(kind) if is_furniture(kind) else None


def _in_order(parts: Iterable[Element]) -> list[Element]:
    """Sort the parts by `index` or Transkribus's `custom`; if a part has neither, return the file's order."""
    found = list(parts)
    stated = [part.get("index") or "".join(_ORDER.findall(part.get("custom", ""))[:1]) for part in found]
    if not all(stated):
        return found
    order = sorted(range(len(found)), key=lambda position: _number(stated[position]))
    return [found[position] for position in order]


def _names(group: Element) -> Iterator[str]:
    """Yield the ids of the regions in a group of the reading order."""
    yield group.get("regionRef", "")
    parts = [part for part in group if local_name(part) in _READING_ORDER]
    for part in sorted(parts, key=lambda part: _number(part.get("index"))):
        yield from _names(part)


def _region(region: Element, apart: Container[Element]) -> str:
    """Return the text of a region, without inner regions that the reading order names.

    The region's own text is used if neither its lines nor its inner regions contain text.
    """
    texts = [
        _main_text(line) or " ".join(filter(None, map(_word, line.iterchildren("{*}Word"))))
        for line in _in_order(region.iterchildren("{*}TextLine"))
    ]
    inner = sorted(filter(_is_region, region), key=_cell)
    texts += [_region(part, apart) for part in inner if part not in apart and not _furniture_of(part)]
    return "\n".join(texts) if any(map(str.strip, texts)) else _main_text(region)


def _cell(part: Element) -> tuple[float, float]:
    """Return row and column of a table's cell. All other regions have equal values, so their order stays."""
    role = next(part.iterfind("{*}Roles/{*}TableCellRole"), None)
    if role is not None:
        return _number(role.get("rowIndex")), _number(role.get("columnIndex"))
    return _number(part.get("row")), _number(part.get("col"))


def _word(word: Element) -> str:
    return _main_text(word) or "".join(map(_main_text, word.iterchildren("{*}Glyph")))


def _main_text(part: Element) -> str:
    """Return the text of the reading with the lowest index or, without indexes, the highest confidence."""
    readings = [(_reading(reading), reading) for reading in part.iterchildren("{*}TextEquiv")]
    return min(
        (found for found in readings if found[0]),
        key=lambda found: (_number(found[1].get("index")), -_number(found[1].get("conf"), 0)),
        default=("", part),
    )[0]


def _reading(reading: Element) -> str:
    text = reading.findtext("{*}Unicode")
    return (text if text is not None else reading.findtext("{*}PlainText") or "").strip()


def _is_region(part: Element) -> bool:
    # Transkribus writes the cells of a table as TableCell.
    return local_name(part).endswith("Region") or local_name(part) == "TableCell"


def _number(value: str | None, absent: float = math.inf) -> float:
    try:
        number = float(value) if value else absent
    except ValueError:
        return absent
    return absent if math.isnan(number) else number
