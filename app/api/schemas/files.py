"""What an answer says of the file that a book came in."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from app.core.model import Submission

Format = Annotated[
    str | None,
    Field(
        description="The format of the file: txt, html, epub, pdf, hocr, alto, page, mets, abbyy, djvu, "
        "hathi, tei or pages; null where no file was sent."
    ),
]
Warnings = Annotated[
    list[str], Field(description="What was left out of the file, or guessed, as sentences for people.")
]


class FileFields(TypedDict):
    """The fields that an answer has beside those of the book."""

    format: str | None
    warnings: list[str]


def file_fields(sent: Submission | None) -> FileFields:
    """The fields of an answer to a book that came in a file, or (None) in JSON."""
    if sent is None:
        return {"format": None, "warnings": []}
    return {"format": sent.format, "warnings": list(sent.warnings)}
