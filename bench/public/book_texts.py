"""The text of a book from the file of its repository; the readers of Bookprint know most of them.

Two collections have markup of their own. Aozora Bunko describes its in each file, OpenITI mARkdown in the
documentation of the OpenITI corpus.
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
_RULE = re.compile(r"^-{40,}\n", re.MULTILINE)  # above and below the explanation of the marks
_COLOPHON = re.compile(r"^底本[：:].*", re.MULTILINE | re.DOTALL)
_READINGS_AND_NOTES = re.compile(r"《[^》]*》|［＃[^］]*］|｜")

# OpenITI mARkdown
_HEADER_END = "#META#Header#End#"
_PAGE = re.compile(r"PageV\w+?P\d+[A-Z]?")
_SAME_LINE = "\n~~"
_HEADING_OR_PARAGRAPH = re.compile(r"^#+ ?[|$]*", re.MULTILINE)
_TAGS = re.compile(r"@\w+@?|\bms\d+\b|%~%|[|#$~]")


class NoBook(Exception):
    """The file holds no text of one book; the message says why."""


def book_text(data: bytes, repository: str, name: str) -> str:
    """The text of a file in Unicode NFC, with U+000C between pages where they are known; raises NoBook."""
    transcription = _BY_OWNER.get(repository.partition("/")[0])
    try:
        if transcription is not None:
            return content_from_text(transcription(data)).text
        return to_content(read_book(Source.of_bytes(data, name))).text
    except InvalidInput as error:
        raise NoBook(str(error)) from error


def aozora_text(data: bytes) -> str:
    """The text of a file of Aozora Bunko, without title, explanations, readings, notes and colophon."""
    text = data.decode("cp932", "replace").replace("\r\n", "\n")
    head, *rest = _RULE.split(text, maxsplit=2)
    body = rest[-1] if rest else head.partition("\n\n")[2]
    return _READINGS_AND_NOTES.sub("", _COLOPHON.sub("", body))


def openiti_text(data: bytes) -> str:
    """The text of a file of OpenITI, without its header and tags; its page numbers end pages."""
    text = data.decode("utf-8", "replace")
    body = text.partition(_HEADER_END)[2].replace(PAGE_BREAK, "\n").replace(_SAME_LINE, " ")
    return _TAGS.sub(" ", _HEADING_OR_PARAGRAPH.sub("", _PAGE.sub(PAGE_BREAK, body)))


_BY_OWNER: dict[str, Callable[[bytes], str]] = {"aozorahack": aozora_text, "OpenITI": openiti_text}
