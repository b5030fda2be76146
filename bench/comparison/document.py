"""docs/methods.md: the figures of `python -m bench methods`, with each method in words for a library.

`python -m bench.comparison.document` writes it anew after a change of the words, without measuring.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.comparison.compared_methods import compared_methods
from bench.harness.checkout import ROOT
from bench.harness.report import Cell, Section, Table, markdown_table

RESULTS = ROOT / "bench" / "results"
RESULT = RESULTS / "methods.json"
DOCUMENT = ROOT / "docs" / "methods.md"

_HEAD = """# Methods that find copies, side by side

A library that looks for copies of its books can choose among many methods. Here they stand side by
side, on the same books: Bookprint's, those that libraries and programs take today, and those of the
publications that Bookprint [started from](sources.md). Each had to say of every two books whether they
are copies."""

_LEGEND = """\
- **copies, parts, overlaps**: real pairs of books of which one is a copy or another edition of the
  other, contains it, or shares a part of it. More is better.
- **series**: pairs of volumes of one series. They are no copies, so fewer is better.
- **false pairs**: pairs of other works that are called copies. Fewer is better; in a million books
  there are millions of times as many pairs.
- **made copies**: books found again after so many of their letters were changed as a machine misreads
  them. Good OCR has 1 % of errors or less, poor OCR 5 or 10 %.
- **bytes** are what is kept of each book, **ms** the milliseconds of one processor that it takes to
  make."""

_BITS = """\
Databases find bits that lie near others by an index that follows a graph of neighbours (HNSW), as
pgvector's for PostgreSQL. It may miss some. Bookprint's answers have all."""


def write_document(section: Section, out_dir: Path) -> None:
    """Write the document; results that go elsewhere take it along."""
    path = DOCUMENT if out_dir.resolve() == RESULTS else out_dir / DOCUMENT.name
    path.write_text(document(section), encoding="utf-8")


def document(section: Section) -> str:
    """The document in Markdown."""
    figures, bits = section.tables
    parts = [
        _HEAD,
        "## What they find and cost",
        _LEGEND,
        markdown_table(_grouped(figures)),
        "## What they do, and when to take them",
        markdown_table(_in_words(figures)),
        "## Looking up bits",
        _BITS,
        f"{bits.caption}:",
        markdown_table(bits),
        "## How this was measured",
        f"{section.machine}. Again with `{section.command}`.",
        *section.notes,
    ]
    return "\n\n".join(parts) + "\n"


def _grouped(figures: Table) -> Table:
    """The figures under a line for each group; the last column stands with the words."""
    headers = figures.headers[:-1]
    empty: list[Cell] = [None] * (len(headers) - 1)
    rows = _rows(figures)
    grouped: list[Sequence[Cell]] = [rows["all"][:-1]]
    for group, methods in compared_methods().items():
        grouped += [[f"**{group}**", *empty], *(rows[each.method.name][:-1] for each in methods)]
    return Table(headers, grouped)


def _in_words(figures: Table) -> Table:
    rows = _rows(figures)
    words: list[list[Cell]] = [
        [each.method.name, each.does, rows[each.method.name][-1], each.index, each.advice]
        for methods in compared_methods().values()
        for each in methods
    ]
    headers = ["method", "what it does", "called copies where", "can it be indexed?", "when to use it"]
    return Table(headers, words)


def _rows(figures: Table) -> Mapping[Cell, Sequence[Cell]]:
    return {row[0]: row for row in figures.rows}


def main() -> None:
    """Write the document from the results that lie there."""
    write_document(Section.from_json(json.loads(RESULT.read_text(encoding="utf-8"))), RESULTS)


if __name__ == "__main__":
    main()
