"""docs/methods.md: the figures of `python -m bench methods`, with each method in words for a library.

`python -m bench.comparison.document` writes it anew after a change of the words, without measuring.
"""

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.comparison.compared_methods import compared_methods
from bench.harness.checkout import ROOT
from bench.harness.report import Cell, Section, Table, markdown_table

RESULTS = ROOT / "bench" / "results"
METHODS, BITS = "methods.json", "nearest_bits.json"
_WIDTH = 118
DOCUMENT = ROOT / "docs" / "methods.md"

_HEAD = """# Methods that find copies, side by side

A library that looks for copies of its books can choose among many methods. Here they stand side by
side, on the same books: Bookprint's, those that libraries and programs take today, and those of the
publications that Bookprint [started from](sources.md). Two of their methods are missing here: relations
from pages (Spasojević and Poncin 2011), and averages of word vectors (Reeve 2017). Each method had to
say of every two books whether they are copies."""

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

_DIGITS = {"bytes per book": 3, "ms per book": 2, "ms per question": 2, "build, s": 2}
"""Digits of a measured figure that mean something: times differ by some per cent from run to run."""
_SHARES = ("neighbours found", "answers complete")
"""Columns of shares, 0 to 1, shown in per cent."""


def write_document(out_dir: Path, *, figures: Section | None = None, bits: Section | None = None) -> None:
    """Write the document from the results that lie in the folder, or from newer ones.

    Results that go elsewhere take it along. Until both are there nothing is written.
    """
    figures, bits = figures or kept(out_dir / METHODS), bits or kept(out_dir / BITS)
    path = DOCUMENT if out_dir.resolve() == RESULTS else out_dir / DOCUMENT.name
    if figures and bits:
        path.write_text(document(figures, bits), encoding="utf-8")


def kept(result: Path) -> Section | None:
    """The section of a result; None where there is none."""
    return Section.from_json(json.loads(result.read_text(encoding="utf-8"))) if result.exists() else None


def document(figures: Section, bits: Section) -> str:
    """The document in Markdown."""
    found, looked_up = (readable(*section.tables) for section in (figures, bits))
    parts = [
        _HEAD,
        _in_short(found),
        "## What they find and cost",
        _LEGEND,
        markdown_table(_grouped(found)),
        "## What they do, and when to take them",
        markdown_table(_in_words(found)),
        "## Looking up bits",
        _BITS,
        f"{looked_up.caption}:",
        markdown_table(looked_up),
        "## How this was measured",
        f"{figures.machine}. Again with `{figures.command}`, some twelve minutes, and `{bits.command}`.",
        *map(_wrapped, (*figures.notes, *bits.notes)),
    ]
    return "\n\n".join(parts) + "\n"


def readable(table: Table) -> Table:
    """The table with measured figures in two or three digits, and shares in per cent; counts stay."""
    return Table(
        [f"{header}, %" if header in _SHARES else header for header in table.headers],
        [
            [_readable(header, cell) for header, cell in zip(table.headers, row, strict=True)]
            for row in table.rows
        ],
        table.caption,
    )


def _readable(header: str, cell: Cell) -> Cell:
    if cell is None or isinstance(cell, str):
        return cell
    if header in _SHARES:
        return 100 if cell == 1 else min(round(100 * cell, 1), 99.9)
    return _rounded(cell, _DIGITS[header]) if header in _DIGITS else cell


def _rounded(figure: float, digits: int) -> int | float:
    rounded = float(f"{figure:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded


def _in_short(found: Table) -> str:
    """What to take from the figures, in sentences that follow them."""
    rows = {name: dict(zip(found.headers, row, strict=True)) for name, row in _rows(found).items()}
    every, own, words = (rows[name] for name in ("all", "lookup (default)", "unique words in order (DUPNIQ)"))
    volumes, code, metadata = (
        rows[name] for name in ("Institutional Books", "ISCC Text-Code, 128 bits", "title and author alike")
    )
    at = [f"made copies at {rate} errors" for rate in ("1%", "5%", "10%")]
    sentences = (
        f"Bookprint's lookup finds {own['copies']} of {every['copies']} copies and {own['parts']} of "
        f"{every['parts']} parts, with {own['false pairs']} false pairs of {every['false pairs']:,}. With a "
        f"tenth of the letters wrong it finds {own[at[2]]} of {every[at[2]]} made copies.",
        f"Titles and authors find {metadata['copies']} copies at best, and {metadata['parts']} parts.",
        f"The rule of Institutional Books finds {volumes['copies']} copies, and {volumes[at[0]]} of "
        f"{every[at[0]]} made ones with 1 % of the letters wrong. It was made to set volumes aside without "
        "error, not to find all.",
        f"The ISCC finds {code['copies']} copies and {code['parts']} of the parts. Of {every[at[1]]} made "
        f"copies it finds {code[at[1]]} with 5 % of the letters wrong, and {code[at[2]]} with a tenth.",
        f"Of the methods of others unique words in order come nearest: {words['copies']} copies and "
        f"{words['parts']} parts, in some {words['bytes per book']:,} bytes a book. The lookup "
        f"has {own['bytes per book']:,}.",
    )
    return "\n".join(_wrapped(f"- {sentence}") for sentence in sentences)


def _wrapped(text: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        subsequent_indent="  " if text.startswith("-") else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


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
    write_document(RESULTS)


if __name__ == "__main__":
    main()
