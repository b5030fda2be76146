"""The rules of a book that hold however it comes in: over HTTP, from a command line, in bulk or in a corpus.

Lengths are in characters. What is too long is refused, never cut. Page labels are what is printed on a page
as its number, as "xii" or "[3]", or said of it by a catalogue. They describe one copy, as metadata do: no
part of them enters a signature or the content key.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from app.core.errors import FileTooLarge, InvalidInput
from app.core.model import Metadata, PageLabels, Submission

MAX_PAGES = 100_000
LONGEST_TITLE = 10_000
LONGEST_AUTHOR = LONGEST_VOLUME = 1_000
LONGEST_LANGUAGE = 35
LONGEST_EXTERNAL_ID = 500
LONGEST_IDENTIFIER = 300
LONGEST_LABEL = 32
LONGEST_COLLECTION = 100
MOST_AUTHORS = MOST_IDENTIFIERS = 1_000
MOST_YEAR = 9_999
"""The last year; the first is as far before the common era."""

CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""Characters that no name may hold, as a class of a regular expression: C0 and C1 but tab and line ends."""

# Python and ECMAScript differ in which control characters are white space.
NAME_PATTERN = f"[^{CONTROLS}]*[^\\s{CONTROLS}\\ufeff][^{CONTROLS}]*"
"""A name that is not blank."""

IDENTIFIER_PATTERN = f"^[0-9A-Za-z-]+:{NAME_PATTERN}$"
"""An identifier with its scheme, as isbn:9780141439600."""

_CONTROL = re.compile(f"[{CONTROLS}]")
_IDENTIFIER = re.compile(IDENTIFIER_PATTERN)
_BLANKS = str.maketrans("\t\n\r", "   ")


def control_in(name: str) -> str | None:
    """The first character that no name may hold, since a terminal takes it as a command; None: there is none.

    >>> control_in("Emma\\x1b[2J"), control_in("Emma\\tor more")
    ('U+001B', None)
    """
    found = _CONTROL.search(name)
    return None if found is None else f"U+{ord(found[0]):04X}"


def on_one_line(name: str) -> str:
    """The name with blanks for tabs and line ends."""
    return name.translate(_BLANKS)


def with_lower_scheme(identifier: str) -> str | None:
    """The identifier with its scheme in lower case, which RFC 3986 (3.1) says is the same; None: not one.

    >>> with_lower_scheme("ISBN:9780141439600"), with_lower_scheme("9780141439600")
    ('isbn:9780141439600', None)
    """
    if not _IDENTIFIER.match(identifier):
        return None
    scheme, _, value = identifier.partition(":")
    return f"{scheme.lower()}:{value}"


def checked(submission: Submission) -> Submission:
    """The book with plain metadata; raises InvalidInput, or FileTooLarge where it has too many pages."""
    content = submission.content
    if content is not None and (content.page_count or 0) > MAX_PAGES:
        raise FileTooLarge(f"The book has more than {MAX_PAGES:,} pages. Split it into its volumes.")
    return replace(submission, metadata=checked_metadata(submission.metadata))


def checked_metadata(metadata: Metadata) -> Metadata:
    """The metadata with each text on one line and each scheme in lower case; raises InvalidInput."""
    year = metadata.year
    if year is not None and abs(year) > MOST_YEAR:
        raise InvalidInput(f"year: {year} is no year. Send one from {-MOST_YEAR} to {MOST_YEAR}.", "year")
    if metadata.external_id == "":
        raise InvalidInput(
            "external_id: is empty. Send at least one character, or leave it out.", "external_id"
        )
    return Metadata(
        title=_optional(metadata.title, LONGEST_TITLE, "title"),
        authors=_each(metadata.authors, MOST_AUTHORS, "authors", _author),
        language=_optional(metadata.language, LONGEST_LANGUAGE, "language"),
        year=year,
        volume=_optional(metadata.volume, LONGEST_VOLUME, "volume"),
        external_id=_optional(metadata.external_id, LONGEST_EXTERNAL_ID, "external_id"),
        identifiers=_each(metadata.identifiers, MOST_IDENTIFIERS, "identifiers", _identifier),
        collection=None if metadata.collection is None else checked_collection(metadata.collection),
    )


def checked_collection(name: str) -> str:
    """The name of a collection without blanks around it; raises InvalidInput.

    >>> checked_collection(" Turku University Library ")
    'Turku University Library'
    """
    shown = _plain(name.strip(), LONGEST_COLLECTION, "collection")
    if not shown:
        raise InvalidInput(
            "collection: is empty. Send at least one character that is no blank, or leave it out.",
            "collection",
        )
    return shown


def _each(values: Sequence[str], most: int, field: str, rule: Callable[[str, str], str]) -> tuple[str, ...]:
    if len(values) > most:
        raise InvalidInput(f"{field}: {len(values):,} items. Send at most {most:,}.", field)
    return tuple(rule(value, f"{field}.{index}") for index, value in enumerate(values))


def _author(name: str, field: str) -> str:
    return _plain(name, LONGEST_AUTHOR, field)


def _identifier(identifier: str, field: str) -> str:
    known = with_lower_scheme(_plain(identifier, LONGEST_IDENTIFIER, field))
    if known is None:
        raise InvalidInput(
            f"{field}: This is not an identifier with its scheme. Write it as scheme:value, for example "
            "isbn:9780141439600.",
            field,
        )
    return known


def _optional(text: str | None, longest: int, field: str) -> str | None:
    return None if text is None else _plain(text, longest, field)


def _plain(text: str, longest: int, field: str) -> str:
    if len(text) > longest:
        raise InvalidInput(f"{field}: {len(text):,} characters. Send at most {longest:,}.", field)
    if code := control_in(text):
        raise InvalidInput(f"{field}: The control character {code} cannot be stored. Remove it.", field)
    return on_one_line(text)


def known_labels(labels: Sequence[str | None]) -> PageLabels:
    """The labels of all pages; empty where none is known.

    >>> known_labels([None, "1"]), known_labels([None, None])
    ((None, '1'), ())
    """
    return tuple(labels) if any(labels) else ()


def checked_labels(
    labels: Sequence[str | None], page_count: int | None, field: str = "page_labels"
) -> PageLabels:
    """The labels that were sent with a book of `page_count` pages.

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
