"""The result of a benchmark: tables of figures, kept as JSON and shown as Markdown."""

import json
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Cell = str | int | float | None


class CannotMeasure(Exception):
    """Something that the benchmark needs is not there; the message says what, and how to supply it."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of figures under one heading line."""

    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark's part of the report."""

    title: str
    command: str  # what a reader runs to see these figures again
    tables: Sequence[Table]
    notes: Sequence[str] = ()  # paragraphs of Markdown under the tables
    machine: str = field(default_factory=lambda: machine())

    def to_json(self) -> dict[str, Any]:
        """The section as plain values for `json.dumps`."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Section":
        """The section that `to_json` was called on."""
        return cls(**{**value, "tables": [Table(**table) for table in value["tables"]]})

    def to_markdown(self) -> str:
        """The section as it stands in the report."""
        parts = [f"## {self.title}", f"{self.machine}. Again with `{self.command}`."]
        for table in self.tables:
            if table.caption:
                parts.append(f"**{table.caption}**")
            parts.append(markdown_table(table))
        return "\n\n".join([*parts, *self.notes])


def kept_json(value: dict[str, Any]) -> str:
    """The text of a result file: indented, but each row of a table on one line."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    # Strings hold no line breaks in JSON, so what is joined here is layout alone.
    rows = re.compile(r"\[\n +([^\[\]{}]+?)\n *\]")
    return rows.sub(lambda row: "[" + re.sub(r"\n +", " ", row[1]) + "]", text) + "\n"


def machine() -> str:
    """Processor, cores at hand, memory, system and Python: what a figure means nothing without."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{_processor()}, {cores} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}"
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def markdown_table(table: Table) -> str:
    """The table in Markdown, without its caption; columns of figures stand right."""
    numeric = [
        all(not isinstance(row[column], str) for row in table.rows) for column in range(len(table.headers))
    ]
    lines = [
        _markdown_row(table.headers),
        _markdown_row(["---:" if right else "---" for right in numeric]),
        *(_markdown_row([_cell(value) for value in row]) for row in table.rows),
    ]
    return "\n".join(lines)


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else value.replace("|", "\\|")
