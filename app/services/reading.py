"""Reading the book in a file."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.core.model import CatalogRecord, Submission
from app.readers.extraction import submission_of, without_page_furniture
from app.readers.processes import IsolatedReader


class FileReading:
    """Reads files that clients send, each in a process of its own."""

    def __init__(self, reader: IsolatedReader) -> None:
        self._reader = reader

    async def read(
        self, descriptor: int, name: str, known: Mapping[str, Any], record: CatalogRecord | None = None
    ) -> Submission:
        """The book in an open file, which is shown as `name`; the fields that are known outrank the file's.

        Raises InvalidInput, most often one of the kinds of UnusableFile.
        """
        extraction = await self._reader.read(descriptor, name)
        return await asyncio.to_thread(
            submission_of, extraction, replace(extraction.metadata, **known), record
        )


def read_path(path: Path) -> Submission:
    """The one book of a file or a folder, read in this process; raises InvalidInput and OSError."""
    # Late, because a service that has files read elsewhere needs no reader.
    from app.readers.package import open_folder
    from app.readers.recognition import read_book, read_package
    from app.readers.source import Source

    is_folder = path.is_dir()
    extraction = read_package(open_folder(path)) if is_folder else read_book(Source.of_file(path))
    return submission_of(without_page_furniture(extraction), extraction.metadata)
