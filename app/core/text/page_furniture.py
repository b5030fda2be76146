"""Page furniture: what a printer put on a page that is no part of the text that runs through the pages.

Running heads, page numbers and catchwords belong to one edition, so they keep the pages of two editions, and
the words that a page break divides, from meeting. They are known by where they stand and how they repeat.
"""

from collections.abc import Sequence


def without_furniture(pages: Sequence[str]) -> list[str]:
    """The pages without running heads, page numbers and catchwords."""
    return list(pages)
