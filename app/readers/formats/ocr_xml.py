"""Recognised text in XML: ABBYY FineReader, ALTO, DjVuXML and PAGE, page by page and line by line."""

import math
import re
from collections.abc import Container, Iterator

from app.core.book_rules import known_labels
from app.readers.extraction import Extraction
from app.readers.source import Source
from app.readers.syntax.xml import Element, elements, local_name

ABBYY_ROOTS = ("document", "page")
"""Names of the document's element, which other formats use, too."""

_ABBYY_SIGN = re.compile(
    rb"abbyy|FineReader|\bblockType\s*=|<(?:\w+:)?charParams\b|\boriginalCoords\s*=", re.IGNORECASE
)

_DJVU_SEPARATORS = {"PAGECOLUMN": "\n", "REGION": "\n", "PARAGRAPH": "\n", "LINE": "\n", "WORD": " "}
_DJVU_WITHOUT_BLANKS = {"WORD", "CHARACTER"}

_READING_ORDER = frozenset((
    "OrderedGroup", "UnorderedGroup", "OrderedGroupIndexed", "UnorderedGroupIndexed", "RegionRef",
    "RegionRefIndexed",
))  # fmt: skip
"""Groups of the reading order of PAGE, and references to regions in them."""


def is_abbyy(head: bytes) -> bool:
    """Whether a document with one of ABBYY_ROOTS is FineReader's."""
    return _ABBYY_SIGN.search(head.replace(b"\0", b"")) is not None


def read_abbyy(source: Source) -> Extraction:
    """The pages of FineReader XML, versions 6 to 10, blank ones too; raises BrokenFile.

    A document of one page may have `page` as its root. White space within `charParams` is a space of the
    text, white space between them is none (FineReader_xml schema, CharParamsType).
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
    """The character; an empty element is a space from which a program has taken the white space."""
    text = element.text or ""
    # Variants of the recognition stand before the character or behind it.
    return text.strip() or "".join(child.tail or "" for child in element).strip() or " "


def read_alto(source: Source) -> Extraction:
    """The pages of ALTO, versions 1 to 4, with any namespace or none; raises BrokenFile.

    A word that is divided at a line's end stands in `SUBS_CONTENT` of its first part (ALTO schema, String).
    """
    pages, labels = [], []
    repairs: list[str] = []
    for page in elements(source, "Page", repairs=repairs):
        pages.append("\n".join(map(_alto_line, page.iter("{*}TextLine"))))
        labels.append(page.get("PRINTED_IMG_NR"))
    return Extraction(
        "alto", pages, paginated=True, printed_lines=True, labels=known_labels(labels), warnings=repairs
    )


def _alto_line(line: Element) -> str:
    words = []
    ends_divided = False
    for part in line:
        if local_name(part) == "HYP":
            ends_divided = True
        if local_name(part) != "String":
            continue
        ends_divided = False
        whole, role = part.get("SUBS_CONTENT"), part.get("SUBS_TYPE")
        if whole and role == "HypPart2":
            continue
        if whole and role == "HypPart1":
            words.append(whole)
            break  # what may follow is the hyphen
        words.append(part.get("CONTENT", ""))
    # A word divided without SUBS_CONTENT keeps its hyphen, by which the normal form joins it.
    return " ".join(words) + ("-" if ends_divided else "")


def read_djvu(source: Source) -> Extraction:
    """The pages of DjVuXML, as the Internet Archive gives it in `_djvu.xml`; raises BrokenFile.

    An OBJECT has the hidden text of a page, blank ones too. The text may be divided into words, into lines,
    or not at all (DjVuXML 1.1 DTD, HIDDENTEXT).
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
    """The pages of PAGE-XML of any version (2009 to 2024), as a rule one; raises BrokenFile.

    Regions come in the reading order where there is one, else as they stand (PAGE schema, ReadingOrder).
    """
    repairs: list[str] = []
    pages = [_page_of_regions(page) for page in elements(source, "Page", repairs=repairs)]
    return Extraction("page", pages, paginated=True, printed_lines=True, warnings=repairs)


def _page_of_regions(page: Element) -> str:
    regions = [part for part in page.iter() if _is_region(part)]
    by_id = {region.get("id"): region for region in reversed(regions)}
    names = [name for order in page.iterchildren("{*}ReadingOrder") for name in _names(order)]
    apart = dict.fromkeys(by_id[name] for name in names if name in by_id)
    order = [*apart, *(part for part in page if _is_region(part) and part not in apart)]
    texts = [_region(region, apart) for region in order]
    if not any(text.strip() for text in texts):  # lines without text beside regions with text
        texts = [_main_text(region) for region in order]
    return "\n".join(text for text in texts if text)


def _names(group: Element) -> Iterator[str]:
    """The ids of the regions in a group of the reading order."""
    yield group.get("regionRef", "")
    parts = [part for part in group if local_name(part) in _READING_ORDER]
    for part in sorted(parts, key=lambda part: _number(part.get("index"))):
        yield from _names(part)


def _region(region: Element, apart: Container[Element]) -> str:
    """The text of a region, without those in it that stand apart in the reading order."""
    lines = list(region.iterchildren("{*}TextLine"))
    inner = [part for part in region if _is_region(part)]
    if not lines and not inner:
        return _main_text(region)
    texts = [_text_line(line) for line in lines]
    texts += [_region(part, apart) for part in sorted(inner, key=_cell) if part not in apart]
    return "\n".join(texts)


def _cell(part: Element) -> tuple[float, float]:
    """Row and column of a cell of a table; the same for all else, which stays as it stands."""
    role = next(part.iterfind("{*}Roles/{*}TableCellRole"), None)
    if role is not None:
        return _number(role.get("rowIndex")), _number(role.get("columnIndex"))
    return _number(part.get("row")), _number(part.get("col"))


def _text_line(line: Element) -> str:
    return _main_text(line) or " ".join(filter(None, map(_word, line.iterchildren("{*}Word"))))


def _word(word: Element) -> str:
    return _main_text(word) or "".join(map(_main_text, word.iterchildren("{*}Glyph")))


def _main_text(part: Element) -> str:
    """Of several readings the one with the lowest index, else that of the highest confidence."""
    readings = list(part.iterchildren("{*}TextEquiv"))
    if not readings:
        return ""
    best = min(
        readings, key=lambda reading: (_number(reading.get("index")), -_number(reading.get("conf"), 0))
    )
    text = best.findtext("{*}Unicode")
    return (text if text is not None else best.findtext("{*}PlainText") or "").strip()


def _is_region(part: Element) -> bool:
    # Transkribus writes the cells of a table as TableCell.
    return local_name(part).endswith("Region") or local_name(part) == "TableCell"


def _number(value: str | None, absent: float = math.inf) -> float:
    try:
        number = float(value) if value else absent
    except ValueError:
        return absent
    return absent if math.isnan(number) else number
