"""ALTO, versions 1 to 4, with any namespace or none: one or several pages of recognised text.

A word that is divided at a line's end stands in `SUBS_CONTENT` of its first part (ALTO schema, String).
"""

from app.core.text.page_labels import known_labels
from app.readers.extraction import Extraction
from app.readers.source import Source
from app.readers.syntax.xml import Element, elements, local_name

NAME = "alto"
ROOT = "alto"


def read(source: Source) -> Extraction:
    """The pages of the file; raises BrokenFile."""
    pages, labels = [], []
    for page in elements(source, "Page"):
        pages.append(_page(page))
        labels.append(page.get("PRINTED_IMG_NR"))
    return Extraction(NAME, pages, paginated=True, printed_lines=True, labels=known_labels(labels))


def _page(page: Element) -> str:
    return "\n".join(_line(line) for line in page.iter("{*}TextLine"))


def _line(line: Element) -> str:
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
