"""DjVuXML, as the Internet Archive gives it in `_djvu.xml`: one OBJECT with the hidden text of each page.

The text may be divided into words, into lines, or not at all (DjVuXML 1.1 DTD, HIDDENTEXT).
"""

from app.readers.extraction import Extraction
from app.readers.source import Source
from app.readers.syntax.xml import Element, elements, local_name

NAME = "djvu"
ROOT = "DjVuXML"

_SEPARATORS = {"PAGECOLUMN": "\n", "REGION": "\n", "PARAGRAPH": "\n", "LINE": "\n", "WORD": " "}
_WITHOUT_BLANKS = {"WORD", "CHARACTER"}


def read(source: Source) -> Extraction:
    """The pages of the file, blank ones too; raises BrokenFile."""
    pages = [_page(page) for page in elements(source, "OBJECT")]
    return Extraction(NAME, pages, paginated=True, printed_lines=True)


def _page(page: Element) -> str:
    parts: list[str] = []
    for element in page.iter("*"):
        name, text = local_name(element), element.text or ""
        parts.append(_SEPARATORS.get(name, ""))
        parts.append(text.strip() if name in _WITHOUT_BLANKS else text)
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(filter(None, lines))
