"""From what a reader found to the content that signatures are computed from."""

from dataclasses import replace

from app.core.errors import BrokenFile, EmptyText, InvalidText, NoText
from app.core.model import Content
from app.core.text.content import content_from_pages, content_from_text
from app.core.text.page_furniture import with_plain_hyphens, without_furniture
from app.readers.extraction import Extraction


def without_page_furniture(extraction: Extraction) -> Extraction:
    """The same book without running heads, page numbers and catchwords, its hyphens plain.

    It needs no kernel, so a process that reads one file can do it.
    """
    pages = [with_plain_hyphens(page) for page in extraction.pages]
    if extraction.printed_lines and extraction.paginated:
        pages = without_furniture(pages)
    return replace(extraction, pages=pages, printed_lines=False)


def content_of(extraction: Extraction) -> Content:
    """The content of a book without page furniture.

    Raises NoText where there is no letter and no digit, and BrokenFile for what no text has.
    """
    try:
        if extraction.paginated:
            return content_from_pages(extraction.pages)
        return content_from_text("\n".join(extraction.pages))
    except EmptyText as exc:
        raise NoText("The file holds no text. Have its pages recognised (OCR) first.") from exc
    except InvalidText as exc:
        raise BrokenFile(f"The file's text is damaged. {exc}") from exc


def to_content(extraction: Extraction) -> Content:
    """The content of the book in a file, as a reader found it; raises as `content_of` does."""
    return content_of(without_page_furniture(extraction))
