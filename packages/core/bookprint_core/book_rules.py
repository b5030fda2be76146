"""Rules for every book, sent over HTTP, from a command line, in bulk or in a corpus.

A page label is the number printed on a page, such as "xii" or "[3]", or given by a library catalogue. Labels
describe one copy, as metadata do: neither signatures nor the content key depend on them.
"""

from collections.abc import Sequence
from dataclasses import replace

from bookprint_core.errors import FileTooLarge, InvalidInput
from bookprint_core.metadata import checked_metadata, control_in
from bookprint_core.model import PageLabels, Submission

MAX_PAGES = 100_000
LONGEST_LABEL = 32


def checked(submission: Submission) -> Submission:
    """Return the book with plain metadata; raise InvalidInput, or FileTooLarge for too many pages."""
    content = submission.content
    if content is not None and (content.page_count or 0) > MAX_PAGES:
        raise FileTooLarge(f"The book has more than {MAX_PAGES:,} pages. Split it into its volumes.")
    return replace(submission, metadata=checked_metadata(submission.metadata))


def known_labels(labels: Sequence[str | None]) -> PageLabels:
    """Return the labels of all pages, or an empty tuple if no label is known.

    >>> known_labels([None, "1"]), known_labels([None, None])
    ((None, '1'), ())
    """
    return tuple(labels) if any(labels) else ()


def checked_labels(labels: Sequence[str | None], page_count: int | None) -> PageLabels:
    """Return the labels that were sent with a book of `page_count` pages.

    Raises InvalidInput unless each page has a label: None, or 1 to 32 characters without control characters.
    """
    if len(labels) != page_count:
        pages = "no pages" if page_count is None else f"{page_count:,} pages"
        raise InvalidInput(
            f"{len(labels):,} labels came with {pages}. Send one for each page, null where it has none.",
            "page_labels",
        )
    for index, label in enumerate(labels):
        if label is not None and not (0 < len(label) <= LONGEST_LABEL and control_in(label) is None):
            raise InvalidInput(
                f"A label has 1 to {LONGEST_LABEL} characters and no control character. Send null where "
                "there is none.",
                f"page_labels[{index}]",
            )
    return known_labels(labels)
