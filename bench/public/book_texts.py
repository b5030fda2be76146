"""Texts of books from the files of repositories, mostly by the readers of Bookprint.

Two collections have special markup. Each file of Aozora Bunko describes its markup. OpenITI mARkdown is
described in the documentation of the OpenITI corpus.
"""

import re
from collections.abc import Callable

from bookprint_core.errors import InvalidInput
from bookprint_core.model import PAGE_BREAK
from bookprint_core.text.content import content_from_text
from bookprint_readers.extraction import to_content
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source

# Aozora Bunko
_RULE = re.compile(r"^-{40,}\n", re.MULTILINE)  # before and after the explanation of the marks
_COLOPHON = re.compile(r"^底本[：:].*", re.MULTILINE | re.DOTALL)
_READINGS_AND_NOTES = re.compile(r"《[^》]*》|［＃[^］]*］|｜")

# OpenITI mARkdown
_HEADER_END = "#META#Header#End#"
_PAGE = re.compile(r"PageV\w+?P\d+[A-Z]?")
_SAME_LINE = "\n~~"
_HEADING_OR_PARAGRAPH = re.compile(r"^#+ ?[|$]*", re.MULTILINE)
_TAGS = re.compile(r"@\w+@?|\bms\d+\b|%~%|[|#$~]")


class NoBook(Exception):
    """The file does not contain the text of one book; the message names the reason."""


def book_text(data: bytes, repository: str, name: str) -> str:
    """Return the text of a file in Unicode NFC, with U+000C between known pages; raises NoBook."""
    transcription = _BY_OWNER.get(repository.partition("/")[0])
    try:
        if transcription is not None:
            return content_from_text(transcription(data)).text
        return to_content(read_book(Source.of_bytes(data, name))).text
    except InvalidInput as error:
        raise NoBook(str(error)) from error


def aozora_text(data: bytes) -> str:
    """Return the text of a file of Aozora Bunko without title, explanations, readings, notes and colophon."""
    text = data.decode("cp932", "replace").replace("\r\n", "\n")
    head, *rest = _RULE.split(text, maxsplit=2)
    body = rest[-1] if rest else head.partition("\n\n")[2]
    return _READINGS_AND_NOTES.sub("", _COLOPHON.sub("", body))


def openiti_text(data: bytes) -> str:
    """Return the text of a file of OpenITI without header and tags; page numbers end pages."""
    text = data.decode("utf-8", "replace")
    body = text.partition(_HEADER_END)[2].replace(PAGE_BREAK, "\n").replace(_SAME_LINE, " ")
    return _TAGS.sub(" ", _HEADING_OR_PARAGRAPH.sub("", _PAGE.sub(PAGE_BREAK, body)))


_BY_OWNER: dict[str, Callable[[bytes], str]] = {"aozorahack": aozora_text, "OpenITI": openiti_text}
