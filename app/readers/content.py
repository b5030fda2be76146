"""From what a reader found to the content that signatures are computed from."""

from app.core.errors import BrokenFile, EmptyText, InvalidText, NoText
from app.core.model import Content
from app.core.text.content import content_from_pages, content_from_text
from app.core.text.page_furniture import with_plain_hyphens, without_furniture
from app.readers.extraction import Extraction


def to_content(extraction: Extraction) -> Content:
    """The content of the book in a file, without running heads, page numbers and catchwords.

    Raises NoText where there is no letter and no digit, and BrokenFile for what no text has.
    """
    pages = [with_plain_hyphens(page) for page in extraction.pages]
    if extraction.printed_lines and extraction.paginated:
        pages = without_furniture(pages)
    try:
        if extraction.paginated:
            return content_from_pages(pages)
        return content_from_text("\n".join(pages))
    except EmptyText as exc:
        raise NoText("The file holds no text. Have its pages recognised (OCR) first.") from exc
    except InvalidText as exc:
        raise BrokenFile(f"The file's text is damaged. {exc}") from exc
