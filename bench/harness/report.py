"""Results of benchmarks: tables of figures, stored as JSON and shown as Markdown."""

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
    """A requirement of the benchmark is missing; the message names it and how to supply it."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of figures under one row of headers."""

    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""

    def to_markdown(self) -> str:
        """Return the table without its caption, with columns of figures aligned to the right."""
        columns = range(len(self.headers))
        right = [all(not isinstance(row[column], str) for row in self.rows) for column in columns]
        lines = [self.headers, ["---:" if each else "---" for each in right]]
        lines += [[_cell(value) for value in row] for row in self.rows]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


@dataclass(frozen=True, slots=True)
class Section:
    """A benchmark's part of the report."""

    title: str
    command: str  # repeats the benchmark
    tables: Sequence[Table]
    notes: Sequence[str] = ()  # paragraphs of Markdown under the tables
    machine: str = field(default_factory=lambda: machine())

    def to_json(self) -> dict[str, Any]:
        """Return the section as plain values for `json.dumps`."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Section":
        """Return the section of a value of `to_json`."""
        return cls(**{**value, "tables": [Table(**table) for table in value["tables"]]})

    def to_markdown(self) -> str:
        """Return the section as a part of the report."""
        parts = [f"## {self.title}", f"{self.machine}. Again with `{self.command}`."]
        for table in self.tables:
            parts += [f"**{table.caption}**"] if table.caption else []
            parts.append(table.to_markdown())
        return "\n\n".join([*parts, *self.notes])


def kept_json(value: dict[str, Any]) -> str:
    """Return the text of a result file: indented, with each row of a table on one line."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    # Strings in JSON contain no line breaks, so only layout is joined here.
    rows = re.compile(r"\[\n +([^\[\]{}]+?)\n *\]")
    return rows.sub(lambda row: "[" + re.sub(r"\n +", " ", row[1]) + "]", text) + "\n"


def machine() -> str:
    """Return processor, usable cores, memory, system and Python version."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cpuinfo = Path("/proc/cpuinfo")
    named = re.search(r"(?m)^model name\s*: *(.+)$", cpuinfo.read_text() if cpuinfo.exists() else "")
    processor = named[1] if named else platform.processor() or platform.machine()
    return (
        f"{processor}, {cores} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}"
    )


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else value.replace("|", "\\|")
