"""PAGE-XML of any version (2009 to 2024): the regions, lines and words of one page.

Regions come in the reading order where the file gives one, else as they stand (PAGE schema, ReadingOrder).
"""

import math
from collections.abc import Container, Iterator

from app.readers.extraction import Extraction
from app.readers.source import Source
from app.readers.syntax.xml import Element, elements, local_name

NAME = "page"
ROOT = "PcGts"

_GROUPS = ("OrderedGroup", "UnorderedGroup", "OrderedGroupIndexed", "UnorderedGroupIndexed")
_REFERENCES = ("RegionRef", "RegionRefIndexed")


def read(source: Source) -> Extraction:
    """The pages of the file, as a rule one; raises BrokenFile."""
    pages = [_page(page) for page in elements(source, "Page")]
    return Extraction(NAME, pages, paginated=True, printed_lines=True)


def _page(page: Element) -> str:
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
    parts = [part for part in group if local_name(part) in _GROUPS or local_name(part) in _REFERENCES]
    for part in sorted(parts, key=lambda part: _number(part.get("index"))):
        yield from _names(part)


def _region(region: Element, apart: Container[Element]) -> str:
    """The text of a region, without those in it that stand apart in the reading order."""
    lines = list(region.iterchildren("{*}TextLine"))
    inner = [part for part in region if _is_region(part)]
    if not lines and not inner:
        return _main_text(region)
    texts = [_line(line) for line in lines]
    texts += [_region(part, apart) for part in sorted(inner, key=_cell) if part not in apart]
    return "\n".join(texts)


def _cell(part: Element) -> tuple[float, float]:
    """Row and column of a cell of a table; the same for all else, which stays as it stands."""
    role = next(part.iterfind("{*}Roles/{*}TableCellRole"), None)
    if role is not None:
        return _number(role.get("rowIndex")), _number(role.get("columnIndex"))
    return _number(part.get("row")), _number(part.get("col"))


def _line(line: Element) -> str:
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
