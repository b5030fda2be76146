"""Readers of files against parsing alone: what a reader adds to lxml, zipfile and PDFium on the same bytes.

Parsing alone is `iterparse` of lxml over each file of markup, with nothing done to its elements. Of a
package, the expansion of these members is part of it; of a PDF it is pypdfium2's text of each page.
"""

import csv
import io
import os
import tarfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pypdfium2
from lxml import etree

from app.core.errors import UnusableFile
from app.readers.recognition import read_book
from app.readers.source import Source
from bench.harness.report import CannotMeasure, Cell, Section, Table

_ROUNDS = 9
_SMALLEST = 20_000
"""Bytes of a file that is measured; opening a smaller one takes longer than parsing it."""

_MARKUP = (".xml", ".html", ".xhtml", ".htm", ".opf", ".ncx", ".hocr", ".alto")


@dataclass(frozen=True, slots=True)
class _Figures:
    """One file, milliseconds."""

    path: str
    format: str
    size: int  # bytes
    reading: float
    parsing: float

    @property
    def ratio(self) -> float:
        return self.reading / self.parsing


def run(out_dir: Path) -> Section:
    """Measure every real file that is to be read; about a minute."""
    folder = Path(os.environ.get("BOOKPRINT_FORMATS", "/nonexistent"))
    if not folder.is_dir():
        raise CannotMeasure("Name a folder of real files with expected.csv by BOOKPRINT_FORMATS.")
    with (folder / "expected.csv").open(encoding="utf-8", newline="") as file:
        paths = [row["path"] for row in csv.DictReader(file) if row["outcome"] == "read"]
    measured = [figures for path in paths if (figures := _measure(folder, path)) is not None]
    return Section(
        title="Readers against parsing alone",
        command="BOOKPRINT_FORMATS=… python -m bench readers",
        tables=[
            Table(
                ["format", "files", "MB", "reader, ms", "parsing alone, ms", "ratio", "highest of a file"],
                [_row(measured, name) for name in sorted({figures.format for figures in measured})],
                f"Real files of at least {_SMALLEST:,} bytes, processor time, fastest of {_ROUNDS} runs each",
            )
        ],
        notes=[
            "Parsing alone is lxml's `iterparse` (of HTML with `html=True`) without a look at the elements, "
            "with zipfile for the members of packages that are markup; for PDF it is pypdfium2's text of "
            "each page. Plain text is not in the table, since nothing is parsed."
        ],
    )


def _row(measured: list[_Figures], name: str) -> list[Cell]:
    files = [figures for figures in measured if figures.format == name]
    reading, parsing = sum(file.reading for file in files), sum(file.parsing for file in files)
    megabytes = sum(file.size for file in files) / 1e6
    return [
        name, len(files), megabytes, reading, parsing, reading / parsing, max(file.ratio for file in files)
    ]  # fmt: skip


def _measure(folder: Path, path: str) -> _Figures | None:
    """The figures of a file; None where it is small or has nothing that is parsed."""
    data = (folder / path).read_bytes()
    source = Source.of_bytes(data, path)
    try:
        name = read_book(source).format
    except UnusableFile:
        return None
    if len(data) < _SMALLEST or name in {"txt", "hathi"} or tarfile.is_tarfile(io.BytesIO(data)):
        return None
    reading, parsing = _fastest(lambda: read_book(source)), _fastest(lambda: _parse(data, name))
    return _Figures(path, name, len(data), reading, parsing)


def _fastest(act: Callable[[], object]) -> float:
    """Milliseconds of this process, so that others on the machine count little."""
    seconds = []
    for _ in range(_ROUNDS):
        started = time.process_time()
        act()
        seconds.append(time.process_time() - started)
    return 1000 * min(seconds)


def _parse(data: bytes, name: str) -> None:
    if data.startswith(b"PK"):
        with ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                if member.lower().endswith(_MARKUP):
                    _parse_markup(archive.read(member), html=False)
    elif name == "pdf":
        with closing(pypdfium2.PdfDocument(data)) as document:
            for page in document:
                with closing(page), closing(page.get_textpage()) as text:
                    text.get_text_range()
    else:
        _parse_markup(data, html=name in {"html", "hocr"})


def _parse_markup(data: bytes, *, html: bool) -> None:
    with suppress(etree.XMLSyntaxError):  # some are not well-formed
        for _ in etree.iterparse(io.BytesIO(data), html=html):
            pass
