"""The output of commands: results on standard output, everything else on standard error.

On a terminal, a list is a table and progress is a bar. Without a terminal, a list is lines with tabs, and
progress a line every few seconds.
"""

import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any

import orjson
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from bookprint_core.csv_tables import CsvWriter
from bookprint_core.errors import Refusal

_SECONDS_BETWEEN_LINES = 5.0

_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that control a terminal, reverse the direction of writing, or cannot be encoded."""


class UserError(Exception):
    """An error that the user can fix. Its message says how; `status` is the exit status of the command."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def log_instead() -> None:
    """Write all further output of this process to the log, as one JSON object per line."""
    from app.logs import configure_logs

    global _console_type
    configure_logs("json")
    _console_type = _EventConsole


def results() -> Console:
    return _console(stderr=False)


def notices() -> Console:
    return _console(stderr=True)


def printable(text: str) -> str:
    """Replace characters that control the terminal by U+FFFD."""
    return _COMMANDS.sub("\ufffd", text)


class _Console(Console):
    """A console that replaces control characters in untrusted texts, such as titles and file names."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments to print; only rich's own control codes remain."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


class _EventConsole(_Console):
    """A console that logs each text as one event instead of printing it."""

    def print(self, *objects: Any, **_: Any) -> None:
        _log().info(" ".join(map(str, objects)))


_console_type: type[Console] = _Console


def _log() -> Any:
    import structlog  # late: most commands do not log

    return structlog.get_logger()


def _console(stderr: bool) -> Console:
    console = _console_type(stderr=stderr, highlight=False, markup=False)
    console.soft_wrap = not console.is_terminal  # piped lines are never broken
    return console


def complain(message: str) -> None:
    """Print an error message, or log it."""
    if _console_type is _EventConsole:
        _log().error(message)
    else:
        notices().print(Text.assemble(("Error: ", "bold red"), message))


def print_json(document: object) -> None:
    """Print a result as one line of JSON; characters that control the terminal are escaped."""
    text = orjson.dumps(document).decode()
    results().print(_COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text), soft_wrap=True)


Cell = str | Callable[[Any], object]
"""A path to a value, such as `books.0.title`, or a function of the item."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Layout of a list: its cells by column, and their arrangement on a terminal.

    A terminal shows the columns `narrow` side by side. The column `wide` contains the `lines`, one below the
    other. A line names cells in braces; parts between " · " are left out if their cells are empty. Without
    lines, all columns are side by side, and only `wide` may be broken.
    """

    noun: str
    columns: Mapping[str, Cell]
    wide: str
    narrow: Sequence[str] = ()
    lines: Sequence[str] = ()
    right: Sequence[str] = ()  # columns of numbers, aligned right

    def cells(self, item: Any) -> dict[str, str]:
        """Return the cells of an item as texts, by column."""
        return {
            name: _text(_at(item, cell) if isinstance(cell, str) else cell(item))
            for name, cell in self.columns.items()
        }

    def drawn(self, item: Any) -> dict[str, RenderableType]:
        """Return the cells of an item as drawn on a terminal, by column."""
        cells = self.cells(item)
        if not self.lines:
            return {name: cell or "–" for name, cell in cells.items()}
        first, *below = (_filled(line, cells) for line in self.lines)
        stacked = Text.assemble(first or "untitled", *((f"\n{line}", "dim") for line in below if line))
        return {**{name: cells[name] or "–" for name in self.narrow}, self.wide: stacked}


def columns(names: str, **cells: Cell) -> dict[str, Cell]:
    """Parse column names separated by blanks, each `name=path` or `name`; `cells` overrides paths."""
    named = (name.partition("=") for name in names.split())
    return {name: cells.get(name, path or name) for name, _, path in named}


def print_list(
    listing: Listing,
    items: Iterable[Any],
    *,
    json: bool = False,
    table: Path | None = None,
    reporter: "Reporter | None" = None,
) -> int:
    """Print items, one per line, as JSON or as cells separated by tabs. Returns the number of items.

    A terminal shows the cells as a table after all items are read and the `reporter` has ended. With `table`,
    the cells are written to that CSV file instead.
    """
    console = results()
    if table is not None:
        with open_table(table) as file:
            writer = CsvWriter(file)
            writer.row(tuple(listing.columns))
            return _count(items, lambda item: writer.row(tuple(listing.cells(item).values())))
    if json:
        if reporter is not None and console.is_terminal:
            reporter.end()
        return _count(items, print_json)
    if console.is_terminal:
        rows = [listing.drawn(item) for item in items]
        if reporter is not None:
            reporter.end()
        if rows:
            drawn = [tuple(row.values()) for row in rows]
            console.print(drawn_table(tuple(rows[0]), drawn, listing.wide, listing.right))
        return len(rows)

    def print_line(item: Any) -> None:
        cells = (printable(" ".join(cell.split())) for cell in listing.cells(item).values())
        console.file.write("\t".join(cells) + "\n")  # not through rich, which turns tabs into blanks

    console.file.write("\t".join(listing.columns) + "\n")
    count = _count(items, print_line)
    console.file.flush()
    return count


def _count(items: Iterable[Any], write: Callable[[Any], None]) -> int:
    return sum(1 for _ in map(write, items))


def require_one_form(json: bool, table: Path | None, option: str = "--csv") -> None:
    """Raise UserError if both JSON and a table are requested."""
    if json and table is not None:
        raise UserError(f"Give --json or {option}, not both.", 2)


def _at(item: Any, path: str) -> object:
    for part in path.split("."):
        if item is None:
            break
        if isinstance(item, Mapping):
            item = item[part]
        else:
            item = item[int(part)] if part.isdecimal() else getattr(item, part)
    return item


def _text(value: object) -> str:
    if isinstance(value, float):
        return str(round(value, 4))
    if isinstance(value, list | tuple):
        return "; ".join(map(str, value))
    return "" if value is None else str(value)


def _filled(line: str, cells: Mapping[str, str]) -> str:
    nothing = defaultdict[str, str](str)
    parts = line.split(" · ")
    filled = (part.format_map(cells) for part in parts if part.format_map(cells) != part.format_map(nothing))
    return " · ".join(filled)


def open_table(path: Path) -> IO[str]:
    """Open a CSV file for writing."""
    return path.open("w", encoding="utf-8", errors="backslashreplace", newline="")


def drawn_table(
    columns: Sequence[str], rows: Sequence[Sequence[RenderableType]], wide: str, right: Sequence[str] = ()
) -> Table:
    """Return a table that breaks lines only in the column `wide`, and aligns `right` at the right."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        # If no column could be broken, rich would cut all columns, including ids and numbers.
        table.add_column(
            column, justify="right" if column in right else "left", no_wrap=column != wide, overflow="fold"
        )
    for row in rows:
        table.add_row(*row)
    return table


def duration(seconds: float) -> str:
    """Format seconds as m:ss or h:mm:ss."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


class Reporter:
    """Progress of a long command with its rate and remaining time; safe for threads.

    `label` names the work, `noun` the items that are counted.
    """

    def __init__(self, label: str, noun: str) -> None:
        self._label = label
        self._noun = noun
        self._console = notices()
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._done = 0
        self._share: float | None = None

    def __enter__(self) -> "Reporter":
        self._started = self._last_line = time.monotonic()
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[state]}"),
                console=self._console,
                transient=True,
                expand=True,
            )
            self._task = self._bar.add_task(self._label, total=None, state="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Remove the bar, so that results can be printed on the same terminal."""
        if self._bar is not None:
            self._bar.stop()

    def advance(self, done: int, share: float | None = None) -> None:
        """Show that `done` items are finished, and which `share` of the work (0 to 1), if it is known."""
        now = time.monotonic()
        with self._lock:
            self._done, self._share = done, None if share is None else min(1.0, share)
            if self._bar is not None:
                total = None if share is None else 1.0
                self._bar.update(self._task, completed=self._share, total=total, state=self._state(now))
            elif now - self._last_line >= _SECONDS_BETWEEN_LINES:
                self._last_line = now
                self._console.print(f"{self._label}: {self._state(now)}")

    def counted(self, done: int, total: int) -> None:
        self.advance(done, done / total if total else 1.0)

    def say(self, message: str) -> None:
        console = self._console if self._bar is None else self._bar.console
        console.print(message)

    def _state(self, now: float) -> str:
        elapsed = max(now - self._started, 1e-3)
        count = f"{self._done:,} {self._noun}  {self._done / elapsed:,.1f}/s"
        if self._share is None:
            return count
        left = duration(elapsed * (1 - self._share) / self._share) if self._share > 0 else "-:--"
        return f"{self._share:4.0%}  {count}  {left} left"


Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.csv",
        help="Write a table of refused books: path, place in the file, reason, problem type.",
        dir_okay=False,
    ),
]
"""Option that names the table of refused books."""


class Refusals(AbstractContextManager["Refusals"]):
    """A printer of refused books, which also writes them to the table `report`."""

    def __init__(self, report: Path | None, reporter: Reporter) -> None:
        self.count = 0
        self._reporter = reporter
        self._file: IO[str] | None = None
        if report is not None:
            self._file = open_table(report)
            self._writer = CsvWriter(self._file)
            self._writer.row(("path", "place", "reason", "type"))

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, path: str, part: str, refusal: Refusal) -> None:
        """Record one refused book: its file, and its place in the file (empty if the file is one book)."""
        self.count += 1
        place = f"{path}, {part}" if part else path
        self._reporter.say(f"{place}: {refusal.reason}")
        if self._file is not None:
            self._writer.row((path, part, refusal.reason, f"urn:bookprint:problem:{refusal.problem}"))
            self._file.flush()  # so that the table is complete if the process is killed
