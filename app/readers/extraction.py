"""What a reader makes of a file: the text of one book and what the file says of it, as they can be kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from app.core.book_rules import LONGEST_LABEL, known_labels
from app.core.errors import BrokenFile, EmptyText, InvalidText, NoText
from app.core.model import CatalogRecord, Content, Metadata, PageLabels, Submission
from app.core.text.content import content_from_pages, content_from_text
from app.core.text.page_furniture import with_plain_hyphens, without_furniture

_CONTROLS = bytes(byte for byte in (*range(32), 127) if chr(byte) not in "\t\n\f\r")
"""They have the same bytes in UTF-8, where these are part of no other character."""


@dataclass(frozen=True, slots=True, eq=False)
class Extraction:
    """One book as a file has it, before running heads and the like are treated."""

    format: str  # "txt", "html", "epub", "pdf", "hocr", "alto", …, as the API names it
    pages: Sequence[str]  # the text of each page, blank ones too; one text where the pages are not known
    paginated: bool  # whether `pages` are pages
    printed_lines: bool = False  # whether line breaks in the text are those of the printed page
    metadata: Metadata = field(default_factory=Metadata)
    labels: PageLabels = ()  # what is printed on each page as its number
    warnings: Sequence[str] = ()  # what was left out or guessed, as sentences


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


def submission_of(extraction: Extraction, known: Metadata, record: CatalogRecord | None = None) -> Submission:
    """The book in a file, from an extraction without page furniture; raises as `content_of` does.

    `known` are all metadata of the book, and `record` is where they were taken from, if they came in one.
    """
    return Submission(
        known,
        content_of(extraction),
        page_labels=extraction.labels,
        record=record,
        format=extraction.format,
        warnings=extraction.warnings,
    )


def with_plain_labels(extraction: Extraction) -> Extraction:
    """The same book with labels that can be stored.

    A label without a letter or a digit stands for a page without one, as " - " in a METS. One of more than 32
    characters is left out with a warning. A text without pages has no labels.
    """
    labels = [_plain(label) for label in extraction.labels] if extraction.paginated else []
    long = [index for index, label in enumerate(labels) if label and len(label) > LONGEST_LABEL]
    for index in long:
        labels[index] = None
    warnings = list(extraction.warnings)
    if long:
        warnings.append(
            f"Page labels of more than {LONGEST_LABEL} characters were left out: {len(long):,}, the first on "
            f"page {long[0] + 1}."
        )
    return replace(extraction, labels=known_labels(labels), warnings=warnings)


def with_characters_only(extraction: Extraction) -> Extraction:
    """The same book without control characters, with U+FFFD for half a surrogate pair, and warnings of it."""
    pages, controls, halves = [], 0, 0
    for page in extraction.pages:
        try:
            data = page.encode()
        except UnicodeEncodeError:
            page = page.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            data = page.encode()
            halves += 1
        text = data.translate(None, _CONTROLS)
        controls += len(data) - len(text)
        pages.append(page if text == data else text.decode())
    warnings: Sequence[str] = [
        *extraction.warnings,
        *([f"{controls:,} control characters were left out."] if controls else []),
        *([f"U+FFFD stands for half surrogate pairs; pages with them: {halves:,}."] if halves else []),
    ]
    return replace(extraction, pages=pages, warnings=warnings) if controls or halves else extraction


def _plain(label: str | None) -> str | None:
    shown = "".join(character if character.isprintable() else " " for character in label or "")
    return " ".join(shown.split()) if any(map(str.isalnum, shown)) else None
