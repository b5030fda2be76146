"""What a reader makes of a file: the text of one book, and what the file says about it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.core.model import Metadata, PageLabels


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
