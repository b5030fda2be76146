"""Removal of Project Gutenberg's header, licence and credits, as written since the 1990s.

Thousands of files contain these texts. A book that includes them resembles those files, not its copies.
"""

import re
from dataclasses import dataclass

from bookprint_core.model import Metadata
from bookprint_readers.extraction import description, identifier

_HEAD = 40_000  # characters from the start of a file within which its header ends
_TAIL = 60_000  # characters before the end of a file within which its licence starts

_FLAGS = re.IGNORECASE | re.MULTILINE
_HEADER_END = re.compile(
    r"^[ \t]*\*{1,5} ?START OF (?:THE |THIS )?(?:PROJECT GUTENBERG|COPYRIGHTED)"
    r"(?:[^*\n]*(?:\n[^*\n]+){0,5}\*{3}|.*)"
    r"|^.*\*END[* ]{0,3}(?:OF )?THE SMALL PRINT.*"
    r'|^.*\["?Small Print"? V\..*',
    _FLAGS,
)
_FOOTER_START = re.compile(
    r"^\W{0,9}\*\*\* ?END OF (?:THE |THIS )?(?:PROJECT GUTENBERG|COPYRIGHTED).*"
    r"|^\W{0,9}(?:END|FIN|ENDE) ?(?:OF |DE |DES |DIESES? )?(?:THE |THIS |L')?PROJE?[CKT]{1,2} GUTENBERG.*"
    r"|^\W{0,9}\*\*This is a COPYRIGHTED Project Gutenberg.*"
    r"|^\W{0,9}\*+ ?START[:* ]{0,3}(?:FULL LICENSE|\*?\*?THE SMALL PRINT).*",
    _FLAGS,
)
_PARAGRAPH = re.compile(r"\s*(\S.*?)[ \t]*(?:\n\s*\n|\Z)", re.DOTALL)
_CREDIT = re.compile(
    r"\W*(?:produced by|credits?:|transcri(?:bed|ption) (?:from|by)|scanned (?:by|and)|digiti[sz]ed by"
    r"|prepared by|proofread|html version|online distributed proofread|updated editions"
    r"|transcriber.?s.? notes?|images? generously|note: project gutenberg also"
    r"|\(?(?:this )?(?:e-?text|e-?book|file|project gutenberg e-?text)(?: was)? (?:prepared|produced|created"
    r"|scanned|transcribed|made|converted|typed)"
    r"|(?:this is )?(?:the )?project gutenberg(?:.s)? (?:e-?text|e-?book|edition))",
    re.IGNORECASE,
)
_ORNAMENT = re.compile(r"[\W_]+")
_MOST_CREDITS = 12
_LONGEST_CREDIT = 3_000  # maximum characters; a longer paragraph is part of a book without blank lines

_FIELD = re.compile(r"^(Title|Author|Language|Original publication): *(.*(?:\n[ \t]+\S.*)*)", _FLAGS)
_NUMBER = re.compile(r"\[?\b(?:E-?text|E-?book) ?#(\d{1,6})", re.IGNORECASE)
_CAPTION = re.compile(
    r"^\W{0,99}(?:This is )?(?:The )?Project Gutenberg(?:['’]s)?(?: E-?(?:text|book))?(?: of)?,? {1,9}"
    r"(?P<title>\S.{,499}?)(?:,? {1,9}by (?P<author>.{1,300}?))?[\W_]{0,30}$",
    _FLAGS,
)


@dataclass(frozen=True, slots=True)
class GutenbergText:
    """A book without Project Gutenberg's additions, and the metadata in its header."""

    text: str
    metadata: Metadata


def without_licence(text: str) -> GutenbergText:
    """Return the book in a text of Project Gutenberg. Any other text is returned unchanged, without metadata.

    Page breaks within the header and the licence are removed, too.
    """
    # The last end is used, because a second header may follow the small print of the 1990s.
    header_end = next(reversed(list(_HEADER_END.finditer(text, 0, _HEAD))), None)
    tail = max(header_end.end() if header_end else 0, len(text) - _TAIL)
    footer_start = _FOOTER_START.search(text, tail)
    captioned = _CAPTION.match(text.lstrip("\ufeff\f\r\n ")[:1_000])
    if not (header_end or footer_start or captioned):
        return GutenbergText(text, Metadata())
    header = text[: header_end.start()] if header_end else text[:1_000]
    start = header_end.end() if header_end else 0
    book = text[start : footer_start.start() if footer_start else len(text)]
    return GutenbergText(book[_credits_end(book) :].strip("\r\n \f"), _metadata(header))


def title_in(caption: str | None) -> str | None:
    """Return the title in a caption such as "The Project Gutenberg eBook of Emma, by Jane Austen".

    >>> title_in("The Project Gutenberg eBook of Emma, by Jane Austen"), title_in("Emma")
    ('Emma', 'Emma')
    """
    found = _CAPTION.match(caption or "")
    return found["title"] if found else caption


def _credits_end(book: str) -> int:
    """Return the index after the paragraphs that credit the makers of the file."""
    end = position = 0
    for _ in range(_MOST_CREDITS):
        limit = position + _LONGEST_CREDIT
        paragraph = _PARAGRAPH.match(book, position, limit)
        if paragraph is None or paragraph.end() == limit:
            break
        position = paragraph.end()
        if _CREDIT.match(paragraph[1]):
            end = position
        elif not _ORNAMENT.fullmatch(paragraph[1]):
            break
    return end


def _metadata(header: str) -> Metadata:
    fields = {match[1].casefold(): match[2] for match in _FIELD.finditer(header)}
    caption, number = _CAPTION.search(header), _NUMBER.search(header)
    return description(
        title=fields.get("title") or (caption["title"] if caption else None),
        authors=[fields.get("author") or (caption["author"] if caption else None)],
        language=fields.get("language"),
        date=fields.get("original publication"),
        identifiers=[identifier("gutenberg", number[1] if number else None)],
    )
