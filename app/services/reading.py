"""Reading the book in a file: its metadata and content, its format, and what was left out of it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.core.model import CatalogRecord, Submission
from app.readers.extraction import Extraction, content_of, without_page_furniture
from app.readers.processes import IsolatedReader


@dataclass(frozen=True, slots=True, eq=False)
class FileBook:
    """The book in a file, and how it was read."""

    book: Submission
    format: str  # "txt", "html", "epub", …, as the API names it
    warnings: Sequence[str]  # what was left out or guessed, as sentences

    @classmethod
    def of(
        cls, extraction: Extraction, known: Mapping[str, Any], record: CatalogRecord | None = None
    ) -> "FileBook":
        """A book without page furniture; the fields that are known outrank those of the file.

        `record` is where those were taken from, if they came in one.
        """
        book = Submission(
            replace(extraction.metadata, **known),
            content_of(extraction),
            page_labels=extraction.labels,
            record=record,
        )
        return cls(book, extraction.format, extraction.warnings)


class FileReading:
    """Reads files that clients send, each in a process of its own."""

    def __init__(self, reader: IsolatedReader) -> None:
        self._reader = reader

    async def read(
        self, descriptor: int, name: str, known: Mapping[str, Any], record: CatalogRecord | None = None
    ) -> FileBook:
        """The book in an open file, which is shown as `name`; the fields that are known outrank the file's.

        Raises InvalidInput, most often one of the kinds of UnusableFile.
        """
        extraction = await self._reader.read(descriptor, name)
        return await asyncio.to_thread(FileBook.of, extraction, known, record)


def read_path(path: Path) -> FileBook:
    """The one book of a file or a folder, read in this process; raises InvalidInput and OSError."""
    # Late, because a service that has files read elsewhere needs no reader.
    from app.readers.package import open_folder
    from app.readers.recognition import read_book, read_package
    from app.readers.source import Source

    is_folder = path.is_dir()
    extraction = read_package(open_folder(path)) if is_folder else read_book(Source.of_file(path))
    return FileBook.of(without_page_furniture(extraction), {})
