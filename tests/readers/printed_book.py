"""A book as it is printed: pages of lines with running heads, page numbers, catchwords and divided words."""

from collections.abc import Sequence
from dataclasses import dataclass

from bookprint_core.model import Content
from bookprint_core.text.content import content_from_pages, content_from_text

LINE = 56
"""Characters of a printed line."""

CHAPTER = 12
"""Pages of a chapter, of which the first has no running head and the one before it may be blank."""

PRELIMINARIES = 6
"""Pages that are numbered in roman numerals."""

_NUMERALS = ("i", "ii", "iii", "iv", "v", "vi")
_LONGEST_HEAD = 40
_LEAST_PART = 3
"""Letters before and after the hyphen of a divided word."""


@dataclass(frozen=True, slots=True)
class Page:
    """A printed page: its number, its head and its lines; all of them without text on a blank page."""

    number: str
    head: str
    lines: tuple[str, ...]  # a word that is divided at the end of a line ends with "-"
    foot: tuple[str, ...]

    @property
    def printed(self) -> tuple[str, ...]:
        """All lines from the head to the foot."""
        return tuple(filter(None, (self.head, *self.lines, *self.foot)))


@dataclass(frozen=True, slots=True)
class PrintedBook:
    """A book and its pages."""

    title: str
    author: str
    year: int
    paragraphs: tuple[str, ...]  # of the running text
    pages: tuple[Page, ...]

    @property
    def text(self) -> Content:
        """The running text, which knows neither lines nor pages."""
        return content_from_text("\n\n".join(self.paragraphs))

    @property
    def in_pages(self) -> Content:
        """The pages without what a printer has put around the text."""
        return content_from_pages(["\n".join(page.lines) for page in self.pages])


def printed(
    title: str, author: str, year: int, pages: Sequence[str], catchwords: bool = False
) -> PrintedBook:
    """The book with these texts on its pages; of every third page the last word runs over to the next one."""
    pages = [text.encode("cp1252", "ignore").decode("cp1252").strip() for text in pages]
    set_pages, held = [], ""
    for index, text in enumerate(pages):
        following = pages[index + 1] if index + 1 < len(pages) else ""
        last = (index + 1) % CHAPTER == 0
        part = _first_part(following) if index % 3 == 0 and not last else ""
        body = f"{text[len(held) :]} {part}-" if part else text[len(held) :]
        set_pages.append(tuple(line for paragraph in body.split("\n") for line in _lines(paragraph)))
        held = part
    return PrintedBook(
        title,
        author,
        year,
        tuple(paragraph for text in pages for paragraph in text.split("\n") if paragraph.strip()),
        tuple(_page(title, set_pages, index, catchwords) for index in range(len(set_pages))),
    )


def _page(title: str, pages: Sequence[tuple[str, ...]], index: int, catchwords: bool) -> Page:
    lines = pages[index]
    early = index < PRELIMINARIES
    number = _NUMERALS[index] if early else str(index - PRELIMINARIES + 1)
    if not lines:
        return Page(number, "", (), ())
    opens_chapter = index % CHAPTER == 0
    heads = (
        f"{number} {title[:_LONGEST_HEAD].upper()}",
        f"CHAPTER {_NUMERALS[index // CHAPTER % 6].upper()}. {number}",
    )
    following = pages[index + 1] if index + 1 < len(pages) else ()
    catchword = following[0].split()[0] if catchwords and following else ""
    return Page(
        number,
        "" if opens_chapter else heads[index % 2],
        lines,
        tuple(filter(None, (number if opens_chapter else "", catchword))),
    )


def _first_part(text: str) -> str:
    """The letters of the first word that stand on the page before."""
    word = text.split(maxsplit=1)[0] if text else ""
    return word[: len(word) // 2] if _can_be_divided(word) else ""


def _lines(paragraph: str) -> list[str]:
    """The paragraph in lines, with words divided where they do not fit."""
    lines, line = [], ""
    for word in paragraph.split():
        room = LINE - len(line) - 1
        if len(word) <= room:
            line = f"{line} {word}".strip()
            continue
        part = min(room - 1, len(word) - _LEAST_PART)
        if _can_be_divided(word) and part >= _LEAST_PART:
            lines.append(f"{line} {word[:part]}-".strip())
            line = word[part:]
        else:
            lines.append(line)
            line = word
    return [*filter(None, lines), *filter(None, [line])]


def _can_be_divided(word: str) -> bool:
    return word.isalpha() and len(word) >= 2 * _LEAST_PART and word[1:].islower()
