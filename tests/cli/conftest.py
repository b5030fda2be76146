"""One service for the tests of the commands, and one small folder of books."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.synthesis.library import SyntheticBook, synthetic_library
from tests.cli.command_line import Service, serving


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("service") / "data") as service:
        yield service


@pytest.fixture(scope="package")
def books() -> list[SyntheticBook]:
    """Three works, each with two copies."""
    return list(synthetic_library(5, 3, copies=(2, 2), characters=(20_000, 20_000)))


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory, books: list[SyntheticBook]) -> Path:
    """The books as text files, one of them a folder deeper."""
    folder = tmp_path_factory.mktemp("books")
    (folder / "deeper").mkdir()
    for book in books:
        place = folder / "deeper" if book.id == books[-1].id else folder
        (place / f"{book.id}.txt").write_text(book.text, encoding="utf-8")
    return folder
