"""The record that every reader yields: one book of a file, or why it cannot be read."""

from dataclasses import dataclass

from app.core.errors import InvalidInput
from app.core.model import Submission


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One book of a file, or the reason why it is none."""

    place: str  # the file, and the line where a file holds several books
    position: int  # bytes of the file read up to the end of this book
    book: Submission | InvalidInput
    path: str = ""  # the file alone
    part: str = ""  # which of its books
    problem: str = "invalid"  # last part of the problem type, where there is no book
