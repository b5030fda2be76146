"""What is read from files: digests of texts, pages, metadata and warnings.

A book is found again by its text, so a reader that is written anew must read what the one before it read.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bookprint_core.errors import UnusableFile
from bookprint_readers.extraction import to_content
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source
from tests.guards.made_files import made_files
from tests.guards.recorded import compare

FOLDER = Path(os.environ.get("BOOKPRINT_FORMATS", "/nonexistent"))


@pytest.mark.slow
def test_what_made_files_yield_is_as_recorded() -> None:
    compare(
        "files", "made_files.txt", _table((name, Source.of_bytes(data, name)) for name, data in made_files())
    )


@pytest.mark.slow
@pytest.mark.formats
@pytest.mark.skipif(not FOLDER.is_dir(), reason="BOOKPRINT_FORMATS names no folder")
def test_what_real_files_yield_is_as_recorded() -> None:
    paths = [path for path in sorted(FOLDER.glob("*/**/*")) if path.is_file()]
    real = ((path.relative_to(FOLDER).as_posix(), Source.of_file(path)) for path in paths)
    compare("files", "real_files.txt", _table(real))


def _table(files: Iterable[tuple[str, Source]]) -> str:
    """A line for each file."""
    return "".join(f"{name}: {_yield(source)}\n" for name, source in files)


def _yield(source: Source) -> str:
    """The digests of what is read from a file; the problem and a digest of its words where it is refused."""
    try:
        book = read_book(source)
        content = to_content(book)
    except UnusableFile as exc:
        return f"{exc.problem} words {_digest(str(exc))}"
    told = {
        "text": content.text,
        "pages": [list(book.pages), book.labels],
        "metadata": {name: value for name, value in asdict(book.metadata).items() if value},
        "warnings": list(book.warnings),
    }
    count = f"{len(book.pages)} pages" if book.paginated else "no pages"
    return " ".join(
        [book.format, count, *(f"{name} {_digest(value)}" for name, value in told.items() if value)]
    )


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
