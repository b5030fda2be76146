"""Page labels: what is printed on a page as its number, as "xii" or "[3]", or said of it by a catalogue.

They describe one copy, as metadata do: no part of them enters a signature or the content key.
"""

from collections.abc import Sequence

from app.core.book_rules import control_in
from app.core.errors import InvalidInput
from app.core.model import PageLabels

LONGEST_LABEL = 32
"""Characters."""


def known_labels(labels: Sequence[str | None]) -> PageLabels:
    """The labels of all pages; empty where none is known.

    >>> known_labels([None, "1"]), known_labels([None, None])
    ((None, '1'), ())
    """
    return tuple(labels) if any(labels) else ()


def checked_labels(
    labels: Sequence[str | None], page_count: int | None, field: str = "page_labels"
) -> PageLabels:
    """The labels that were sent with a book of so many pages.

    Raises InvalidInput unless there is one a page, each null or of 1 to 32 characters, no control among them.
    """
    if len(labels) != page_count:
        pages = "no pages" if page_count is None else f"{page_count:,} pages"
        raise InvalidInput(
            f"{len(labels):,} labels came with {pages}. Send one for each page, null where it has none.",
            field,
        )
    for index, label in enumerate(labels):
        if label is not None and not (0 < len(label) <= LONGEST_LABEL and control_in(label) is None):
            raise InvalidInput(
                f"A label has 1 to {LONGEST_LABEL} characters and no control character. Send null where "
                "there is none.",
                f"{field}[{index}]",
            )
    return known_labels(labels)
