"""Text of MARC fields without the punctuation that cataloguing rules (ISBD) put between them."""

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200c\u200d\ufeff]+")
"""Control characters, begin and end of what is not sorted among them."""

_MARKS = " \t,;:/="
_KEPT_PERIOD = re.compile(r"(?:\.\.|\b[^\W\d_]{1,2})\.$")
"""The end of an initial, of a short abbreviation or of an ellipsis."""


def plain(text: str) -> str:
    """The text on one line, without control characters and marks of sorting."""
    return " ".join(_CONTROL.sub("", text.translate(_LINE_ENDS)).split())


def trimmed(text: str) -> str:
    """The plain text without ISBD punctuation at its end.

    >>> trimmed("Summerland /"), trimmed("Austen, Jane,"), trimmed("Smith, J."), trimmed("Random House.")
    ('Summerland', 'Austen, Jane', 'Smith, J.', 'Random House')
    """
    text = plain(text).rstrip(_MARKS)
    if text.endswith(".") and not _KEPT_PERIOD.search(text):
        text = text[:-1].rstrip(_MARKS)
    return unbracketed(text)


def unbracketed(text: str) -> str:
    """The text without brackets around all of it, which say that it was not on the title page."""
    inner = text[1:-1]
    return inner.strip() if text[:1] == "[" and text[-1:] == "]" and not set("[]") & set(inner) else text


_LINE_ENDS = str.maketrans("\t\n\r", "   ")
